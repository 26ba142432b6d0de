#!/usr/bin/env bash
# The section "Ten minutes" of OPERATING.md, word for word, on a bare Debian root: every line of its
# blocks is run there, with a stand-in for systemctl that starts units by their own command lines.
# Afterwards Prometheus must have scraped the venue, and know of the drill.
#
# Takes the package (a file *.deb); BARE_ROOT names a bare Debian that is there already. Needs root
# and Debian's packages.
set -euo pipefail
cd "$(dirname "$0")/.."

package=${1:?the package}
room=$(mktemp -d)
root=$room/root
finish() {
  # What runs in the root, and nothing else.
  for process in /proc/[0-9]*; do
    if [ "$(readlink "$process/root")" = "$root" ]; then kill "${process#/proc/}" || true; fi
  done
  sleep 2
  umount "$root/proc" || true
  rm -rf --one-file-system "$room"
}
trap finish EXIT

if [ -n "${BARE_ROOT:-}" ]; then
  cp -a "$BARE_ROOT" "$root"
else
  debootstrap --variant=minbase --include=adduser,ca-certificates,curl bookworm "$root" > "$room/debootstrap"
fi
mount --bind /proc "$root/proc"
inside() {
  chroot "$root" env -i HOME=/root PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive "$@"
}
cp -L /etc/resolv.conf "$root/etc"
echo "127.0.0.1 localhost venue.example" > "$root/etc/hosts"
cp "$package" "$root/root/openoutcry_0_amd64.deb"

# A certificate of that name, from a root that this machine believes.
new_key=(-newkey ec -pkeyopt "ec_paramgen_curve:prime256v1" -nodes)
openssl req -x509 "${new_key[@]}" -days 30 -subj '/CN=a root of this test' -keyout "$room/ca.key" \
  -out "$root/usr/local/share/ca-certificates/test.crt" 2> /dev/null
openssl req -new "${new_key[@]}" -subj '/CN=venue.example' -keyout "$root/root/privkey.pem" -out "$room/csr" 2> /dev/null
openssl x509 -req -in "$room/csr" -CA "$root/usr/local/share/ca-certificates/test.crt" -CAkey "$room/ca.key" \
  -days 30 -set_serial 1 -out "$root/root/fullchain.pem" -extfile <(echo subjectAltName=DNS:venue.example) 2> /dev/null
inside update-ca-certificates > /dev/null 2>&1

# No init here: packages start nothing, and this starts what is asked for.
printf '#!/bin/sh\nexit 101\n' > "$root/usr/sbin/policy-rc.d"
cat > "$root/usr/local/bin/systemctl" << 'END'
#!/bin/bash
set -e
for unit in "$@"; do
  file=/lib/systemd/system/${unit%.service}.service
  case $unit in *.timer | -* | enable | start | restart) test -e "$file" || continue ;; esac
  value() { sed -e ':a' -e '/\\$/N; s/\\\n//; ta' "$file" | sed -n "s/^$1=-\?//p"; }
  user=$(value User)
  for folder in $(value StateDirectory); do install -d -m 700 -o "$user" -g "$user" "/var/lib/$folder"; done
  for folder in $(value CacheDirectory); do install -d -m 700 "/var/cache/$folder"; done
  settings=$(value EnvironmentFile)
  (
    set -a && if [ -e "$settings" ]; then . "$settings"; fi && set +a
    command=$(value ExecStart | sed "s/\$ARGS/$ARGS/")
    if [ "$(value Type)" = oneshot ]; then exec $command; fi
    exec runuser -u "${user:-root}" -- $command > "/run/$unit.log" 2>&1 &
  )
done
END
chmod 755 "$root/usr/sbin/policy-rc.d" "$root/usr/local/bin/systemctl"
inside apt-get update > "$room/update" 2>&1

awk '/^## /{on = /^## Ten minutes/} on && /^```/{block = !block; next} on && block' OPERATING.md > "$root/root/words"
began=$(date +%s)
inside bash -xeuo pipefail -c 'cd /root && . ./words' || {
  tail -n 5 "$root"/run/{openoutcry,prometheus}.log || true
  exit 1
}
echo "== $(($(date +%s) - began)) s from the package to a venue that is watched"
inside runuser -u prometheus -- prometheus-node-exporter > "$room/exporter" 2>&1 &
ask() { inside curl -sS --get http://127.0.0.1:9090/api/v1/query --data-urlencode "query=$1"; }
for asked in 'openoutcry_archive_sequence > 0' 'openoutcry_drill_last_success_timestamp_seconds > 0' \
  'openoutcry_tls_certificate_ends_seconds > 0'; do
  for _ in $(seq 240); do
    if ask "$asked" | grep -q '"value":'; then echo "Prometheus knows: $asked" && continue 2; fi
    sleep 0.5
  done
  echo "Prometheus does not know: $asked" >&2
  exit 1
done
