#!/usr/bin/env python3
"""What those who listen cost others, and the server's memory.

    benches/listeners.py BINARY [PART...]     PART: stopped, crowd, idle, matcher; default: all

stopped  a reader of a busy market stops reading, is ended and comes back, again and again
crowd    1,000 sockets are cut at one moment, and each comes back to go on from where it was, a third
         of them from 200,000 records ago
idle     memory of 3,800 streams that listen to a quiet book: of 4,096 connections some are kept for others
matcher  processor time of the matcher's thread an order, without a listener, with one to another
         market, and with one to the market in which they trade

The first two time another user's orders on a kept connection, alone and beside, in turn; who listens
runs at the lowest priority, as if it were another machine. Linux only.
"""

import json
import os
import re
import selectors
import socket
import statistics
import struct
import sys
import tempfile
import threading
import time
from multiprocessing import Pipe, Process

from large import Client
from neighbours import Venue, order
from server import OPERATOR

TURNS, SECONDS = 5, 3
CROWD, IDLE, USERS = 1000, 3800, 120
MARKETS, PAST_RECORDS = 50, 200_000
SEQUENCE = re.compile(rb'"sequence":(\d+),')


def text(message):
    """A frame with a message; what it is masked with is zero."""
    body = json.dumps(message).encode()
    length = len(body)
    head = bytes([0x81, 0x80 | length]) if length < 126 else struct.pack("!BBH", 0x81, 0xFE, length)
    return head + b"\0\0\0\0" + body


def upgrade(key):
    return (
        f"GET /api/v1/stream HTTP/1.1\r\nHost: x\r\nX-API-Key: {key}\r\nConnection: Upgrade\r\n"
        "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    ).encode()


def subscribe(channels, since=None):
    return text({"op": "subscribe", "id": "s", "channels": channels} | ({"from": since} if since else {}))


def connect(address):
    host, port = address.split(":")
    return socket.create_connection((host, int(port)))


class Child:
    """A process that is told what to do."""

    def __init__(self, run, *args):
        self.pipe, other = Pipe()
        self.process = Process(target=run, args=(other, *args), daemon=True)
        self.process.start()

    def ask(self, what):
        self.pipe.send(what)
        return self.pipe.recv()


def placing(pipe, address, key, taker):
    """Times placements from one word to the next."""
    client = Client(address)
    while True:
        pipe.recv()
        pipe.send(None)
        took = []
        while not pipe.poll():
            began = time.monotonic()
            client.ask([("/trading/orders", taker, key)])
            took.append((time.monotonic() - began) * 1e3)
            time.sleep(0.002)
        pipe.recv()
        pipe.send(took)


def trading(pipe, address, sides, fills, pause):
    """Has two users trade with each other, for ever."""
    clients = [(Client(address), key, [terms] * fills) for key, terms in sides]
    while not pipe.poll():
        for client, key, orders in clients:
            body = {"operations": [{"place": terms} for terms in orders]}
            client.ask([("/trading/orders/batch", body, key)])
        time.sleep(pause)
    pipe.recv()
    pipe.send(None)


class Listener:
    def __init__(self, address, key, channels):
        self.address, self.key, self.channels = address, key, channels
        self.last, self.socket = None, None

    def open(self, since):
        self.since, self.is_asked, self.is_there, self.bytes = since, False, False, b""
        self.socket = socket.socket()
        self.socket.setblocking(False)
        host, port = self.address.split(":")
        self.socket.connect_ex((host, int(port)))

    def cut(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def take(self, data):
        """Reads on; true once it has everything up to now."""
        self.bytes = (self.bytes + data)[-4096:]
        if not self.is_asked and b'"welcome"' in self.bytes:
            self.is_asked, self.bytes = True, b""
            self.socket.send(subscribe(self.channels, self.since))
        if b'"error"' in data or b'"code"' in data:
            sys.exit(f"a listener was refused: {data[-500:]}")
        if numbers := SEQUENCE.findall(self.bytes):
            # Of the last message's record there may be more: what is before it is all here.
            self.last = int(numbers[-1]) - 1
        was, self.is_there = self.is_there, self.is_there or b'"heartbeat"' in self.bytes
        return self.is_there and not was


def crowd(pipe, address, listeners):
    """Listens; told to `open`, to `wait` until all have come as far as the venue, to be `cut` and
    come back from where each was or from the record given, or to `close`."""
    os.nice(19)
    listeners = [Listener(address, key, channels) for key, channels in listeners]
    selector, there, waiting = selectors.DefaultSelector(), 0, False

    def open_all(since):
        for number, one in enumerate(listeners):
            one.open(since and (since if number % 3 == 0 else one.last))
            selector.register(one.socket, selectors.EVENT_WRITE, one)

    def cut_all():
        for one in listeners:
            selector.unregister(one.socket)
            one.cut()

    while True:
        for key, events in selector.select(0.01):
            one = key.data
            if events & selectors.EVENT_WRITE:
                selector.modify(one.socket, selectors.EVENT_READ, one)
                one.socket.send(upgrade(one.key))
                continue
            data = one.socket.recv(1 << 16)
            if not data:
                sys.exit(f"a listener was ended: {one.bytes[-500:]}")
            there += one.take(data)
        if waiting and there == len(listeners):
            waiting = False
            pipe.send(time.monotonic() - began)
        if not pipe.poll():
            continue
        what, since = pipe.recv()
        if what == "wait":
            waiting = True
            continue
        if what != "open":
            cut_all()
        if what != "close":
            there, began = 0, time.monotonic()
            open_all(since)
        pipe.send(None)


def stopping(pipe, address, key, channels):
    """Listens and never reads, until ended; then anew."""
    os.nice(19)
    ends = 0
    while True:
        one = connect(address)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.sendall(upgrade(key))
        one.recv(1 << 12)
        one.sendall(subscribe(channels))
        until = time.monotonic() + 1.5
        while time.monotonic() < until:
            if pipe.poll():
                pipe.recv()
                return pipe.send(ends)
            time.sleep(0.02)
        ends += 1
        one.close()


class Resident:
    """The most memory of a process from one look to the next, in MiB."""

    def __init__(self, pid):
        self.pid, self.most = pid, 0
        threading.Thread(target=self.watch, daemon=True).start()

    def now(self):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as status:
            line = next(line for line in status if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024

    def watch(self):
        while True:
            try:
                self.most = max(self.most, self.now())
            except (OSError, StopIteration):
                return
            time.sleep(0.02)

    def look(self):
        most, self.most = self.most, 0
        return most


def p99(took):
    took.sort()
    return took[len(took) * 99 // 100]


def between(placer, act):
    """The times of placements while something is done."""
    placer.ask("go")
    act()
    return placer.ask("stop")


def told(name, rounds):
    """Prints the middle p99 of each kind of turn, and its ratios to the first, round by round."""
    tails = {kind: [p99(one[kind]) for one in rounds] for kind in rounds[0]}
    first = next(iter(tails.values()))
    for kind, own in tails.items():
        ratios = sorted(mine / alone for mine, alone in zip(own, first))
        middle = statistics.median(ratios)
        print(
            f"{name}: {kind}: p99 {statistics.median(own):.2f} ms, of {len(rounds[0][kind])} a turn; "
            f"{middle:.2f} times ({ratios[0]:.2f} to {ratios[-1]:.2f})",
            flush=True,
        )


def stage(venue):
    """Two who trade with each other in a market, and another who is timed."""
    market = venue.market()
    sides = [(venue.trader(name), order(market, side, "0.50", "1")) for name, side in (("ann", "yes"), ("bob", "no"))]
    taker = order(venue.market(1), "no", "0.01", "1", timeInForce="IOC")
    return market, sides, Child(placing, venue.server.address, venue.trader("cid"), taker)


def people(venue, count):
    return [venue.trader(f"listener {number}") for number in range(count)]


def stopped(venue):
    market, sides, placer = stage(venue)
    resident, key = Resident(venue.server.process.pid), venue.trader("dan")
    traders = Child(trading, venue.server.address, sides, 20, 0.02)
    channels = [f"{kind}:{market}" for kind in ("trades", "orders", "activity", "book")]
    rounds, memory = [], []
    for _ in range(TURNS):
        alone = between(placer, lambda: time.sleep(SECONDS))
        resident.look()
        readers = [Child(stopping, venue.server.address, key, channels) for _ in range(8)]
        beside = between(placer, lambda: time.sleep(SECONDS))
        for reader in readers:
            reader.ask("end")
        rounds.append({"alone": alone, "beside 8 who do not read": beside})
        memory.append(resident.look())
    traders.ask("end")
    told("stopped", rounds)
    print(f"stopped: {max(memory):.0f} MiB at most", flush=True)


def crowded(venue):
    address = venue.server.address
    market, sides, placer = stage(venue)
    resident, keys = Resident(venue.server.process.pid), people(venue, CROWD // 30 + 1)
    past = [venue.market(number) for number in range(MARKETS)]
    venue.server.client.request("GET", "/api/v1/markets/public/list", headers={"X-API-Key": OPERATOR})
    answer = venue.server.client.getresponse()
    since = int(answer.getheader("Sequence"))
    answer.read()
    for number in range(PAST_RECORDS // 200):
        for key, terms in sides:
            venue.batch(key, [terms | {"marketId": past[number % MARKETS]}] * 100)
    listeners = []
    for number in range(CROWD):
        own = past[number % MARKETS]
        listeners.append((keys[number // 30], [f"book:{own}", f"trades:{own}", "account"]))
    them = Child(crowd, address, listeners)
    traders = Child(trading, address, sides, 1, 0.05)
    rounds, memory, returns = [], [], []
    for _ in range(TURNS):
        alone = between(placer, lambda: time.sleep(SECONDS))
        them.ask(("open", None))
        them.ask(("wait", None))
        resident.look()
        beside = between(placer, lambda: time.sleep(SECONDS))
        before = resident.look()

        def come_back():
            them.ask(("cut", since))
            returns.append(them.ask(("wait", None)))

        back = between(placer, come_back)
        memory.append((before, resident.look()))
        them.ask(("close", None))
        rounds.append({"alone": alone, "beside 1,000 who listen": beside, "while they come back": back})
        time.sleep(0.5)
    traders.ask("end")
    told("crowd", rounds)
    returns.sort()
    before, most = max(before for before, _ in memory), max(most for _, most in memory)
    print(f"crowd: all are back after {statistics.median(returns):.1f} s ({returns[0]:.1f} to {returns[-1]:.1f})")
    print(f"crowd: {before:.0f} MiB while they listen, {most:.0f} at most while they come back", flush=True)


def idle(venue):
    market, keys = venue.market(), people(venue, USERS)
    resident = Resident(venue.server.process.pid)
    listeners = [(keys[number // 32], [f"book:{market}"]) for number in range(IDLE)]
    before = resident.now()
    them = Child(crowd, venue.server.address, listeners)
    them.ask(("open", None))
    them.ask(("wait", None))
    time.sleep(6)
    after = resident.now()
    print(f"idle: {(after - before) * 1024 * 1024 / IDLE:.0f} bytes each of {IDLE}", flush=True)
    them.ask(("close", None))
    time.sleep(1)
    print(f"idle: {before:.0f} MiB before, {after:.0f} with them, {resident.now():.0f} after", flush=True)


def matcher(venue, orders=6400, deep=64):
    pid = venue.server.process.pid
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/comm", encoding="ascii") as name:
            if name.read().strip() == "matcher":
                usage = f"/proc/{pid}/task/{task}/schedstat"

    def used():
        with open(usage, encoding="ascii") as stat:
            return int(stat.read().split()[0])

    market, quiet = venue.market(), venue.market(1)
    sockets = []
    for name, side in (("ann", "yes"), ("bob", "no")):
        one = connect(venue.server.address)
        one.sendall(upgrade(venue.trader(name)))
        terms = order(market, side, "0.50", "1")
        sockets.append((one, text({"op": "place", "id": "p", "body": terms}) * deep))
    for one, _ in sockets:
        one.recv(1 << 12)

    def trade():
        began = used()
        for _ in range(orders // deep // 2):
            for one, frames in sockets:
                one.sendall(frames)
                count = 0
                while count < deep:
                    data = one.recv(1 << 18)
                    count += data.count(b'"status":200')
                    if b'"error"' in data:
                        sys.exit(data)
        return (used() - began) / orders

    trade()
    key, took = venue.trader("cid"), {"nobody": [], "another market": [], "this market": []}
    for _ in range(3 * TURNS):
        for whom, own in took.items():
            them = None
            if whom != "nobody":
                of = market if whom == "this market" else quiet
                them = Child(crowd, venue.server.address, [(key, [f"book:{of}", f"trades:{of}"])])
                them.ask(("open", None))
                them.ask(("wait", None))
            own.append(trade())
            if them:
                them.ask(("close", None))
                them.process.terminate()
    for whom, own in took.items():
        ratios = sorted(mine / none for mine, none in zip(own, took["nobody"]))
        print(
            f"matcher: listeners to {whom}: {statistics.median(own) / 1e3:.2f} us an order; "
            f"{statistics.median(ratios):.3f} times",
            flush=True,
        )


PARTS = {"stopped": stopped, "crowd": crowded, "idle": idle, "matcher": matcher}


def main(binary, *parts):
    for part in parts or PARTS:
        with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(binary))) as data:
            venue = Venue(binary, data)
            try:
                PARTS[part](venue)
            finally:
                venue.server.process.kill()
                venue.server.process.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
