#!/usr/bin/env bash
# Tests the dashboard: its modules by node, their types, then what people do in it, in Debian's Chromium against a demo
# venue. Fetches playwright-core, axe-core and TypeScript from npm into a folder that is deleted afterwards; skipped with a
# message where a tool or the network is missing. The first argument is the time limit of the fetch, in seconds.
set -euo pipefail
cd "$(dirname "$0")/.."

patience=${1:-180}
for tool in node npm curl timeout; do
  if ! command -v "$tool" > /dev/null; then
    echo "$tool is not installed: the dashboard is not tested"
    exit 0
  fi
done
node --test dashboard/tests/
folder=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server" 2> /dev/null || true; wait "$server" 2> /dev/null || true; fi; rm -rf "$folder"' EXIT
(cd "$folder" && npm init -y > /dev/null && timeout "$patience" npm install --no-audit --no-fund --ignore-scripts \
  playwright-core@1.65.1 axe-core@4.14.1 typescript@7.0.2 > "$folder/fetch" 2>&1) || {
  echo "playwright-core cannot be fetched: no browser visits the dashboard, and its types are not checked"
  exit 0
}
"$folder/node_modules/.bin/tsc" -p dashboard/jsconfig.json
browser=${CHROMIUM:-/usr/bin/chromium}
if [ ! -x "$browser" ]; then
  echo "no browser at $browser: no browser visits the dashboard"
  exit 0
fi
cargo build --quiet
target/debug/openoutcry serve --demo --demo-flow off --data "$folder/data" --listen 127.0.0.1:0 > "$folder/out" 2> "$folder/log" &
server=$!
for _ in $(seq 3000); do
  if grep -q 'listening on' "$folder/out"; then break; fi
  sleep 0.1
done
base=$(sed -n 's/^listening on //p' "$folder/out")
# Modules are looked for beside the files that import them, so the scenes run from the folder that has them.
cp tests/dashboard/*.mjs "$folder"
OPENOUTCRY_URL=$base CHROMIUM=$browser node --test "$folder/scenes.test.mjs"
