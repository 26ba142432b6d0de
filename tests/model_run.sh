#!/bin/sh
# Random commands of every kind to the exchange and to its naive twin, in one run: the same answers,
# the same state, and everything that is always true of it. Ends with the counts of what was seen,
# the seed and the time; fails where the two differ, or where a kind of command or a refusal was
# never met.
#
# Usage: tests/model_run.sh [COMMANDS [SEED]]
set -eu
cd "$(dirname "$0")/.."
commands=${1:-10000000}
seed=${2:-7}
# Without the server: the exchange, the journal and the read model are all that is compared.
cargo test --release --no-default-features --test model --no-run
begun=$(date +%s)
OPENOUTCRY_MODEL_COMMANDS="$commands" OPENOUTCRY_MODEL_SEED="$seed" \
    cargo test --release --no-default-features --test model a_long_seeded_run_is_answered_alike -- --nocapture
echo "$commands commands of seed $seed in $(($(date +%s) - begun)) s"
