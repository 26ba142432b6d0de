#!/usr/bin/env python3
"""The time of lists and searches in a venue of many markets and users, and how much one reader's
key, within its rate limits, slows down placements made at the same time.

    benches/large.py BINARY [MARKETS [USERS]]

There are ten markets to an event; every user trades once. Each read is timed after a trade, so
that cached responses do not help. Linux only; the last part needs wrk. The data
directory is made beside the binary.
"""

import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from server import OPERATOR, Server, load

PICTURE = "https://example.org/x.png"
SHORT = {"pt": "a", "en": "b", "es": "c"}
QUESTION = {
    "pt": "A chuva vem amanha a Lisboa",
    "en": "Will it rain in Lisbon tomorrow",
    "es": "Llovera en Lisboa",
}
CONNECTIONS, AT_ONCE = 8, 64
READS = [
    "/markets/public/list",
    "/markets/public/list?highlighted=true",
    "/markets/public/list?highlighted=false",
    "/markets/search?q=lisbon",
    "/markets/search?q=lisbon%2070123",
    "/markets/search?q=zzz",
    "/events/public/list",
    "/events/public/list?marketHighlighted=true",
    "/leaderboard",
    "/leaderboard?period=week",
]


class Client:
    """Sends several requests at once on one connection."""

    def __init__(self, address):
        host, port = address.split(":")
        self.socket = socket.create_connection((host, int(port)))
        self.answers = self.socket.makefile("rb")

    def ask(self, asked):
        """Sends each (path, body, key) and returns the answers, which must be successful."""
        requests = []
        for path, body, key in asked:
            body = json.dumps(body).encode()
            head = f"POST /api/v1{path} HTTP/1.1\r\nHost: x\r\nX-API-Key: {key}\r\n"
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            requests.append(head.encode() + body)
        self.socket.sendall(b"".join(requests))
        return [self.answer() for _ in requests]

    def answer(self):
        status, length = self.answers.readline(), 0
        while (line := self.answers.readline()) != b"\r\n":
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        body = self.answers.read(length)
        if not status.split()[1].startswith(b"2"):
            sys.exit(f"{status} {body}")
        return json.loads(body)


def draft(texts, number):
    outcomes = [{"id": outcome, "text": SHORT} for outcome in ("yes", "no")]
    market = {"questions": texts, "descriptions": SHORT, "outcomes": outcomes, "logo": PICTURE}
    return market | {"deadline": f"2999-01-01T00:00:{number % 60:02}Z"}


def operate(path, body):
    return (f"/admin{path}", body, OPERATOR)


def markets(client, numbers):
    texts = [{tongue: f"{text} {n}?" for tongue, text in QUESTION.items()} for n in numbers]
    event = {"titles": SHORT, "subTitles": SHORT, "descriptions": SHORT, "images": [PICTURE]}
    events = client.ask([operate("/events", event) for _ in texts[::10]])
    drafts = [draft(text, place) for place, text in enumerate(texts)]
    for place, market in enumerate(drafts):
        market["eventId"] = events[place // 10]["id"]
    made = client.ask([operate("/markets", market) for market in drafts])
    client.ask([operate(f"/markets/{market['id']}/publish", {}) for market in made])


def users(client, numbers, market):
    people = [{"profileName": f"user {number}", "profilePic": PICTURE} for number in numbers]
    made = [user["id"] for user in client.ask([operate("/users", body) for body in people])]
    client.ask([operate(f"/users/{user}/deposits", {"amount": "100.00"}) for user in made])
    key = {"role": "trader", "label": "x"}
    keys = client.ask([operate(f"/users/{user}/keys", key) for user in made])
    keys = [key["key"] for key in keys]
    bets = [bet(market, number, 1 + number % 97) for number in numbers]
    client.ask([("/trading/orders", order, key) for order, key in zip(bets, keys)])
    return keys


def bet(market, number, quantity):
    order = {"marketId": market, "outcomeId": ("yes", "no")[number % 2], "side": "BUY"}
    return order | {"orderType": "LIMIT", "price": "0.50", "quantity": str(quantity)}


def in_parts(address, count, make):
    """Makes `count` items in ranges, on several connections in parallel."""

    def run(first):
        client = Client(address)
        for begin in range(first * AT_ONCE, count, CONNECTIONS * AT_ONCE):
            make(client, range(begin, min(begin + AT_ONCE, count)))

    threads = [threading.Thread(target=run, args=(first,)) for first in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def timed(server, market, traders):
    trader = Client(server.address)
    bets = [("/trading/orders", bet(market, n, 1), key) for n, key in enumerate(traders)]
    for path in READS:
        took = []
        for _ in range(9):
            trader.ask(bets)
            began = time.monotonic()
            length = len(server.ask("GET", f"/api/v1{path}"))
            took.append((time.monotonic() - began) * 1e3)
        middle = statistics.median(took)
        print(f"{path:<45} {middle:7.2f} ms, the middle of nine; {length} bytes", flush=True)


def placements(server, seconds=4):
    def count():
        page = server.ask("GET", "/metrics")
        counts = re.findall(r"^openoutcry_http_answers_total\{(.*)\} (\d+)", page, re.M)
        placing = lambda labels: "POST" in labels and "orders" in labels
        return sum(int(count) for labels, count in counts if placing(labels))

    before, began = count(), time.monotonic()
    time.sleep(seconds)
    return (count() - before) / (time.monotonic() - began)


def beside(server, reader):
    driving, _script = load(server, "place", 64, 60)
    try:
        time.sleep(1)
        print(f"64 connections alone: {placements(server):.0f} placements/s", flush=True)
        for path in ("/markets/search?q=lisbon%2070123", "/events/public/list", "/leaderboard"):
            script = tempfile.NamedTemporaryFile("w", suffix=".lua")
            script.write(f'wrk.headers["X-API-Key"] = "{reader}"\n')
            script.flush()
            command = ["wrk", "-t1", "-c4", "-d7s", "-s", script.name]
            command.append(f"http://{server.address}/api/v1{path}")
            reading = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            time.sleep(2)
            print(f"beside {path} from 4: {placements(server):.0f}", flush=True)
            reading.wait()
    finally:
        driving.kill()
        driving.wait()


def main(binary, count="100000", people="100000"):
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(binary))) as data:
        server = Server(binary, data, reads="2000:4000")
        try:
            began = time.monotonic()
            in_parts(server.address, int(count), markets)
            market = server.operate("/markets", draft(SHORT, 0))["id"]
            server.operate(f"/markets/{market}/publish", {})
            someone = lambda client, numbers: users(client, numbers, market)
            in_parts(server.address, int(people), someone)
            took = time.monotonic() - began
            print(f"{count} markets and {people} users made in {took:.0f} s", flush=True)
            # The server closes a connection that is idle for a minute.
            server.client.close()
            traders = users(Client(server.address), range(2), market)
            timed(server, market, traders)
            beside(server, traders[0])
        finally:
            server.process.kill()
            server.process.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
