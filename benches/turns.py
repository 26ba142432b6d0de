#!/usr/bin/env python3
"""How long a worker works for others while one short request waits for it: processor time, so that
it matters little what else the machine does.

    benches/turns.py BINARY [CONNECTIONS [PROBES]]

Beside each load, a depth of another user is asked for, time after time. Shown is what the busiest
worker did from each question to its answer, beside the load and in relation to the same without
load; and the processor time of the server for an answer of the load. What a thread that is running
has done is known only to the system's last tick, some four milliseconds ago: look at the middle.
Linux only. The data directory is made beside the binary.
"""

import glob
import os
import socket
import sys
import tempfile
import threading
import time

from neighbours import Venue, order

ORDERS, WINDOW = 10_000, 16
LOADS = {
    "10,000 orders": ("/trading/orders?active=true", ""),
    "10,000 orders, gzipped": ("/trading/orders?active=true", "Accept-Encoding: gzip\r\n"),
    "1,000 fills, gzipped": ("/trading/fills?limit=1000", "Accept-Encoding: gzip\r\n"),
    "1,000 ended orders, gzipped": (
        "/trading/orders?cursor=&limit=1000", "Accept-Encoding: gzip\r\n",
    ),
    "100 markets, gzipped": ("/markets/public/list?limit=100", "Accept-Encoding: gzip\r\n"),
}


def request(path, key, headers=""):
    line = f"GET /api/v1{path} HTTP/1.1\r\nHost: x\r\nX-API-Key: {key}\r\n{headers}\r\n"
    return line.encode()


class Load:
    """Asks the same over and over, some requests ahead of their answers."""

    def __init__(self, address, asked):
        self.socket = socket.create_connection(address)
        self.asked, self.answers, self.ahead, self.on = asked, 0, threading.Semaphore(WINDOW), True
        self.threads = [threading.Thread(target=part) for part in (self.send, self.read)]
        for thread in self.threads:
            thread.start()

    def send(self):
        try:
            while self.on:
                self.ahead.acquire()
                self.socket.sendall(self.asked)
        except OSError:
            pass

    def read(self):
        mark, rest = b"HTTP/1.1 200", b""
        while read := self.receive():
            rest += read
            for _ in range(rest.count(mark)):
                self.answers += 1
                self.ahead.release()
            rest = rest[-len(mark) + 1 :] if mark not in rest[-len(mark) :] else b""

    def receive(self):
        try:
            return self.socket.recv(1 << 20)
        except ConnectionResetError:
            return b""

    def stop(self):
        self.on = False
        self.socket.shutdown(socket.SHUT_RDWR)
        self.ahead.release()
        for thread in self.threads:
            thread.join()


def worked(pid):
    """Milliseconds of processor time: of each worker, and of all threads."""
    workers, everything = {}, 0.0
    for task in glob.glob(f"/proc/{pid}/task/*"):
        try:
            with open(f"{task}/schedstat", encoding="ascii") as times:
                took = int(times.read().split()[0]) / 1e6
            with open(f"{task}/comm", encoding="ascii") as name:
                name = name.read().strip()
        except OSError:
            continue
        everything += took
        if name.startswith("worker-"):
            workers[task] = took
    return workers, everything


def probes(address, pid, asked, count):
    """What the busiest worker did while each request waited, sorted."""
    probe, rows = socket.create_connection(address), []
    for _ in range(count):
        before, _ = worked(pid)
        probe.sendall(asked)
        probe.recv(1 << 16)
        after, _ = worked(pid)
        rows.append(max(took - before.get(worker, 0) for worker, took in after.items()))
        time.sleep(0.02)
    return sorted(rows)


def fill(venue):
    """Many open and ended orders and fills of one user, the key, and the request of another."""
    markets = [venue.market(number) for number in range(100)]
    heavy, light = venue.trader("heavy"), venue.trader("light")
    for market in markets:
        venue.batch(heavy, [order(market, "yes", "0.50", "1") for _ in range(10)])
        venue.batch(light, [order(market, "no", "0.50", "1") for _ in range(10)])
    for _ in range(ORDERS // 100):
        venue.batch(heavy, [order(market, "yes", "0.02", "0.000001") for market in markets])
    return heavy, request(f"/trading/books/{markets[0]}/depth?outcome=yes", light)


def main(binary, connections="2", count="40"):
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(binary))) as data:
        venue = Venue(binary, data)
        host, port = venue.server.address.split(":")
        address, pid = (host, int(port)), venue.server.process.pid
        try:
            key, asked = fill(venue)
            for name, (path, headers) in LOADS.items():
                quiet = probes(address, pid, asked, int(count))
                loads = [
                    Load(address, request(path, key, headers)) for _ in range(int(connections))
                ]
                time.sleep(0.5)
                (_, began), first = worked(pid), sum(load.answers for load in loads)
                beside = probes(address, pid, asked, int(count))
                (_, ended), last = worked(pid), sum(load.answers for load in loads)
                for load in loads:
                    load.stop()
                middle, tenth = len(beside) // 2, len(beside) * 9 // 10
                ratio = beside[middle] / max(quiet[middle], 0.001)
                each = (ended - began) / max(1, last - first)
                print(
                    f"{name}: a depth waits for {beside[middle]:.2f} ms of work, slowest tenth "
                    f"{beside[tenth]:.2f}, most {beside[-1]:.2f}; {ratio:.1f} times without load "
                    f"({quiet[middle]:.2f}); {last - first} answers, {each:.2f} ms each",
                    flush=True,
                )
        finally:
            venue.server.process.kill()
            venue.server.process.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
