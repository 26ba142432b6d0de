#!/usr/bin/env bash
# Holds what contrib/ has for Prometheus and Grafana against a live server: every metric that it
# names is told by the server or by a drill of its archive, promtool takes the configuration and
# the rules, the alerts come when they should, and Prometheus scrapes the server and knows an answer
# to each question of the dashboard. Says what it skips for want of a tool. The binaries are in
# OPENOUTCRY_BINARY and OPENOUTCRY_REPLAY, or built.
set -euo pipefail
cd "$(dirname "$0")/.."

for tool in curl python3; do
  if ! command -v "$tool" > /dev/null; then
    echo "$tool is not installed: metrics, dashboard and alerts are not tested"
    exit 0
  fi
done
binary=${OPENOUTCRY_BINARY:-target/debug/openoutcry}
replay=${OPENOUTCRY_REPLAY:-target/debug/openoutcry-replay}
unset OPENOUTCRY_BINARY OPENOUTCRY_REPLAY # A start refuses variables that it does not know.
if [ "$binary" = target/debug/openoutcry ]; then cargo build --quiet; fi
if [ "$replay" = target/debug/openoutcry-replay ]; then cargo build --quiet -p openoutcry-replay; fi
folder=$(mktemp -d)
started=()
finish() {
  for one in "${started[@]}"; do kill "$one" 2> /dev/null || true; done
  wait
  rm -rf "$folder"
}
trap finish EXIT

key=$(python3 -c 'import secrets; print(secrets.token_hex(32))')
OPENOUTCRY_OPERATOR_KEY=$key "$binary" serve --init --data "$folder/data" \
  --archive "$folder/archive" --listen 127.0.0.1:0 > "$folder/out" 2> "$folder/log" &
started+=($!)
for _ in $(seq 600); do
  if grep -q 'listening on' "$folder/out" 2> /dev/null; then break; fi
  sleep 0.1
done
address=$(sed -n 's/^listening on //p' "$folder/out")
# All kinds of series begin with their first answer.
touch_all() {
  curl -sS -o "$folder/answer" -H "X-API-Key: $key" "$address/api/v1/markets?limit=1"
  curl -sS -o "$folder/answer" "$address/api/v1/nothing"
  curl -sS -o "$folder/answer" -X POST -H "X-API-Key: $key" "$address/api/v1/trading/heartbeat" \
    -H 'Content-Type: application/json' -d '{"timeoutSeconds": 60}'
  timeout 1 curl -sS -N -o "$folder/answer" -H "X-API-Key: $key" -H 'Accept: text/event-stream' \
    "$address/api/v1/stream?subscribe=markets" 2> /dev/null || true
}
for _ in $(seq 600); do
  if curl -sS --fail "$address/readyz" > "$folder/answer" 2> /dev/null; then break; fi
  sleep 0.1
done
touch_all
scrape() { curl -sS --fail -H "Authorization: Bearer $key" "$address/metrics" > "$folder/page"; }
# The archive is about a second behind.
for _ in $(seq 600); do
  if scrape && grep -q '^openoutcry_archive_sequence [1-9]' "$folder/page"; then break; fi
  sleep 0.1
done
"$replay" drill "$folder/archive" --data "$folder/data" --room "$folder" \
  --metric-file "$folder/drill.prom"
scrape
cat "$folder/page" "$folder/drill.prom" > "$folder/told"
python3 tests/watch/named.py "$folder/told"

mkdir "$folder/prometheus"
cp contrib/prometheus/*.yml tests/watch/alerts.yml "$folder/prometheus"
(umask 077 && printf '%s\n' "$key" > "$folder/prometheus/openoutcry.key")
sed -i "s/127.0.0.1:8080/${address#http://}/; s/15s/1s/" "$folder/prometheus/scrape.yml"
if command -v promtool > /dev/null; then
  promtool check config "$folder/prometheus/scrape.yml"
  promtool test rules "$folder/prometheus/alerts.yml"
else
  echo "promtool is not installed: configuration and alert rules are not checked"
fi
if command -v prometheus > /dev/null; then
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  prometheus --config.file="$folder/prometheus/scrape.yml" --storage.tsdb.path="$folder/tsdb" \
    --web.listen-address="127.0.0.1:$port" > "$folder/prometheus/log" 2>&1 &
  started+=($!)
  for _ in $(seq 5); do touch_all; done
  python3 tests/watch/asked.py "http://127.0.0.1:$port"
else
  echo "prometheus is not installed: nothing scrapes the server"
fi
