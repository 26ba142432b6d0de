#!/usr/bin/env bash
# Generates a Python and a TypeScript client from the API description, checks their types and lets
# each trade on a demo venue. Fetches the generators from PyPI and npm into a folder that is deleted
# afterwards; skipped with a message where a tool or the network is missing. The first argument is
# the time limit of each fetch, in seconds.
set -euo pipefail
cd "$(dirname "$0")/.."

patience=${1:-180}
for tool in curl timeout; do
  if ! command -v "$tool" > /dev/null; then
    echo "$tool is not installed: no client is generated"
    exit 0
  fi
done
cargo build --quiet
folder=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server" 2> /dev/null || true; wait "$server" 2> /dev/null || true; fi; rm -rf "$folder"' EXIT
target/debug/openoutcry serve --demo --demo-flow off --data "$folder/data" --listen 127.0.0.1:0 \
  > "$folder/out" 2> "$folder/log" &
server=$!
for _ in $(seq 600); do
  if grep -q 'listening on' "$folder/out"; then break; fi
  sleep 0.1
done
base=$(sed -n 's/^listening on //p' "$folder/out")
curl -sS --fail "$base/api/v1/openapi.json" > "$folder/openapi.json"
ana=demo-ana-trader-on-a-local-venue-1
ben=demo-ben-trader-on-a-local-venue-2
# The demo's drafts are the markets that nobody quotes.
olga=demo-olga-operator-of-a-local-venue-5
curl -sS --fail -H "X-API-Key: $olga" "$base/api/v1/admin/markets?status=DRAFT" | grep -o '"id":"[0-9a-f-]\{36\}"' |
  cut -d '"' -f 4 | while read -r draft; do
  curl -sS -o "$folder/published" -X POST -H "X-API-Key: $olga" "$base/api/v1/admin/markets/$draft/publish"
done

python_client() {
  command -v python3 > /dev/null || { echo "no python3: no Python client is made"; return; }
  timeout "$patience" python3 -m venv "$folder/venv" > "$folder/fetch" 2>&1 &&
    timeout "$patience" "$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
      openapi-python-client==0.29.1 mypy==2.4.1 ruff==0.17.6 > "$folder/fetch" 2>&1 || {
    echo "openapi-python-client cannot be fetched: no Python client is made"
    return
  }
  mkdir "$folder/python"
  cp examples/clients/trade.py "$folder/python"
  (
    cd "$folder/python"
    export PATH=$folder/venv/bin:$PATH
    openapi-python-client generate --path ../openapi.json --meta none \
      --output-path openoutcry_client --fail-on-warning > ../generated 2>&1 || {
      cat ../generated
      exit 1
    }
    # client.py is the generator's own code, the same for every description: not checked.
    printf '[mypy]\nstrict = True\n[mypy-openoutcry_client.client]\nignore_errors = True\n' > mypy.ini
    mypy --no-error-summary trade.py
    python3 trade.py "$base" "$ana" "$ben"
  )
}

typescript_client() {
  if ! command -v node > /dev/null || ! command -v npm > /dev/null; then
    echo "no node and npm: no TypeScript client is made"
    return
  fi
  mkdir "$folder/typescript"
  cp examples/clients/{trade.ts,package.json,tsconfig.json} "$folder/typescript"
  (
    cd "$folder/typescript"
    timeout "$patience" npm install --silent --no-audit --no-fund > ../fetch 2>&1 || {
      echo "openapi-typescript cannot be fetched: no TypeScript client is made"
      exit 0
    }
    export PATH=$PWD/node_modules/.bin:$PATH
    openapi-typescript ../openapi.json -o schema.ts > ../generated 2>&1 || {
      cat ../generated
      exit 1
    }
    tsc
    node trade.js "$base" "$ana" "$ben"
  )
}

python_client
typescript_client
