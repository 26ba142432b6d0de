#!/usr/bin/env bash
# The package on a bare Debian, end to end: installed, a venue begun and served by the unit's own
# command line with TLS, a first trade by curl, `admin top` in a terminal, a certificate renewed
# under load, an upgrade, the image started, removal. Prints the time of each step, and says by name
# what it skips.
#
# Takes a package that is made already (a file *.deb), or makes one of the programs in the folder
# named, else of target/debug. BARE_ROOT names a bare Debian that is there already.
set -euo pipefail
cd "$(dirname "$0")/.."

for tool in debootstrap dpkg-deb chroot openssl curl strip objcopy; do
  if ! command -v "$tool" > /dev/null; then
    echo "$tool is not installed: the package is not tried"
    exit 0
  fi
done
if [ "$(id -u)" != 0 ]; then
  echo "not root: the package is not tried"
  exit 0
fi
programs=${1:-target/debug}
if [ "$programs" = target/debug ]; then cargo build --quiet -p openoutcry -p openoutcry-replay; fi
room=$(mktemp -d)
root=$room/root
started=()
finish() {
  for one in "${started[@]}"; do kill "$one" 2> /dev/null || true; done
  wait
  for one in proc dev/pts; do
    if mountpoint -q "$root/$one"; then umount "$root/$one"; fi
  done
  rm -rf --one-file-system "$room"
}
trap finish EXIT

began=$(date +%s%N)
step() {
  local now
  now=$(date +%s%N)
  printf '%6d ms  %s\n' "$(((now - began) / 1000000))" "$1"
  began=$now
}
fail() {
  echo "$*" >&2
  cat "$room/log" >&2 2> /dev/null || true
  exit 1
}

if [ -f "$programs" ]; then
  package=$programs
else
  # --no-build reads no source: what is skipped there is said there.
  PROGRAMS=$programs contrib/release --no-build "$room/dist" > "$room/release" 2>&1 || fail "$(cat "$room/release")"
  grep 'is not installed' "$room/release" || true
  package=$(ls "$room"/dist/openoutcry_*.deb)
  step "packages made"
fi

mirror=$(grep -rhoE 'https?://[^ ]*/debian/?( |$)' /etc/apt/sources.list /etc/apt/sources.list.d 2> /dev/null | head -n 1 || true)
if [ -n "${BARE_ROOT:-}" ]; then
  cp -a "$BARE_ROOT" "$root"
elif ! debootstrap --variant=minbase --include=adduser,ca-certificates,curl,tmux \
  bookworm "$root" ${mirror:+"$mirror"} > "$room/debootstrap" 2>&1; then
  tail -n 3 "$room/debootstrap"
  echo "debootstrap made no root here: the package is not tried"
  exit 0
fi
# For tmux, which needs terminals.
for one in proc dev/pts; do
  mount --bind "/$one" "$root/$one" 2> /dev/null || echo "/$one cannot be mounted: admin top may miss it"
done
inside() { chroot "$root" "$@"; }
step "bare Debian"

echo "127.0.0.1 localhost" > "$root/etc/hosts"
cp "$package" "$root/tmp/openoutcry.deb"
inside dpkg -i /tmp/openoutcry.deb > "$room/dpkg" 2>&1 || fail "$(cat "$room/dpkg")"
inside getent passwd openoutcry > /dev/null || fail "the package made no user"
[ "$(stat -c %a "$root/etc/openoutcry/environment")" = 600 ] || fail "the key is not its owner's alone"
step "installed"

# What systemd does for the unit: its user, its variables.
unit=$root/usr/lib/systemd/system/openoutcry.service
command=$(sed -n 's/^ExecStart=//p' "$unit")
key=$(sed -n 's/^OPENOUTCRY_OPERATOR_KEY=//p' "$root/etc/openoutcry/environment")
as_service() { chroot --userspec=openoutcry:openoutcry "$root" env "$@"; }
as_service OPENOUTCRY_OPERATOR_KEY="$key" openoutcry init /var/lib/openoutcry > "$room/init" ||
  fail "init: $(cat "$room/init")"
grep -q '^invitation: ' "$room/init" || fail "init gave no invitation"
step "init"

# A root, and a certificate of it for each serial number asked for.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 \
  -subj '/CN=a root of this test' -keyout "$room/ca.key" -out "$room/ca.pem" 2> /dev/null
certify() {
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
    -subj '/CN=localhost' -keyout "$room/tls.key" -out "$room/tls.csr" 2> /dev/null
  openssl x509 -req -in "$room/tls.csr" -CA "$room/ca.pem" -CAkey "$room/ca.key" -days 30 \
    -set_serial "$1" -out "$room/tls.pem" -extfile <(echo subjectAltName=DNS:localhost) 2> /dev/null
  # Each whole, by a rename, as certbot does.
  for part in pem key; do
    install -m 600 "$room/tls.$part" "$root/var/lib/openoutcry/tls.$part.new"
    inside chown openoutcry:openoutcry "/var/lib/openoutcry/tls.$part.new"
    mv "$root/var/lib/openoutcry/tls.$part.new" "$root/var/lib/openoutcry/tls.$part"
  done
}
certify 1
cp "$room/ca.pem" "$root/tmp/ca.pem"
port=18443
settings=$root/var/lib/openoutcry/openoutcry.toml
for line in "listen = \"127.0.0.1:$port\"" "public-url = \"https://localhost:$port\"" \
  'tls-cert = "tls.pem"' 'tls-key = "tls.key"'; do
  sed -i "/^#\? *${line%% =*} =/d" "$settings"
  sed -i "1i $line" "$settings"
done
serve() {
  # Not by a function, which would be a process between the two.
  # shellcheck disable=SC2086 # words of a command line
  chroot --userspec=openoutcry:openoutcry "$root" env OPENOUTCRY_OPERATOR_KEY="$key" $command \
    > "$room/out" 2> "$room/log" &
  server=$!
  started+=("$server")
  for _ in $(seq 300); do
    if grep -q '^listening on ' "$room/out"; then return; fi
    kill -0 "$server" 2> /dev/null || fail "the server ended"
    sleep 0.1
  done
  fail "the server does not listen"
}
serve
step "served by the unit's command line, with TLS"

url=https://localhost:$port
admin() { inside env OPENOUTCRY_OPERATOR_KEY="$key" HOME=/root openoutcry admin --cacert /tmp/ca.pem --url "$url" "$@"; }
# The first, which is the thing's own: what it holds follows.
member() { grep -o "\"$1\":\"[^\"]*\"" | head -n 1 | cut -d '"' -f 4; }
admin login prod > "$room/login"
inside env HOME=/root openoutcry admin status > "$room/status" || fail "status: $(cat "$room/status")"
grep -q '^state *ready' "$room/status" || fail "$(cat "$room/status")"
market=$(admin --json markets create --question 'Will it rain in Lisbon at Christmas?' \
  --logo https://assets.example.org/rain.png --deadline 2030-12-25T00:00:00Z | member id)
admin markets publish "$market" > "$room/published"
for person in ann ben; do
  admin users create "$person" --picture "https://assets.example.org/$person.png" > /dev/null
  admin users deposit "$person" 100.00 > /dev/null
  admin --json keys create "$person" --label first | member key > "$room/$person.key"
done
step "a user, a deposit, a market"

api() { inside curl -sS --fail-with-body --cacert /tmp/ca.pem -H 'Content-Type: application/json' "$@"; }
order() {
  api -H "X-API-Key: $(cat "$room/$1.key")" "$url/api/v1/trading/orders" -d "{\"marketId\": \"$market\",
    \"outcomeId\": \"$2\", \"side\": \"BUY\", \"orderType\": \"LIMIT\", \"price\": \"$3\", \"quantity\": \"10\"}"
}
order ann yes 0.60 > "$room/order"
order ben no 0.40 | grep -q '"FILLED"' || fail "the second order did not trade"
admin users account ann positions | grep -q ' yes ' || fail "ann holds nothing"
step "a first trade by curl --cacert"

if inside tmux -V > /dev/null 2>&1; then
  inside env OPENOUTCRY_OPERATOR_KEY="$key" LC_ALL=C.UTF-8 TERM=xterm tmux -L try new-session -d -x 110 -y 32 \
    openoutcry admin --cacert /tmp/ca.pem --url "$url" top --every 1
  for _ in $(seq 100); do
    inside env LC_ALL=C.UTF-8 tmux -L try capture-pane -p > "$room/top" 2> /dev/null || true
    if grep -q 'will-it-rain-in-lisbon' "$room/top" && grep -q 'ready' "$room/top"; then break; fi
    sleep 0.1
  done
  grep -q 'will-it-rain-in-lisbon' "$room/top" || fail "top: $(cat "$room/top")"
  inside tmux -L try send-keys q
  cat "$room/top"
else
  echo "tmux is not there: admin top is not tried in a terminal"
fi
admin --json top --every 1 --count 1 | grep -q '"state":"ready"' || fail "top as JSON"
step "admin top"

serial() { openssl s_client -connect "127.0.0.1:$port" -servername localhost < /dev/null 2> /dev/null | openssl x509 -noout -serial; }
[ "$(serial)" = serial=01 ] || fail "another certificate: $(serial)"
for worker in 1 2 3; do
  (for _ in $(seq 60); do
    # Each with a connection of its own, and twenty on one that is kept.
    api -o /dev/null -w '%{http_code}\n' "$url/readyz" || echo failed
    api -o '/dev/null' -w '%{http_code}\n' "$url/readyz?[1-20]" || echo failed
  done > "$room/load.$worker" 2>&1) &
  load[worker]=$!
done
sleep 0.5
certify 2
kill -HUP "$server"
for worker in 1 2 3; do wait "${load[worker]}"; done
[ "$(serial)" = serial=02 ] || fail "the renewed certificate is not shown: $(serial)"
if grep -v '^200$' "$room"/load.*; then fail "requests failed while the certificate was renewed"; fi
step "certificate renewed under $(cat "$room"/load.* | wc -l) requests, none of which failed"

# A second build, of a later version.
dpkg-deb -R "$package" "$room/later"
sed -i 's/^Version: .*/&+1/' "$room/later/DEBIAN/control"
dpkg-deb -Zgzip -z1 --root-owner-group --build "$room/later" "$root/tmp/later.deb" > /dev/null
inside dpkg -i /tmp/later.deb > "$room/dpkg" 2>&1 || fail "$(cat "$room/dpkg")"
kill -TERM "$server"
wait "$server" || fail "the server did not stop in order"
serve
admin users account ann positions | grep -q ' yes ' || fail "the upgraded server has lost a trade"
step "upgraded"

kill -TERM "$server"
wait "$server" || fail "the upgraded server did not stop in order"
contrib/image --rootfs "$root/usr/bin" "$room/image"
image() { chroot --userspec=10001:10001 "$room/image" /usr/bin/openoutcry "$@"; }
mkdir -p "$room/image/proc"
mount --bind /proc "$room/image/proc" 2> /dev/null || true
image init /var/lib/openoutcry/venue > "$room/image.init" || fail "the image: $(cat "$room/image.init")"
if mountpoint -q "$room/image/proc"; then umount "$room/image/proc"; fi
grep -q '^operator key: ' "$room/image.init" || fail "the image begins no venue"
step "the image's files begin a venue (in a chroot)"

inside dpkg -r openoutcry > "$room/dpkg" 2>&1 || fail "$(cat "$room/dpkg")"
[ ! -e "$root/usr/bin/openoutcry" ] || fail "the program is still there"
[ -d "$root/var/lib/openoutcry/journal" ] || fail "the journal is gone"
inside dpkg -P openoutcry > "$room/dpkg" 2>&1 || fail "$(cat "$room/dpkg")"
[ ! -e "$root/etc/openoutcry" ] && [ -d "$root/var/lib/openoutcry/journal" ] || fail "purged too much or too little"
step "removed, and the journal is left"
