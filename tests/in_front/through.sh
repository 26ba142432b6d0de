#!/usr/bin/env bash
# What a client needs of a proxy: its name, its address, a trader's key, and a folder with a Python
# that may have `websockets`.
set -euo pipefail
name=$1 address=$2 key=$3 folder=$4
here=$(dirname "$0")
ca=$here/../tls/ca.pem

for _ in $(seq 100); do
  if curl -sS --fail --cacert "$ca" "$address/healthz" > "$folder/said" 2>&1; then break; fi
  sleep 0.1
done
ask() { curl -sS --cacert "$ca" -o "$folder/said" -w '%{http_code} %{http_version} %{num_connects}\n' "$@"; }
expect() {
  if [ "$1" != "$2" ]; then
    echo "$name: $3: $1 in place of $2" >&2
    head -c 400 "$folder/said" >&2
    exit 1
  fi
}
markets=$address/api/v1/markets/public/list
expect "$(ask -H "X-API-Key: $key" "$markets" -o "$folder/said" "$markets")" $'200 2 1\n200 2 0' "reads over HTTP/2"
market=$(grep -o '"id":"[0-9a-f-]*"' "$folder/said" | head -n 1 | cut -d '"' -f 4)
order="{\"marketId\": \"$market\", \"outcomeId\": \"yes\", \"side\": \"BUY\", \"orderType\": \"LIMIT\",
  \"price\": \"0.01\", \"quantity\": \"1\"}"
expect "$(ask -H "X-API-Key: $key" -H 'Content-Type: application/json' -d "$order" \
  "$address/api/v1/trading/orders" | cut -d ' ' -f 1)" 200 "an order"
for inside in /metrics /api/v1/admin/users; do
  expect "$(ask -H "X-API-Key: $key" "$address$inside" | cut -d ' ' -f 1)" 403 "$inside from outside"
done
# Events come at once: a proxy that gathers them would say nothing for as long as this waits.
timeout 5 curl -sS -N --cacert "$ca" -H "X-API-Key: $key" -H 'Accept: text/event-stream' \
  "$address/api/v1/stream?subscribe=book:$market" > "$folder/events" 2> "$folder/said" || true
expect "$(grep -c "\"channel\":\"book:$market\"" "$folder/events" | head -n 1)" 1 "events of a book"
if [ -x "$folder/venv/bin/python" ] &&
  "$folder/venv/bin/python" -c 'import websockets' 2> "$folder/fetch"; then
  "$folder/venv/bin/python" "$here/watch_book.py" "$address" "$key" "$market" "$ca"
else
  echo "$name: no websockets library: nobody opens a socket"
fi
echo "$name: HTTP/2, orders, events, sockets, and nothing of the operators'"
