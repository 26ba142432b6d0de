#!/usr/bin/env python3
"""The time of a start after a kill under load: batches from 16 connections, then `kill -9`, then
two starts, each killed again. `cargo bench --bench start` measures a start just after a snapshot;
here as many commands follow the last snapshot as the snapshot interval allowed.

    benches/killed.py BINARY [ioc|rest|dense] [SECONDS]

`ioc`: orders that end at once, of one user. `rest`: bets on either side of 20 markets by 16 users,
which match each other or rest. `dense`: the same of 1,000 users in 100 markets and of up to five
contracts each, so that most match several. Linux only; needs wrk.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time

from server import Server, load

TEXTS = {"pt": "a", "en": "b", "es": "c"}
PICTURE = "https://example.org/x.png"
# Markets, users, and the maximum contracts of a bet.
VENUES = {"rest": (20, 16, 1), "dense": (100, 1_000, 5)}

# A request of 100 bets, each on its own market and side, around the middle.
SCRIPT = """
function request()
  local places = {}
  for i = 1, 100 do
    places[i] = string.format('{"place":{"marketId":"%%s","outcomeId":"%%s","side":"BUY",' ..
      '"orderType":"LIMIT","price":"0.%%d","quantity":"%%d"}}', markets[math.random(#markets)],
      math.random(2) == 1 and "yes" or "no", 48 + math.random(4), math.random(most))
  end
  return wrk.format("POST", "/api/v1/trading/orders/batch",
    {["X-API-Key"] = keys[math.random(#keys)], ["Content-Type"] = "application/json"},
    '{"operations":[' .. table.concat(places, ",") .. ']}')
end
keys, markets, most = {%s}, {%s}, %d
"""


def betting(server, kind, seconds):
    """The load of bets that rest or match."""
    count, users, most = VENUES[kind]
    keys, markets = [], []
    outcomes = [{"id": outcome, "text": TEXTS} for outcome in ("yes", "no")]
    market = {"questions": TEXTS, "descriptions": TEXTS, "outcomes": outcomes}
    market |= {"logo": PICTURE, "deadline": "2999-01-01T00:00:00Z"}
    for _ in range(count):
        markets.append(server.operate("/markets", market)["id"])
        server.operate(f"/markets/{markets[-1]}/publish", {})
    for number in range(users):
        person = {"profileName": f"user {number}", "profilePic": PICTURE}
        user = server.operate("/users", person)["id"]
        server.operate(f"/users/{user}/deposits", {"amount": "10000000.00"})
        key = server.operate(f"/users/{user}/keys", {"role": "trader", "label": "load"})["key"]
        keys.append(key)
    script = tempfile.NamedTemporaryFile("w", suffix=".lua")
    lists = (", ".join(map(json.dumps, texts)) for texts in (keys, markets))
    script.write(SCRIPT % (*lists, most))
    script.flush()
    command = ["wrk", "-t1", "-c16", f"-d{seconds}s", "-s", script.name]
    command.append(f"http://{server.address}")
    return subprocess.Popen(command, stdout=subprocess.DEVNULL), script


def metrics(server):
    """The server's metrics, by name."""
    page = server.ask("GET", "/metrics")
    return dict(re.findall(r"^openoutcry_(\w+) (\d+)", page, re.M))


def main(binary, kind="ioc", seconds="40"):
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(binary))) as data:
        server = Server(binary, data)
        driving = None
        try:
            lasts = 3 * int(seconds)
            one = kind == "ioc"
            driving, _script = load(server, "batch", 16, lasts) if one else betting(server, kind, lasts)
            time.sleep(int(seconds))
            # The server closes a connection that is idle for a minute.
            server.client.close()
            figures = metrics(server)
            if driving.poll() is not None:
                sys.exit("the load ended early")
            server.process.kill()
            server.process.wait()
            applied, snapshot = (int(figures[f"{name}_sequence"]) for name in ("applied", "snapshot"))
            print(f"{applied:,} commands, the last snapshot at {snapshot:,}, killed a moment later")
            for _ in range(2):
                began = time.monotonic()
                server = Server(binary, data)
                took = time.monotonic() - began
                print(f"start {took:.2f} s, {int(metrics(server)['applied_sequence']):,} commands")
                server.process.kill()
                server.process.wait()
        finally:
            for process in filter(None, (driving, server.process)):
                process.kill()
                process.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
