"""Runs examples/market_maker.py and the client of INTERFACE.md on a demo venue for a time, and
checks that they missed nothing.

    python3 stream_clients.py SERVER SECONDS

A trader takes what the maker quotes. In the middle the server is killed and started again, and so
is the maker, each while it trades. In the end the fills of each are exactly those that the venue
lists, the client's book is the venue's, the maker held its bounds, and no read of its was useless.
"""
import json
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAKER, TAKER = "demo-ana-trader-on-a-local-venue-1", "demo-ben-trader-on-a-local-venue-2"
OPERATOR = "demo-olga-operator-of-a-local-venue-5"
INVENTORY, LINES_MAX, CLIENT_LINES_MAX = 25, 150, 60
MARKETS = 3


def check(what, holds, *about):
    if not holds:
        sys.exit(f"{what}: {about}")


def client_of_the_interface():
    """The complete client that INTERFACE.md shows."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "INTERFACE.md").read_text(), re.DOTALL)
    clients = [block for block in blocks if "class Follower" in block]
    check("INTERFACE.md shows one client", len(clients) == 1, len(clients))
    check("its lines", clients[0].count("\n") <= CLIENT_LINES_MAX, clients[0].count("\n"))
    # The test looks at the book when it ends the client.
    return clients[0].replace('if __name__ == "__main__":', "if False:") + (
        "import signal\n"
        "follower = Follower(*sys.argv[1:])\n"
        "def show(*_):\n"
        "    print(json.dumps({'book': [[*at, *[much]] for at, much in sorted(follower.book.items())]}), flush=True)\n"
        "    sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, show)\n"
        "asyncio.run(follower.run())\n"
    )


class Venue:
    def __init__(self, server, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.server, self.folder, self.process = server, folder, None
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self):
        with open(self.folder / "venue.log", "a") as log:
            self.process = subprocess.Popen(
                [self.server, "serve", "--demo", "--demo-flow", "off", "--data", self.folder / "data",
                 "--listen", f"127.0.0.1:{self.port}"],
                stdout=log, stderr=log,
            )
        for _ in range(600):
            try:
                return self.ask("/markets/public/list?limit=1")
            except OSError:
                time.sleep(0.1)
        sys.exit("the demo did not start")

    def ask(self, path, body=None, key=MAKER):
        body = None if body is None else json.dumps(body).encode()
        headers = {"X-API-Key": key, "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/api/v1{path}", body, headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def wait_for_a_stream(self):
        """Waits until somebody listens, for a minute at most, and a moment for what they ask for."""
        request = urllib.request.Request(f"{self.url}/metrics", headers={"X-API-Key": OPERATOR})
        for _ in range(60):
            with urllib.request.urlopen(request, timeout=30) as answer:
                if "\nopenoutcry_streams 1\n" in answer.read().decode():
                    break
            time.sleep(1)
        else:
            check("a stream within a minute", False)
        time.sleep(2)

    def fills(self, after):
        """All fills of the maker's account after a record, oldest first."""
        found, path = [], f"/trading/fills?afterSequence={after}&limit=100"
        while True:
            page = self.ask(path)
            found += page["fills"]
            if not page["hasMore"]:
                return found
            path = f"/trading/fills?cursor={page['nextCursor']}&limit=100"


def trade(venue, markets, until):
    """Takes from both sides of the maker's quotes until a time."""
    while time.monotonic() < until:
        order = {
            "marketId": random.choice(markets), "outcomeId": "yes", "orderType": "LIMIT",
            "timeInForce": "IOC", "quantity": f"{random.uniform(0.5, 4):.6f}",
            **random.choice([{"side": "BUY", "price": "0.99"}, {"side": "SELL", "price": "0.01"}]),
        }
        try:
            venue.ask("/trading/orders", order, TAKER)
        except urllib.error.HTTPError:
            pass  # Nothing to take, or no more money: the next may do.
        time.sleep(random.uniform(0.01, 0.1))


def wait_for_all(venue, told):
    """Waits until a client has as many fills as there are, for a minute at most, and a heartbeat."""
    for _ in range(60):
        lines = [json.loads(line) for line in told.read_text().splitlines()]
        fills = [line["id"] for line in lines if "id" in line]
        last = venue.ask("/trading/fills?limit=1")["fills"][0]["id"]
        if last in fills:
            break
        time.sleep(1)
    time.sleep(6)


def run(server, seconds, folder):
    venue = Venue(server, folder)
    venue.start()
    children = []

    def child(name, *arguments):
        with open(folder / f"{name}.out", "a") as out, open(folder / f"{name}.log", "a") as log:
            started = subprocess.Popen([sys.executable, *arguments], stdout=out, stderr=log)
        children.append(started)
        return started

    try:
        # The demo's drafts, which nobody else quotes.
        drafts = venue.ask("/admin/markets?status=DRAFT&limit=100", key=OPERATOR)["markets"]
        markets = [market["id"] for market in drafts][:MARKETS]
        for market in markets:
            venue.ask(f"/admin/markets/{market}/publish", {}, OPERATOR)
        (folder / "follow.py").write_text(client_of_the_interface())
        address = venue.url.replace("http", "ws") + "/api/v1/stream"
        client = child("client", folder / "follow.py", address, MAKER, markets[0])
        # The first fill of the maker's is to find it listening.
        venue.wait_for_a_stream()
        quoting = [ROOT / "examples/market_maker.py", venue.url, MAKER, folder / "fills.jsonl", *markets]
        maker = child("maker", *quoting)
        end = time.monotonic() + seconds
        trade(venue, markets, end - seconds * 2 / 3)
        # What happens while a client is stopped it has not read when it is cut.
        client.send_signal(signal.SIGSTOP)
        trade(venue, markets, time.monotonic() + 1)
        venue.process.kill()
        venue.process.wait()
        venue.start()
        trade(venue, markets, time.monotonic() + 5)
        client.send_signal(signal.SIGCONT)
        trade(venue, markets, end - seconds / 3)
        maker.send_signal(signal.SIGSTOP)
        trade(venue, markets, time.monotonic() + 1)
        maker.kill()
        maker.wait()
        trade(venue, markets, time.monotonic() + 1)
        maker = child("maker", *quoting)
        trade(venue, markets, end)
        for ends, told in ((maker, "fills.jsonl"), (client, "client.out")):
            wait_for_all(venue, folder / told)
            ends.send_signal(signal.SIGTERM)
            check("a client's end", ends.wait(30) == 0, (folder / "maker.log").read_text(),
                  (folder / "client.log").read_text())
        compare(venue, folder, markets)
    finally:
        for started in children:
            started.kill()
            started.wait()
        venue.process.kill()
        venue.process.wait()


def compare(venue, folder, markets):
    lines = [json.loads(line) for line in (folder / "fills.jsonl").read_text().splitlines()]
    begun, told = lines[0]["sequence"] - 1, [line for line in lines if "id" in line]
    listed = venue.fills(begun)
    check("some fills of each market", {fill["marketId"] for fill in listed} == set(markets), len(listed))
    check("the maker's fills", told == listed, len(told), len(listed))
    for fill in told:
        held = float(fill["heldAfter"]["yes"]) - float(fill["heldAfter"]["no"])
        check("the maker's inventory", abs(held) <= INVENTORY, fill)
    done = [json.loads(line) for line in (folder / "maker.out").read_text().splitlines()]
    check("what the maker says", len(done) == 1 and done[0]["fills"] == len(told), done, len(told))
    check("its useless reads", done[0]["uselessReads"] == 0 and done[0]["reads"] == 2, done)
    lines = [json.loads(line) for line in (folder / "client.out").read_text().splitlines()]
    check("the client's fills", lines[:-1] == listed, len(lines) - 1, len(listed))
    depth = venue.ask(f"/trading/books/{markets[0]}/depth?outcome=yes")
    book = [[side, level["price"], level["quantity"]]
            for side, levels in (("ask", depth["asks"]), ("bid", depth["bids"])) for level in levels]
    check("the client's book", lines[-1]["book"] == sorted(book), lines[-1], book)
    print(f"{len(told)} fills, none missed; {done[0]['reads']} reads, {done[0]['uselessReads']} useless")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        run(sys.argv[1], float(sys.argv[2]), pathlib.Path(folder))
