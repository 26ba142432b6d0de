#!/usr/bin/env python3
"""What one user's expensive requests cost other users, and the server's memory.

    benches/neighbours.py BINARY [PART...]     PART: pages, kills, ends, signing, names; default: all

pages   reads of the last 1,000 fills, or orders, of one market whose rows lie on as many pages of
        history, by four readers; timed beside them: another user's balance
kills   fill-or-kill orders that are killed, of a user with 10,000 open orders in another market;
        timed beside them: another user's orders
ends    a market with a million orders of one lot is closed, then one with as many that expire at
        once; timed beside it, and before it: another user's order, its 99th percentile and the
        slowest
signing 200 sign-ins a second with wrong passwords, each from another address; timed beside them and
        without them, in turn: another user's orders
names   memory after a million killed orders, each with a client order id

The data directory is made beside the binary. To compare two binaries, run both in turn.
"""

import http.client
import json
import os
import sys
import tempfile
import threading
import time

from server import Server
from large import PICTURE, SHORT, Client, draft

MARKETS, ROUNDS = 100, 1100
FLOODS, PAUSE = 12, 0.04
# Seconds in which a million orders can be placed.
EXPIRES_AFTER = 150


class Venue:
    def __init__(self, binary, data):
        self.server = Server(binary, data)
        self.client = Client(self.server.address)

    def market(self, number=0):
        market = self.server.operate("/markets", draft(SHORT, number))["id"]
        self.server.operate(f"/markets/{market}/publish", {})
        return market

    def trader(self, name, money="10000000.00"):
        user = self.server.operate("/users", {"profileName": name, "profilePic": PICTURE})["id"]
        self.server.operate(f"/users/{user}/deposits", {"amount": money})
        key = {"role": "trader", "label": "x"}
        return self.server.operate(f"/users/{user}/keys", key)["key"]

    def batch(self, key, orders, client=None):
        body = {"operations": [{"place": order} for order in orders]}
        return (client or self.client).ask([("/trading/orders/batch", body, key)])

    def get(self, connection, path, key):
        connection.request("GET", f"/api/v1{path}", headers={"X-API-Key": key})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            sys.exit(text)

    def connect(self):
        return http.client.HTTPConnection(self.server.address)


def order(market, outcome, price, quantity, **more):
    terms = {"marketId": market, "outcomeId": outcome, "side": "BUY", "orderType": "LIMIT"}
    return terms | {"price": price, "quantity": quantity} | more


def beside(loads, measured, count=200):
    """Times `measured` while each of the loads is repeated by a thread."""
    ended = threading.Event()

    def repeat(load):
        while not ended.is_set():
            load()

    threads = [threading.Thread(target=repeat, args=(load,)) for load in loads]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    took = []
    for _ in range(count):
        began = time.monotonic()
        measured()
        took.append((time.monotonic() - began) * 1e3)
        time.sleep(0.005)
    ended.set()
    for thread in threads:
        thread.join()
    took.sort()
    return f"{took[count // 2]:.1f} ms, slowest tenth {took[count * 9 // 10]:.1f}"


def pages(venue):
    markets = [venue.market(number) for number in range(MARKETS)]
    ann, bob = venue.trader("ann"), venue.trader("bob")
    for _ in range(ROUNDS):
        venue.batch(ann, [order(market, "yes", "0.50", "1") for market in markets])
        venue.batch(bob, [order(market, "no", "0.50", "1") for market in markets])
    for rows in ("fills", "orders"):
        path = f"/trading/{rows}?marketId={markets[5]}&cursor=&limit=1000"
        readers = [venue.connect() for _ in range(4)]
        loads = [lambda reader=reader: venue.get(reader, path, ann) for reader in readers]
        balance = venue.connect()
        took = beside(loads, lambda: venue.get(balance, "/trading/balance", bob))
        print(f"pages: a balance beside four readers of {rows}: {took}", flush=True)


def kills(venue):
    crowded, other = venue.market(), venue.market(1)
    ann, bob, cid = venue.trader("ann"), venue.trader("bob"), venue.trader("cid")
    # More than a fill-or-kill order is checked against one by one.
    venue.batch(bob, [order(other, "no", "0.50", "0.000001")] * 9)
    flood = [order(other, "yes", "0.50", "1", timeInForce="FOK")] * 100
    taker = order(crowded, "no", "0.01", "1", timeInForce="IOC")
    for crowd in (0, 10_000):
        for _ in range(crowd // 100):
            venue.batch(ann, [order(crowded, "yes", "0.02", "0.000001")] * 100)
        clients = [Client(venue.server.address) for _ in range(FLOODS)]
        sent = []

        def load(client):
            began = time.monotonic()
            venue.batch(ann, flood, client)
            sent.append(100)
            time.sleep(max(0, PAUSE - (time.monotonic() - began)))

        loads, began = [lambda client=client: load(client) for client in clients], time.monotonic()
        took = beside(loads, lambda: venue.client.ask([("/trading/orders", taker, cid)]))
        rate = sum(sent) / (time.monotonic() - began)
        print(f"kills: an order beside {rate:.0f} killed/s, {crowd} open elsewhere: {took}")


def timed(measured, ended):
    """The times of `measured` in milliseconds, one every few, until it has ended."""
    took = []
    while True:
        began = time.monotonic()
        measured()
        took.append((time.monotonic() - began) * 1e3)
        if ended():
            break
        time.sleep(0.005)
    took.sort()
    return f"p99 {took[len(took) * 99 // 100]:.1f} ms, slowest {took[-1]:.1f} of {len(took)}"


def signing(venue, turns=5, seconds=4, rate=200):
    ann, market = venue.trader("ann"), venue.market()
    taker = order(market, "no", "0.01", "1", timeInForce="IOC")
    host, port = venue.server.address.split(":")
    body = json.dumps({"profileName": "nobody", "password": "a wrong password"})
    came, took, tried = {}, {False: [], True: []}, iter(range(1 << 24))

    def sign_in():
        # Ten wrong passwords of one address cost nothing more: each try has its own, and name.
        number = next(tried)
        source = f"127.{1 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"
        browser = http.client.HTTPConnection(host, int(port), source_address=(source, 0))
        named = body.replace("nobody", f"nobody-{number}")
        headers = {"Origin": f"http://{host}:{port}", "X-Requested-By": "openoutcry"}
        browser.request("POST", "/api/v1/session", named, headers)
        status = browser.getresponse().status
        browser.close()
        came[status] = came.get(status, 0) + 1

    def repeat(ended, each):
        due = time.monotonic()
        while not ended.is_set():
            sign_in()
            due += each
            time.sleep(max(0, due - time.monotonic()))

    def begin(ended, each, number):
        time.sleep(each * number / browsers)
        repeat(ended, each)

    # Some wait for a second.
    browsers = 2 * rate
    for turn in range(2 * turns):
        loaded, ended = turn % 2 == 1, threading.Event()
        each = browsers / rate
        threads = [
            threading.Thread(target=begin, args=(ended, each, number)) for number in range(browsers)
        ]
        for thread in threads if loaded else []:
            thread.start()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            began = time.monotonic()
            venue.client.ask([("/trading/orders", taker, ann)])
            took[loaded].append((time.monotonic() - began) * 1e3)
            time.sleep(0.002)
        ended.set()
        for thread in threads if loaded else []:
            thread.join()
    tail = {}
    for loaded, times in took.items():
        times.sort()
        tail[loaded] = times[len(times) * 99 // 100]
        half = times[len(times) // 2]
        print(f"signing: {loaded=}: p50 {half:.1f} ms, p99 {tail[loaded]:.1f} of {len(times)}")
    tries = sum(came.values()) / (turns * seconds)
    print(f"signing: {tries:.0f} tries/s, by status {came}; p99 {tail[True] / tail[False]:.2f} times")


def ends(venue, users=100, each=10_000):
    crowd = [venue.trader(f"dust {number}", "1.00") for number in range(users)]
    other, cid = venue.market(1), venue.trader("cid")
    taker = order(other, "no", "0.01", "1", timeInForce="IOC")

    def gone():
        answers, reader = [], venue.connect()
        for key in (crowd[0], crowd[-1]):
            reader.request("GET", "/api/v1/trading/balance", headers={"X-API-Key": key})
            answers.append(json.loads(reader.getresponse().read()))
        reader.close()
        return all(float(answer["reserved"]) == 0 for answer in answers)

    def place():
        venue.client.ask([("/trading/orders", taker, cid)])

    for what in ("closed", "expired"):
        market, more, began = venue.market(2), {}, time.monotonic()
        if what == "expired":
            over = time.time() + EXPIRES_AFTER
            text = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(over))
            more = {"expiresAt": text}
        for key in crowd:
            for begin in range(0, each, 100):
                prices = [f"0.0{1 + number % 9}" for number in range(begin, begin + 100)]
                venue.batch(key, [order(market, "yes", p, "0.000001", **more) for p in prices])
        quiet_until = time.monotonic() + 5
        quiet = timed(place, lambda: time.monotonic() > quiet_until)
        if what == "closed":
            began = time.monotonic()
            closing = threading.Thread(
                target=venue.server.operate, args=(f"/markets/{market}/close", {})
            )
            closing.start()
        else:
            time.sleep(max(0, over - time.time()))
            began = time.monotonic()
        beside = timed(place, gone)
        lasted = time.monotonic() - began
        print(
            f"ends: {users * each} orders {what} in {lasted:.1f} s: "
            f"an order before: {quiet}; during: {beside}",
            flush=True,
        )


def names(venue, count=1_000_000):
    market, ann = venue.market(), venue.trader("ann")

    def resident():
        with open(f"/proc/{venue.server.process.pid}/status", encoding="ascii") as status:
            line = next(line for line in status if line.startswith("VmRSS"))
        return int(line.split()[1]) // 1024

    before = resident()

    def send(first):
        client = Client(venue.server.address)
        for begin in range(first, count, 800):
            named = [{"timeInForce": "FOK", "clientOrderId": f"n{begin + n}"} for n in range(100)]
            venue.batch(ann, [order(market, "yes", "0.50", "1", **more) for more in named], client)

    threads = [threading.Thread(target=send, args=(first,)) for first in range(0, 800, 100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"names: {before} MiB before, {resident()} MiB after {count} killed orders", flush=True)


PARTS = {"pages": pages, "kills": kills, "ends": ends, "signing": signing, "names": names}


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
