"""A server for the other scripts, and a load for it."""

import http.client
import json
import os
import re
import subprocess
import sys
import tempfile

OPERATOR = "bench-operator-key-bench-operator-key"


class Server:
    """A server of its own."""

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


def market_and_trader(server):
    """An open market, and a trader with money: the id of one, the key of the other."""
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
    return market, key


def load(server, kind, connections, seconds):
    """The load: each connection repeats the same request."""
    market, key = market_and_trader(server)
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
