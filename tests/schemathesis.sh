#!/usr/bin/env bash
# Tests a running server against its own description with schemathesis (PyPI), once with a key of an
# operator and once with a trader's. All checks are on, except where schemathesis.toml says why not.
# Takes at most a few minutes; the first argument is the seconds for each run, the second the seed.
# If schemathesis is not installed, it is fetched into a folder that is deleted afterwards; skipped
# if that fails.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-60}
seed=${2:-1}
python=${SCHEMATHESIS_PYTHON:-python3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
has_it() { "$python" -c 'import schemathesis' > /dev/null 2>&1; }
if ! has_it && command -v python3 > /dev/null && command -v timeout > /dev/null; then
  # Without a network pip would retry for long.
  if timeout 60 python3 -m venv "$folder/venv" > /dev/null 2>&1 &&
    timeout 240 "$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
      schemathesis==4.32.5 hypothesis==6.170.15 > "$folder/fetch" 2>&1; then
    python=$folder/venv/bin/python
  fi
fi
if ! has_it || ! command -v curl > /dev/null; then
  echo "schemathesis or curl cannot be had: the description is not tried from outside"
  exit 0
fi
cargo build --quiet
OPENOUTCRY_OPERATOR_KEY=$(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n')
export OPENOUTCRY_OPERATOR_KEY
target/debug/openoutcry serve --init --data "$folder/data" --listen 127.0.0.1:0 \
  > "$folder/out" 2> "$folder/log" &
server=$!
trap 'kill "$server" 2> /dev/null || true; wait "$server" 2> /dev/null || true; rm -rf "$folder"' EXIT
for _ in $(seq 100); do
  if grep -q 'listening on' "$folder/out"; then break; fi
  sleep 0.1
done
base=$(sed -n 's/^listening on //p' "$folder/out")
api=$base/api/v1

# A market, and a trader with money.
ask() { curl -sS --fail-with-body -H "X-API-Key: $OPENOUTCRY_OPERATOR_KEY" -H 'Content-Type: application/json' "$@"; }
member() { grep -o "\"$1\":\"[^\"]*\"" | head -n 1 | cut -d '"' -f 4; }
text='{"pt": "a", "en": "b", "es": "c"}'
market=$(ask "$api/admin/markets" -d "{\"questions\": $text, \"descriptions\": $text,
  \"logo\": \"https://assets.example.org/a.png\", \"deadline\": \"2030-12-25T00:00:00.000Z\",
  \"outcomes\": [{\"id\": \"yes\", \"text\": $text}, {\"id\": \"no\", \"text\": $text}]}" | member id)
ask -X POST "$api/admin/markets/$market/publish" > /dev/null
user=$(ask "$api/admin/users" \
  -d '{"profileName": "ann", "profilePic": "https://assets.example.org/a.png"}' | member id)
ask "$api/admin/users/$user/deposits" -d '{"amount": "100000.00"}' > /dev/null
trader=$(ask "$api/admin/users/$user/keys" -d '{"role": "trader", "label": "first"}' | member key)

# The bound on an answer's time allows for a busy machine. Checks are not named here, since that
# would turn on those that the settings switch off.
run() {
  local key=$1
  shift
  "$python" tests/schemathesis_sturdy.py --config-file tests/schemathesis.toml run "$api/openapi.json" --url "$base" \
    -H "X-API-Key: $key" -H "Origin: $base" --max-time "$seconds" --request-timeout 90 --max-response-time 60 --workers 2 \
    --continue-on-failure --seed "$seed" "$@"
}
# If the tool fails with an error of its own, it is run again with another seed. A server that no
# longer answers is a finding.
attempt() {
  for more in 2 1 0; do
    if run "$@" 2>&1 | tee "$folder/tried"; then return; fi
    if [ "$more" = 0 ] || grep -q '= FAILURES =' "$folder/tried" ||
      ! grep -qE 'An internal error occurred|SystemError' "$folder/tried" ||
      ! curl -sS --max-time 10 -o /dev/null "$base/healthz"; then
      return 1
    fi
    seed=$((seed + 1))
  done
}
# Operations that revoke keys or stop trading are left out: they would block the others, and have
# tests of their own.
attempt "$OPENOUTCRY_OPERATOR_KEY" --exclude-operation-id-regex '^(rotateKey|revokeKey|revokeUserKey)$'
attempt "$trader" --include-path-regex \
  '^/api/v1/(trading|markets|events|categories|leaderboard|account/(limits|ledger|settlements|pnl))'
# The server logs every internal error.
if grep -E 'panicked|a request got a 500' "$folder/log"; then exit 1; fi
