#!/usr/bin/env python3
"""Replays recorded flow on a fresh venue, kills the server with SIGKILL, restarts it, and compares
every order, fill, position, balance and book that clients can read, byte for byte.

    tests/play_and_kill.py BINARY FLOW_DIR SET [SET...]

FLOW_DIR holds SET.flow.jsonl.gz with SET.fills, SET.books and, optionally, SET.positions beside it. Standard library only. Exit code 1 on any difference.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import urllib.request

OPERATOR = "play-and-kill-operator-key-0123456789"


class Server:
    def __init__(self, binary, data):
        command = [binary, "serve", "--data", data, "--listen", "127.0.0.1:0"]
        command += ["--rate-reads", "0", "--rate-writes", "0", "--rate-cancels", "0"]
        env = {**os.environ, "OPENOUTCRY_OPERATOR_KEY": OPERATOR, "OPENOUTCRY_LOG": "warn",
               "OPENOUTCRY_INIT": "true"}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)
        for line in self.process.stdout:
            if line.startswith("listening on "):
                self.url = line.split()[-1]
                return
        sys.exit("the server did not start")

    def ask(self, path, key=OPERATOR, body=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"X-API-Key": key, "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/api/v1{path}", data, headers)
        with urllib.request.urlopen(request) as answer:
            return answer.read()


def pages(server, path, member, key=OPERATOR, limit=1000):
    rows, total = [], None
    while total is None or len(rows) < total:
        page = json.loads(server.ask(f"{path}limit={limit}&offset={len(rows)}", key))
        rows, total = rows + page[member], page["total"]
    return rows


def everything(server, keys, markets):
    seen = {}
    for user, key in keys.items():
        for path in ("/trading/orders", "/trading/balance"):
            seen[user, path] = server.ask(path, key)
        seen[user, "positions"] = pages(server, "/trading/positions?", "positions", key, 100)
        seen[user, "fills"] = pages(server, "/trading/fills?", "fills", key)
    for market in markets:
        for outcome in ("yes", "no"):
            depth = server.ask(f"/trading/books/{market}/depth?outcome={outcome}&levels=50")
            seen[market, outcome] = {**json.loads(depth), "timestamp": None}
        seen[market, "activity"] = pages(server, f"/markets/{market}/activity?", "activities")
    return seen


def play(binary, server, folder, name):
    command = [pathlib.Path(binary).with_name("play"), folder / f"{name}.flow.jsonl.gz", "--url", server.url]
    for flag, what in (("--check", "fills"), ("--books", "books"), ("--positions", "positions")):
        path = folder / f"{name}.{what}.jsonl.gz"
        if path.exists():
            command += [flag, path]
    env = {**os.environ, "OPENOUTCRY_OPERATOR_KEY": OPERATOR}
    return subprocess.run(command, env=env).returncode


def main(binary, folder, *names):
    different = 0
    for name in names:
        with tempfile.TemporaryDirectory() as data:
            server = Server(binary, data)
            different += play(binary, server, pathlib.Path(folder), name) != 0
            users = [user["id"] for user in pages(server, "/admin/users?", "users")]
            label = {"role": "trader", "label": "comparison"}
            mint = lambda user: server.ask(f"/admin/users/{user}/keys", body=label)
            keys = {user: json.loads(mint(user))["key"] for user in users}
            markets = [market["id"] for market in pages(server, "/admin/markets?", "markets")]
            before = everything(server, keys, markets)
            server.process.send_signal(signal.SIGKILL)
            server.process.wait()
            server = Server(binary, data)
            after = everything(server, keys, markets)
            changed = [what for what in before if before[what] != after[what]]
            server.process.terminate()
            different += len(changed) + (server.process.wait() != 0)
            print(f"{name}: {len(before)} reads of {len(users)} users and {len(markets)} markets,"
                  f" {len(changed)} different after kill -9 and restart {changed[:5]}")
    return 1 if different else 0


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
