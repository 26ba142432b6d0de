#!/usr/bin/env bash
# What stands between a client and the server, as others see it: the server's own TLS by sslyze
# (PyPI) and openssl, and the proxies of contrib/proxy in front of a server (Debian's nginx and
# Caddy, unpacked into a folder if they are not installed). Says by name what it skips. The server
# is in OPENOUTCRY_BINARY, or built.
set -euo pipefail
cd "$(dirname "$0")/.."

for tool in curl python3 timeout; do
  if ! command -v "$tool" > /dev/null; then
    echo "$tool is not installed: neither TLS nor proxies are tested from outside"
    exit 0
  fi
done
binary=${OPENOUTCRY_BINARY:-target/debug/openoutcry}
unset OPENOUTCRY_BINARY # A start refuses variables of this prefix that it does not know.
if [ "$binary" = target/debug/openoutcry ]; then cargo build --quiet; fi
folder=$(mktemp -d)
started=()
finish() {
  for one in "${started[@]}"; do kill "$one" 2> /dev/null || true; done
  wait
  rm -rf "$folder"
}
trap finish EXIT

key=demo-ana-trader-on-a-local-venue-1
serve() {
  local name=$1
  shift
  "$binary" serve --demo --demo-flow off --data "$folder/$name" --listen 127.0.0.1:0 "$@" \
    > "$folder/$name.out" 2> "$folder/$name.log" &
  started+=($!)
  for _ in $(seq 600); do
    if grep -q 'listening on' "$folder/$name.out" 2> /dev/null; then break; fi
    sleep 0.1
  done
  address=$(sed -n 's/^listening on //p' "$folder/$name.out")
  address=${address##*/}
}
free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
venv() {
  timeout 180 python3 -m venv "$folder/venv" > "$folder/fetch" 2>&1 &&
    timeout 180 "$folder/venv/bin/pip" install --quiet --disable-pip-version-check "$@" \
      > "$folder/fetch" 2>&1
}

serve tls --tls-cert tests/tls/first.pem --tls-key tests/tls/first.key
if command -v openssl > /dev/null; then
  for version in tls1 tls1_1; do
    if openssl s_client -connect "$address" "-$version" -cipher 'ALL:@SECLEVEL=0' < /dev/null \
      > "$folder/said" 2>&1; then
      echo "a handshake of $version succeeded" >&2
      exit 1
    fi
  done
  for version in tls1_2 tls1_3; do
    openssl s_client -connect "$address" "-$version" -CAfile tests/tls/ca.pem -verify_return_error \
      -verify_hostname localhost < /dev/null > "$folder/said" 2>&1
  done
  echo "openssl: TLS 1.2 and 1.3 alone, the chain is good"
else
  echo "openssl is not installed: it shakes no hands"
fi
if venv sslyze==6.2.0 websockets; then
  "$folder/venv/bin/python" -W ignore tests/in_front/scan.py "$address" tests/tls/ca.pem
else
  echo "sslyze cannot be fetched: nobody scans"
fi

# A program of Debian's: installed, or unpacked from its package.
program() {
  if command -v "$1"; then return; fi
  if ! command -v apt-get > /dev/null || ! command -v dpkg > /dev/null; then return 1; fi
  mkdir -p "$folder/debian"
  (cd "$folder/debian" && timeout 120 apt-get download -qq "$1" && dpkg -x "$1"_*.deb .) \
    > "$folder/fetch" 2>&1 || return 1
  find "$folder/debian" -type f \( -path '*/bin/*' -o -path '*/sbin/*' \) -name "$1" | grep .
}
serve plain --trusted-proxy 127.0.0.1
certificate=$PWD/tests/tls/first
if nginx=$(program nginx); then
  port=$(free_port)
  mkdir "$folder/nginx"
  sed "s/8080/${address##*:}/; s/443 ssl/127.0.0.1:$port ssl/; s/venue.example;/localhost;/
    s|/etc/ssl/venue/chain.pem|$certificate.pem|; s|/etc/ssl/venue/key.pem|$certificate.key|" \
    contrib/proxy/nginx.conf > "$folder/nginx/venue.conf"
  kinds=client_body:proxy:fastcgi:uwsgi:scgi
  {
    printf 'daemon off; pid %s/nginx/pid; error_log stderr; events {}\nhttp { access_log off;\n' "$folder"
    for kind in ${kinds//:/ }; do printf '%s_temp_path %s/nginx/%s;\n' "$kind" "$folder" "$kind"; done
    printf 'include %s/nginx/venue.conf; }\n' "$folder"
  } > "$folder/nginx/nginx.conf"
  "$nginx" -c "$folder/nginx/nginx.conf" > "$folder/nginx.log" 2>&1 &
  started+=($!)
  bash tests/in_front/through.sh nginx "https://localhost:$port" "$key" "$folder" ||
    { cat "$folder/nginx.log" >&2; exit 1; }
else
  echo "nginx is neither installed nor to be had: it stands in front of nothing"
fi
if caddy=$(program caddy); then
  port=$(free_port)
  sed "s/8080/${address##*:}/
    s|^venue.example {|{\n\tadmin off\n\tauto_https disable_redirects\n}\nhttps://localhost:$port {\n\ttls $certificate.pem $certificate.key|" \
    contrib/proxy/Caddyfile > "$folder/Caddyfile"
  HOME=$folder "$caddy" run --adapter caddyfile --config "$folder/Caddyfile" > "$folder/caddy.log" 2>&1 &
  started+=($!)
  bash tests/in_front/through.sh caddy "https://localhost:$port" "$key" "$folder" ||
    { cat "$folder/caddy.log" >&2; exit 1; }
else
  echo "caddy is neither installed nor to be had: it stands in front of nothing"
fi
