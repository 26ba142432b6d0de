#!/usr/bin/env python3
"""The gain of pinning each worker thread to a core of its own: the workers of one server under load
are pinned and unpinned in turn, for 0.4 s each, and the answers are compared pair by pair. On a
shared machine the speed changes from second to second, which spoils any other comparison.

    benches/cores.py BINARY [place|batch|depth|markets [CONNECTIONS [SECONDS]]]

Linux only; needs wrk. The data directory is made beside the binary, since a memory file system
would make commits free.
"""

import http.client
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

OPERATOR = "bench-operator-key-bench-operator-key"
TURN = 0.4
# Not measured at the start of a turn: the scheduler is still moving threads.
SETTLING = 0.05


class Server:
    """A server whose workers can be pinned to cores from outside."""

    def __init__(self, binary, data, reads="1000000"):
        command = [binary, "serve", "--listen", "127.0.0.1:0", "--data", data]
        command += ["--rate-reads", reads, "--rate-writes", "1000000"]
        env = {**os.environ, "OPENOUTCRY_OPERATOR_KEY": OPERATOR, "OPENOUTCRY_LOG": "warn"}
        # Not an argument, which an older binary to compare with would refuse.
        env["OPENOUTCRY_DAILY_RECORDS"] = "0"
        env["OPENOUTCRY_INIT"] = "true"
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)
        said = iter(self.process.stdout.readline, "")
        listens = next(line for line in said if line.startswith("listening on "))
        self.address = listens.split("//")[1].strip()
        self.client = http.client.HTTPConnection(self.address)

    def ask(self, method, path, body=None):
        headers = {"X-API-Key": OPERATOR, "Content-Type": "application/json"}
        self.client.request(method, path, body and json.dumps(body), headers)
        answer = self.client.getresponse()
        text = answer.read().decode()
        if answer.status >= 300:
            sys.exit(f"{method} {path}: {text}")
        return text

    def operate(self, path, body):
        return json.loads(self.ask("POST", f"/api/v1/admin{path}", body))

    def answered(self):
        page = self.ask("GET", "/metrics")
        counts = re.findall(r"^openoutcry_http_answers_total\{.*\} (\d+)", page, re.M)
        return sum(map(int, counts))

    def hold(self, held):
        """Pins each worker to a core, or unpins all."""
        cores = sorted(os.sched_getaffinity(0))
        tasks = f"/proc/{self.process.pid}/task"
        for task in os.listdir(tasks):
            try:
                with open(f"{tasks}/{task}/comm", encoding="ascii") as name:
                    worker = re.fullmatch(r"worker-(\d+)\n", name.read())
            except (FileNotFoundError, ProcessLookupError):
                # Other threads may have ended meanwhile.
                continue
            if worker:
                own = {cores[int(worker[1]) % len(cores)]}
                os.sched_setaffinity(int(task), own if held else set(cores))


def load(server, kind, connections, seconds):
    """The load: each connection repeats the same request."""
    texts = {"pt": "a", "en": "b", "es": "c"}
    outcomes = [{"id": outcome, "text": texts} for outcome in ("yes", "no")]
    market = {"questions": texts, "descriptions": texts, "outcomes": outcomes}
    market |= {"logo": "https://example.org/x.png", "deadline": "2999-01-01T00:00:00Z"}
    market = server.operate("/markets", market)["id"]
    server.operate(f"/markets/{market}/publish", {})
    person = {"profileName": "ann", "profilePic": "https://example.org/x.png"}
    user = server.operate("/users", person)["id"]
    server.operate(f"/users/{user}/deposits", {"amount": "1000000.00"})
    key = server.operate(f"/users/{user}/keys", {"role": "trader", "label": "load"})["key"]
    # Nothing rests, so that every request costs the same.
    order = {"marketId": market, "outcomeId": "yes", "side": "BUY", "orderType": "LIMIT"}
    order |= {"price": "0.50", "quantity": "1", "timeInForce": "IOC"}
    path, body = {
        "place": ("/trading/orders", order),
        "batch": ("/trading/orders/batch", {"operations": [{"place": order}] * 100}),
        "depth": (f"/trading/books/{market}/depth?outcome=yes&levels=20", None),
        "markets": ("/markets/public/list", None),
    }[kind]
    script = tempfile.NamedTemporaryFile("w", suffix=".lua")
    script.write(f'wrk.headers["X-API-Key"] = "{key}"\n')
    if body:
        script.write(f"wrk.method, wrk.body = 'POST', [[{json.dumps(body)}]]\n")
        script.write('wrk.headers["Content-Type"] = "application/json"\n')
    script.flush()
    command = ["wrk", "-t1", "-c", str(connections), "-d", f"{seconds}s", "-s", script.name]
    command.append(f"http://{server.address}/api/v1{path}")
    return subprocess.Popen(command, stdout=subprocess.DEVNULL), script


def compared(server, seconds):
    """Answers a second, turn by turn, of unpinned and of pinned workers."""
    rates = {False: [], True: []}
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for held in random.sample([False, True], 2):
            server.hold(held)
            time.sleep(SETTLING)
            before, began = server.answered(), time.monotonic()
            time.sleep(TURN)
            count = server.answered() - before
            rates[held].append(count / (time.monotonic() - began))
    return rates


def main(binary, kind="place", connections="64", seconds="60"):
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(binary))) as data:
        server = Server(binary, data)
        driving = None
        try:
            driving, _script = load(server, kind, connections, 3 * int(seconds))
            time.sleep(2)
            rates = compared(server, int(seconds))
            if driving.poll() is not None:
                sys.exit("the load ended early")
        finally:
            for process in filter(None, (driving, server.process)):
                process.kill()
                process.wait()
    ratios = [held / free for free, held in zip(rates[False], rates[True])]
    error = statistics.stdev(ratios) / len(ratios) ** 0.5
    for held, name in ((False, "free"), (True, "held")):
        print(f"{name} {statistics.median(rates[held]):9.0f} answers/s, the middle")
    middle, mean = statistics.median(ratios), statistics.mean(ratios)
    print(f"held to free {middle:.3f} in the middle, {mean:.3f} +- {error:.3f}, {len(ratios)} pairs")


if __name__ == "__main__":
    main(*sys.argv[1:])
