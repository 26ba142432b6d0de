#!/usr/bin/env bash
# Plants each fault of simulator/planted, one at a time, and shows after how many seconds the
# simulator finds it: at most so many as the first argument says, ten minutes unless it is given.
# Further arguments name the patches. The working tree must have no changes in src.
set -euo pipefail
cd "$(dirname "$0")/.."
limit=${1:-600}
shift || true
git diff --quiet -- src || { echo "src has changes" >&2; exit 1; }
# Nobody measures here; link-time optimisation would take most of the time.
export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
found=0 missed=0
for patch in simulator/planted/*.patch; do
  name=$(basename "$patch" .patch)
  if [ $# -gt 0 ] && [[ " $* " != *" ${name%%-*} "* ]]; then continue; fi
  git apply "$patch"
  trap 'git checkout --quiet -- src' EXIT
  cargo build --quiet --release -p simulator 2> /dev/null || { echo "$name: does not compile" >&2; exit 1; }
  began=$(date +%s)
  if said=$(target/release/simulator --for "$limit" --unshortened 2> /dev/null); then
    missed=$((missed + 1))
    echo "$name | not found in $limit s"
  else
    found=$((found + 1))
    seconds=$(($(date +%s) - began))
    echo "$name | $seconds s | $(grep -m1 -E '^seed' <<< "$said" | cut -c1-110) | $(grep -m1 'before it' <<< "$said")"
  fi
  git checkout --quiet -- src
done
echo "$found found, $missed missed"
[ "$missed" -eq 0 ]
