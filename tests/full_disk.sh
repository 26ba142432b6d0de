#!/bin/sh
# Fills a real file system while the real server trades on it: what is refused and still served,
# starts without a free byte and on a read-only disk, and the recovery. All else that a full disk may
# do, the simulator shows. Needs to mount a tmpfs on Linux, in a namespace of its own (`unshare -rm`)
# or as root; prints SKIPPED where it cannot. Prints PASS or FAIL.
#
#     tests/full_disk.sh [BINARY]          BINARY: openoutcry, built
set -u
cd "$(dirname "$0")/.." || exit 1

if [ "${OPENOUTCRY_FULL_DISK:-}" != inside ]; then
    if ! command -v python3 >/dev/null 2>&1; then
        echo "SKIPPED: no python3 on this machine"
        exit 0
    fi
    binary=${1:-}
    if [ -z "$binary" ]; then
        cargo build --quiet --bin openoutcry || exit 1
        binary=${CARGO_TARGET_DIR:-target}/debug/openoutcry
    fi
    probe='mount -t tmpfs -o size=1m tmpfs /mnt'
    for alone in "unshare -rm" "unshare -m"; do
        if $alone sh -c "$probe" >/dev/null 2>&1; then
            OPENOUTCRY_FULL_DISK=inside exec $alone sh "$0" "$binary"
        fi
    done
    echo "SKIPPED: no tmpfs may be mounted here"
    exit 0
fi

unset OPENOUTCRY_FULL_DISK
binary=$1
disk=$(mktemp -d)
mount -t tmpfs -o size=96m tmpfs "$disk" || exit 1
python3 - "$binary" "$disk" <<'PYTHON'
import http.client
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import threading

BINARY, DISK = sys.argv[1:]
KEY = "full-disk-operator-key-of-enough-characters"
PICTURE = "https://assets.example.org/p.png"
TRADERS = 4
faults = []


def check(what, held, shown=""):
    print(f"  {what}: {'yes' if held else 'NO'}", flush=True)
    if not held:
        faults.append(what)
        print(f"    {str(shown)[:2000]}")


class Server:
    """The real server, with its journal, snapshots and archive on the small disk."""

    def __init__(self):
        self.log = tempfile.TemporaryFile("w+")
        command = [BINARY, "serve", "--init", "--listen", "127.0.0.1:0", "--data", DISK + "/venue",
                   "--archive", DISK + "/archive", "--snapshot-every", "2000",
                   "--rate-writes", "0", "--rate-reads", "0"]
        env = {**os.environ, "OPENOUTCRY_OPERATOR_KEY": KEY}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self.log, text=True, env=env)
        lines = (line for line in self.process.stdout if line.startswith("listening on http://"))
        self.address = next(lines, "").strip().removeprefix("listening on http://")

    def connect(self):
        return http.client.HTTPConnection(self.address, timeout=60)

    def end(self, how):
        self.process.send_signal(how)
        code = self.process.wait(timeout=60)
        return code, self.logged()

    def logged(self):
        self.log.seek(0)
        return self.log.read()


def ask(wire, method, path, key=KEY, body=None):
    text = None if body is None else json.dumps(body)
    headers = {"X-API-Key": key, "Content-Type": "application/json"}
    wire.request(method, "/api/v1" + path, text, headers)
    answer = wire.getresponse()
    return answer.status, json.loads(answer.read() or "{}")


def made(wire, path, body):
    status, answer = ask(wire, "POST", path, KEY, body)
    assert status in (200, 201), (path, status, answer)
    return answer


def words(text):
    return {"pt": text, "en": text, "es": text}


def set_up(wire):
    market = made(wire, "/admin/markets", {
        "questions": words("q"), "descriptions": words("d"), "logo": PICTURE,
        "outcomes": [{"id": "yes", "text": words("y")}, {"id": "no", "text": words("n")}],
        "deadline": "2099-01-01T00:00:00.000Z"})["id"]
    made(wire, f"/admin/markets/{market}/publish", {})
    keys = []
    for number in range(TRADERS):
        user = made(wire, "/admin/users", {"profileName": f"t{number}", "profilePic": PICTURE})
        made(wire, f"/admin/users/{user['id']}/deposits", {"amount": "1000000"})
        key = made(wire, f"/admin/users/{user['id']}/keys", {"role": "trader", "label": "k"})
        keys.append(key["key"])
    return market, keys


def bet(market, turn):
    # Each meets the one before, so that nobody comes to too many open orders.
    return {"marketId": market, "outcomeId": ["yes", "no"][turn % 2], "side": "BUY",
            "orderType": "LIMIT", "price": "0.50", "quantity": "1"}


def load(server, wish, answered, refusals):
    """Asks until the first refusal."""
    wire, turn = server.connect(), 0
    while not refusals:
        turn += 1
        status, answer = ask(wire, "POST", *wish(turn))
        if status in (200, 201):
            answered.append(answer.get("orderId"))
        else:
            refusals.append((status, answer.get("code")))


def text_that_does_not_pack(_):
    texts = {language: secrets.token_hex(2000) for language in words("")}
    body = {"titles": words("a"), "subTitles": words("a"), "images": [], "descriptions": texts}
    return "/admin/events", KEY, body


def pair(market, two):
    return lambda turn: ("/trading/orders", two[turn % 2], bet(market, turn))


def filled(server, market, keys):
    answered, refusals = [], []
    wishes = [text_that_does_not_pack, pair(market, keys[:2]), pair(market, keys[2:])]
    threads = [threading.Thread(target=load, args=(server, wish, answered, refusals))
               for wish in wishes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answered, refusals


def everything(server, market, keys):
    """The answers of the reads, and their statuses."""
    wire, seen = server.connect(), []
    paths = [(path, key) for key in keys for path in
             ("/trading/orders", "/trading/positions", "/trading/fills?limit=1000",
              "/account/ledger?limit=1000", "/trading/balance")]
    paths += [(f"/markets/{market}/trades?limit=1000", keys[0]), ("/admin/users", KEY)]
    for path, key in paths:
        status, answer = ask(wire, "GET", path, key)
        answer.pop("timestamp", None)
        seen.append((path, status, answer))
    return seen


def head(server):
    return int(ask(server.connect(), "GET", "/admin/audit/head")[1]["sequence"])


def no_start(what):
    server = Server()
    code = server.process.wait(timeout=60) if not server.address else server.end(signal.SIGKILL)[0]
    log = server.logged()
    last = (log.strip().splitlines() or [""])[-1]
    check(f"{what} exits 1, and says of which folder and why",
          code == 1 and DISK in last and "panicked" not in log, log)
    print(f"    {last}")


# Deleted later, to free the disk again: 72 of 96 MiB.
with open(DISK + "/spare", "wb") as spare:
    os.posix_fallocate(spare.fileno(), 0, 72 << 20)
server = Server()
assert server.address, server.logged()
market, keys = set_up(server.connect())
before = head(server)
answered, refusals = filled(server, market, keys)
print(f"  filled by {len(answered)} commands")
refusals += [ask(server.connect(), "POST", "/trading/orders", keys[0], bet(market, 0))]
codes = {(status, code["code"] if isinstance(code, dict) else code) for status, code in refusals}
check("refused with 503 JOURNAL_UNAVAILABLE and nothing else, until a restart",
      codes == {(503, "JOURNAL_UNAVAILABLE")}, codes)
seen = everything(server, market, keys)
check("every read is served", all(status == 200 for _, status, _ in seen), seen)
log = server.end(signal.SIGKILL)[1]
check("the log says why", "intake is closed until a restart" in log and "panicked" not in log, log)

# Fill the last free byte.
with open(DISK + "/ballast", "wb", buffering=0) as ballast:
    try:
        while ballast.write(b"0" * 4096):
            pass
    except OSError:
        pass
no_start("a start on the full disk")
subprocess.run(["mount", "-o", "remount,bind,ro", DISK], check=True)
no_start("a start on a read-only disk")
subprocess.run(["mount", "-o", "remount,bind,rw", DISK], check=True)
os.remove(DISK + "/spare")
os.remove(DISK + "/ballast")

server = Server()
check("with space it starts", server.address, server.logged())
check("all reads are as they were before the kill", everything(server, market, keys) == seen)
check("all that was answered is there, and nothing that was refused",
      head(server) == before + len(answered), (before, len(answered), head(server)))
code, answer = ask(server.connect(), "POST", "/trading/orders", keys[0], bet(market, 0))
check("and it trades", code == 200, answer)
code, log = server.end(signal.SIGTERM)
check("and ends in order, its archive complete",
      code == 0 and "the archive is complete" in log, log)
sys.exit(1 if faults else 0)
PYTHON
status=$?
umount "$disk" && rmdir "$disk"
if [ "$status" -eq 0 ]; then echo PASS; else echo FAIL; fi
exit "$status"
