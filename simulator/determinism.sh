#!/usr/bin/env bash
# Runs seeds twice in the release profile and once in the tests' one: each must come to the same
# digest every time. As many seeds as the first argument says, 100 unless it is given, from the
# second one on.
set -euo pipefail
cd "$(dirname "$0")/.."
seeds=${1:-100} from=${2:-1}
export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
digests() { "$@" --seed "$from" --seeds "$seeds" --verbose | grep -E '^seed [0-9]+: '; }
first=$(digests cargo run --quiet --release -p simulator --)
again=$(digests cargo run --quiet --release -p simulator --)
other=$(digests cargo run --quiet -p simulator --)
for run in "$again" "$other"; do
  if ! diff <(echo "$first") <(echo "$run"); then
    echo "the same seeds came to other digests" >&2
    exit 1
  fi
done
echo "$(wc -l <<< "$first") seeds from $from: the same digests in three runs of two profiles"
