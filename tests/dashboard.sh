#!/usr/bin/env bash
# Tests the dashboard: its modules by node, their types, then what people do in it, in Debian's Chromium against a demo
# venue, and signing in with an identity provider of others. Fetches playwright-core, axe-core, oidc-provider and
# TypeScript from npm into a folder that is deleted afterwards; skipped with a message where a tool or the network is
# missing.
#
# Every page is visited in each theme once, languages and widths spread over the visits; with `all` as the argument in
# each language, theme and width, which takes some minutes more.
set -euo pipefail
cd "$(dirname "$0")/.."

patience=180
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
(cd "$folder" && timeout "$patience" npm install --no-audit --no-fund --ignore-scripts oidc-provider@9.13.3 > "$folder/fetch" 2>&1) ||
  echo "oidc-provider cannot be fetched: no identity provider of others is tried"
"$folder/node_modules/.bin/tsc" -p dashboard/jsconfig.json
browser=${CHROMIUM:-/usr/bin/chromium}
if [ ! -x "$browser" ]; then
  echo "no browser at $browser: no browser visits the dashboard"
  exit 0
fi
cargo build --quiet
# The venue would refuse a variable that is none of its own.
env -u OPENOUTCRY_SHOTS target/debug/openoutcry serve --demo --demo-flow off --data "$folder/data" --listen 127.0.0.1:0 > "$folder/out" 2> "$folder/log" &
server=$!
for _ in $(seq 3000); do
  if grep -q 'listening on' "$folder/out"; then break; fi
  sleep 0.1
done
base=$(sed -n 's/^listening on //p' "$folder/out")
if [ -z "$base" ]; then
  cat "$folder/log" >&2
  exit 1
fi
# Modules are looked for beside the files that import them, so the scenes run from the folder that has them.
cp tests/dashboard/*.mjs "$folder"
OPENOUTCRY_VISITS=${1:-some} OPENOUTCRY_URL=$base CHROMIUM=$browser OPENOUTCRY_PROGRAM=$PWD/target/debug/openoutcry \
  node --test --test-concurrency=1 "$folder/scenes.test.mjs" "$folder/openid.test.mjs" "$folder/asked.test.mjs"
