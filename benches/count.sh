#!/bin/sh
# Instructions a command, as callgrind counts them: repeatable on any machine, however busy.
# Usage: benches/count.sh [ROW..]     rows as in benches/core/main.rs; default: book flow zipf
# SHA-256 counts many times what it costs, because valgrind has no instructions for it: compare rows
# that hash (results, read, replay, door-*) with themselves only: 6,900 of a door's are for the key.
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- book flow zipf
bench=$(cargo bench --quiet --bench core --no-run --message-format=json-render-diagnostics |
    sed -n 's/.*"executable":"\([^"]*core-[^"]*\)".*/\1/p' | tail -n 1)
if [ -z "$bench" ]; then
    echo "the bench was not built" >&2
    exit 1
fi
out=$(mktemp)
trap 'rm -f "$out" "$out.log"' EXIT
for row in "$@"; do
    # The function that is counted: benches/core/main.rs, and fold.rs.
    case $row in
    folding*) counted='*Block*fold*' ;;
    *) counted='*measured*' ;;
    esac
    commands=$(valgrind --tool=callgrind --callgrind-out-file="$out" --toggle-collect="$counted" \
        "$bench" once "$row" 2>"$out.log" | sed 's/^[a-z-]* *\([0-9]*\) .*/\1/')
    total=$(sed -n 's/^totals: \([0-9]*\).*/\1/p' "$out")
    if [ -z "$commands" ] || [ "${total:-0}" -eq 0 ]; then
        cat "$out.log" >&2
        echo "$row was not counted" >&2
        exit 1
    fi
    echo "$row: $((total / commands)) instructions a command, $commands commands"
done
