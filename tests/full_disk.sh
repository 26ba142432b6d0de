#!/bin/sh
# Fills a small file system while the real server trades on it, and checks what is refused, what is
# still served, and the recovery. Needs to mount a tmpfs on Linux, in a namespace of its own
# (`unshare -rm`) or as root; prints SKIPPED where it cannot. Prints PASS or FAIL.
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
DATA, ARCHIVE = DISK + "/venue", DISK + "/archive"
KEY = "full-disk-operator-key-of-enough-characters"
PICTURE = "https://assets.example.org/p.png"
TRADERS = 4
# This many of the traders send batches, so that pages of history are written all the time.
HASTY = 2
# Orders placed before the disk fills: enough for most of the history to be on pages.
HISTORY = 10_000
# Why a user who was faster than those on the other side may place no more.
NO_ROOM = "OPEN_ORDER_LIMIT"
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
        command = [BINARY, "serve", "--init", "--listen", "127.0.0.1:0", "--data", DATA,
                   "--archive", ARCHIVE, "--snapshot-every", "2000",
                   "--rate-writes", "1000000", "--rate-reads", "1000000"]
        env = {**os.environ, "OPENOUTCRY_OPERATOR_KEY": KEY}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self.log, text=True, env=env)
        self.address = None
        for line in self.process.stdout:
            if line.startswith("listening on http://"):
                self.address = line.strip().removeprefix("listening on http://")
                break

    def connect(self):
        host, port = self.address.rsplit(":", 1)
        return http.client.HTTPConnection(host, int(port), timeout=60)

    def end(self, how):
        self.process.send_signal(how)
        code = self.process.wait(timeout=60)
        self.process.stdout.close()
        return code, self.logged()

    def logged(self):
        self.log.seek(0)
        return self.log.read()


def ask(wire, method, path, key=KEY, body=None):
    text = None if body is None else json.dumps(body)
    wire.request(method, "/api/v1" + path, text,
                 {"X-API-Key": key, "Content-Type": "application/json"})
    answer = wire.getresponse()
    body = answer.read()
    return answer.status, json.loads(body) if body else {}


def made(wire, path, body):
    status, answer = ask(wire, "POST", path, KEY, body)
    assert status in (200, 201), (path, status, answer)
    return answer


def words(text):
    return {"pt": text, "en": text, "es": text}


def set_up(server):
    wire = server.connect()
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


def bet(market, number, turn):
    outcome = ["yes", "no"][number % 2]
    price = f"0.{45 + turn % 11}"
    return {"marketId": market, "outcomeId": outcome, "side": "BUY", "orderType": "LIMIT",
            "price": price, "quantity": "1"}


def make_room(wire, key, unfit):
    """Cancels all orders of a user who may have no more; returns a refusal of that."""
    status, answer = ask(wire, "DELETE", "/trading/orders", key)
    unfit.append(answer)
    return None if status == 200 else (status, answer)


def trade(server, market, number, key, placed, cancelled, unfit, refusals, full):
    """Places and cancels until the first refusal for want of disk."""
    wire = server.connect()
    turn = 0
    while not full.is_set():
        turn += 1
        status, answer = ask(wire, "POST", "/trading/orders", key, bet(market, number, turn))
        if answer.get("code") == NO_ROOM:
            unfit.append(answer)
            refused = make_room(wire, key, unfit)
            if refused is None:
                continue
            status, answer = refused
        if status != 200:
            refusals.append((status, answer))
            break
        placed[answer["orderId"]] = key
        if turn % 3 == 0 and answer["remainingQuantity"] != "0":
            status, answer = ask(wire, "DELETE", "/trading/orders/" + answer["orderId"], key)
            if status == 200:
                cancelled.add(answer["id"])
            elif status == 409:
                unfit.append(answer)  # It may have been filled in between.
            elif status == 503:
                refusals.append((status, answer))
                break
            else:
                raise AssertionError((status, answer))
    full.set()


def batch(wire, market, number, key, turn, placed, unfit):
    """Sends a batch of bets; returns the first refusal for want of disk."""
    bets = [{"place": bet(market, number, turn + place)} for place in range(100)]
    status, answer = ask(wire, "POST", "/trading/orders/batch", key, {"operations": bets})
    if status != 200:
        return status, answer
    placed.update({result["order"]["orderId"]: key
                   for result in answer["results"] if "order" in result})
    errors = [result["error"] for result in answer["results"] if "error" in result]
    crowded = [error for error in errors if error["code"] == NO_ROOM]
    unfit.extend(crowded)
    for error in errors:
        if error["code"] != NO_ROOM:
            return error["status"], error
    return make_room(wire, key, unfit) if crowded else None


def haste(server, market, number, key, placed, unfit, refusals, full):
    """Places in batches until the first refusal for want of disk."""
    wire, turn = server.connect(), 0
    while not full.is_set():
        turn += 1
        refused = batch(wire, market, number, key, turn, placed, unfit)
        if refused is not None:
            refusals.append(refused)
            break
    full.set()


def fill(server, events, refusals, full):
    """Publishes long texts as the operator, to fill the disk: such as do not pack."""
    wire = server.connect()
    body = {"titles": words("a"), "subTitles": words("a"), "images": []}
    while not full.is_set():
        body["descriptions"] = {language: secrets.token_hex(2000) for language in words("")}
        status, answer = ask(wire, "POST", "/admin/events", KEY, body)
        if status != 201:
            refusals.append((status, answer))
            break
        events.append(answer["id"])
    full.set()


def everything(server, market, keys):
    """The answers of the reads; `None` for each that is not a 200."""
    wire, seen = server.connect(), []
    paths = [(path, key) for key in keys for path in
             ("/trading/orders", "/trading/positions", "/trading/fills?limit=1000",
              "/trading/fills?limit=1000&offset=3000", "/account/ledger?limit=1000",
              "/trading/balance")]
    paths += [(f"/markets/{market}", keys[0]), (f"/markets/{market}/activity?limit=1000", keys[0]),
              (f"/markets/{market}/trades?limit=1000", keys[0]),
              (f"/trading/books/{market}/depth?outcome=yes&levels=50", keys[0]),
              ("/admin/users", KEY), ("/admin/markets", KEY)]
    for path, key in paths:
        status, answer = ask(wire, "GET", path, key)
        answer.pop("timestamp", None)
        seen.append((path, answer if status == 200 else None))
    return seen


def head(server):
    status, answer = ask(server.connect(), "GET", "/admin/audit/head")
    assert status == 200, answer
    return int(answer["sequence"])


def crowd(server, market, keys):
    placed, cancelled, unfit, events, refusals = {}, set(), [], [], []
    wire = server.connect()
    for turn in range(HISTORY // 200):
        for number, key in list(enumerate(keys))[-HASTY:]:
            refused = batch(wire, market, number, key, turn, placed, unfit)
            assert refused is None, refused
    full = threading.Event()
    traders = list(enumerate(keys))
    threads = [threading.Thread(target=trade, args=(server, market, number, key, placed,
                                                    cancelled, unfit, refusals, full))
               for number, key in traders[:-HASTY]]
    threads += [threading.Thread(target=haste, args=(server, market, number, key, placed,
                                                     unfit, refusals, full))
                for number, key in traders[-HASTY:]]
    threads.append(threading.Thread(target=fill, args=(server, events, refusals, full)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return placed, cancelled, unfit, events, refusals


def refused_start(what):
    server = Server()
    if server.address is not None:
        return server
    server.process.wait(timeout=60)
    log = server.logged()
    last = log.strip().splitlines()[-1]
    check(f"{what}: exits 1, and says of which folder and why",
          server.process.returncode == 1 and DISK in last and "panicked" not in log, log)
    print(f"    {last}")
    return None


# A file to delete later, to free the disk again: 72 of 96 MiB.
with open(DISK + "/spare", "wb") as spare:
    os.posix_fallocate(spare.fileno(), 0, 72 << 20)
server = Server()
assert server.address, server.logged()
market, keys = set_up(server)
before = head(server)
placed, cancelled, unfit, events, refusals = crowd(server, market, keys)
print(f"  filled by {len(placed)} placements, {len(cancelled)} cancels and {len(events)} events")
codes = sorted({(status, answer.get("code")) for status, answer in refusals})
check("refused with 503 JOURNAL_UNAVAILABLE and nothing else",
      codes == [(503, "JOURNAL_UNAVAILABLE")], codes)
wire = server.connect()
again = [ask(wire, "POST", "/trading/orders", key, bet(market, 0, 0)) for key in keys]
check("and again, until a restart", all(status == 503 for status, _ in again), again)
seen = everything(server, market, keys)
check("every read is served", all(answer is not None for _, answer in seen),
      [path for path, answer in seen if answer is None])
log = server.logged()
check("the log says why", "intake is closed until a restart" in log, log)
check("no panic", "panicked" not in log, log)
server.end(signal.SIGKILL)

# Fill the last free byte.
with open(DISK + "/ballast", "wb", buffering=0) as ballast:
    try:
        while ballast.write(b"0" * 4096):
            pass
    except OSError:
        pass
free = os.statvfs(DISK).f_bavail
print(f"  {free} blocks free")
server = refused_start("a start on the full disk")
if server is not None:
    check("a start on the full disk serves what was answered",
          everything(server, market, keys) == seen)
    code, log = server.end(signal.SIGTERM)
    check("and ends without a panic", "panicked" not in log, log)

# A disk remounted read-only.
subprocess.run(["mount", "-o", "remount,bind,ro", DISK], check=True)
server = refused_start("a start on a read-only disk")
if server is not None:
    check("a start on a read-only disk is refused", False, server.end(signal.SIGKILL))
subprocess.run(["mount", "-o", "remount,bind,rw", DISK], check=True)
os.remove(DISK + "/spare")
os.remove(DISK + "/ballast")

server = Server()
check("with space it starts", server.address is not None, server.logged())
if server.address is None:
    sys.exit(1)
check("all reads are as they were before the kill", everything(server, market, keys) == seen)
wire = server.connect()
lost = [order for order, key in placed.items()
        if ask(wire, "GET", "/trading/orders/" + order, key)[0] != 200]
check(f"all {len(placed)} answered placements are there", not lost, lost)
status = {order: ask(wire, "GET", "/trading/orders/" + order, placed[order])[1].get("status")
          for order in cancelled}
check(f"all {len(cancelled)} answered cancels are there",
      set(status.values()) <= {"CANCELLED"}, status)
answered = len(placed) + len(cancelled) + len(events)
records = head(server) - before
# What was refused for another reason than the disk may have made a record too.
check(f"{answered} commands were answered, and nothing is there that was refused",
      answered <= records <= answered + len(unfit), (records, answered, len(unfit)))
code, answer = ask(wire, "POST", "/trading/orders", keys[0], bet(market, 0, 0))
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
