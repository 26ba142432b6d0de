#!/bin/sh
# Sends random commands of every kind to the exchange and to its naive twin in one run, and compares
# answers, states and invariants. Prints what was covered, the seed and the time; fails if the two
# differ, or if a kind of command or a refusal was never covered.
#
# Usage: tests/model_run.sh [COMMANDS [SEED]]
set -eu
cd "$(dirname "$0")/.."
commands=${1:-10000000}
seed=${2:-7}
cargo test --release --test model --no-run
begun=$(date +%s)
OPENOUTCRY_MODEL_COMMANDS="$commands" OPENOUTCRY_MODEL_SEED="$seed" \
    cargo test --release --test model a_long_seeded_run_is_answered_alike -- --nocapture
echo "$commands commands of seed $seed in $(($(date +%s) - begun)) s"
