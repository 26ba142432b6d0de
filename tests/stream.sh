#!/usr/bin/env bash
# Has a tool that no one here wrote parse the description of the stream, and two clients listen to
# a demo venue: the one that INTERFACE.md shows and examples/market_maker.py. Fetches
# @asyncapi/parser from npm and websockets from PyPI into a folder that is deleted afterwards;
# skipped with a message where a tool or the network is missing. The first argument is the time
# limit of each fetch, the second how long the clients trade, in seconds; the server is in
# OPENOUTCRY_BINARY, or built.
set -euo pipefail
cd "$(dirname "$0")/.."

patience=${1:-180}
seconds=${2:-60}
for tool in curl timeout; do
  if ! command -v "$tool" > /dev/null; then
    echo "$tool is not installed: the stream's clients are not tested"
    exit 0
  fi
done
binary=${OPENOUTCRY_BINARY:-target/debug/openoutcry}
unset OPENOUTCRY_BINARY # A start refuses variables of this prefix that it does not know.
if [ "$binary" = target/debug/openoutcry ]; then cargo build --quiet; fi
folder=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server" 2> /dev/null || true; wait "$server" 2> /dev/null || true; fi; rm -rf "$folder"' EXIT

description() {
  if ! command -v node > /dev/null || ! command -v npm > /dev/null; then
    echo "no node and npm: the stream's description is not parsed"
    return
  fi
  mkdir "$folder/parser"
  cp tests/asyncapi.mjs "$folder/parser"
  (
    cd "$folder/parser"
    timeout "$patience" npm install --silent --no-audit --no-fund @asyncapi/parser@3.6.6 \
      > "$folder/fetch" 2>&1
  ) || {
    echo "@asyncapi/parser cannot be fetched: the stream's description is not parsed"
    return
  }
  "$binary" serve --demo --demo-flow off --data "$folder/data" --listen 127.0.0.1:0 \
    > "$folder/out" 2> "$folder/log" &
  server=$!
  for _ in $(seq 600); do
    if grep -q 'listening on' "$folder/out"; then break; fi
    sleep 0.1
  done
  curl -sS --fail "$(sed -n 's/^listening on //p' "$folder/out")/api/v1/asyncapi.json" \
    > "$folder/asyncapi.json"
  node "$folder/parser/asyncapi.mjs" "$folder/asyncapi.json"
}

clients() {
  command -v python3 > /dev/null || { echo "no python3: no client listens"; return; }
  timeout "$patience" python3 -m venv "$folder/venv" > "$folder/fetch" 2>&1 &&
    timeout "$patience" "$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
      websockets==17.4 > "$folder/fetch" 2>&1 || {
    echo "websockets cannot be fetched: no client listens"
    return
  }
  timeout "$((seconds + 240))" "$folder/venv/bin/python" tests/stream_clients.py "$binary" "$seconds"
}

clients
description
