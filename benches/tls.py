#!/usr/bin/env python3
"""What TLS costs: placements over it and over plain HTTP, handshakes, and crowds at them.

    benches/tls.py BINARY [ROUNDS [SECONDS]]

Two servers of the same binary, one with TLS. In each round 64 kept connections place orders on one
and then on the other, and the ratio is taken within the round; then so many clients shake hands one
after the other as can, from many addresses of loopback, since one address is slowed. Last, 1,000
connections are opened that never shake hands, and the slowest of a hundred placements of another
client is compared with what it was without them, in turn. The clients' part of TLS is computed on
the same machine. Needs wrk, and openssl for a certificate.
"""

import json
import multiprocessing
import os
import re
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time

from server import OPERATOR, Server, market_and_trader

CONNECTIONS, CLIENTS, HALF_OPEN, PLACEMENTS = 64, 2, 1000, 1500


class Secure(Server):
    """A server with TLS; an entrance of operators without, on which it is set up."""

    def __init__(self, binary, data, chain, key):
        os.environ |= {"OPENOUTCRY_TLS_CERT": chain, "OPENOUTCRY_TLS_KEY": key}
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            admin = f"127.0.0.1:{probe.getsockname()[1]}"
        os.environ["OPENOUTCRY_ADMIN_LISTEN"] = admin
        super().__init__(binary, data)
        for name in ("TLS_CERT", "TLS_KEY", "ADMIN_LISTEN"):
            del os.environ[f"OPENOUTCRY_{name}"]
        self.client.close()
        self.client = type(self.client)(admin)


def certificate(folder):
    chain, key = os.path.join(folder, "chain.pem"), os.path.join(folder, "key.pem")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-subj", "/CN=localhost", "-days", "2", "-out", chain, "-keyout", key]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return chain, key


def placement(server):
    """A market and a trader; the bytes of an order that ends at once."""
    market, key = market_and_trader(server)
    order = {"marketId": market, "outcomeId": "yes", "side": "BUY", "orderType": "LIMIT"}
    body = json.dumps(order | {"price": "0.50", "quantity": "1", "timeInForce": "IOC"})
    head = f"POST /api/v1/trading/orders HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return (head + body).encode()


def context():
    trust = ssl.create_default_context()
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    trust.set_alpn_protocols(["http/1.1"])
    return trust


def connect(address, secure, source=None):
    host, port = address.split(":")
    stream = socket.create_connection((host, int(port)), source_address=source)
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return secure.wrap_socket(stream) if secure else stream


def answered(stream, asked):
    stream.sendall(asked)
    answer = stream.recv(1 << 16)
    if not answer.startswith(b"HTTP/1.1 200"):
        sys.exit(answer.decode())
    # Head and body may come apart.
    head, body = answer.split(b"\r\n\r\n", 1)
    left = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]) - len(body)
    while left > 0:
        left -= len(stream.recv(left))


def in_processes(work, *arguments):
    """The sum of what the clients' processes count."""
    with multiprocessing.Pool(CLIENTS) as pool:
        return sum(pool.starmap(work, [(number, *arguments) for number in range(CLIENTS)]))


def worked(server):
    """Microseconds of processor time of a server."""
    with open(f"/proc/{server.process.pid}/stat", encoding="ascii") as stat:
        user, system = stat.read().rsplit(") ")[1].split()[11:13]
    return (int(user) + int(system)) * 1e6 / os.sysconf("SC_CLK_TCK")


def place(server, is_secure, request, seconds):
    """Orders a second over the kept connections, each of which waits for its answer, and the
    server's processor time for an order."""
    head, body = request.decode().split("\r\n\r\n")
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(f"wrk.method, wrk.body = 'POST', [[{body}]]\n")
        for line in head.split("\r\n")[2:4]:
            name, value = line.split(": ")
            script.write(f'wrk.headers["{name}"] = "{value}"\n')
        script.flush()
        command = ["wrk", "-t1", "-c", str(CONNECTIONS), "-d", f"{seconds}s", "-s", script.name]
        command.append(f"http{'s' * is_secure}://{server.address}/api/v1/trading/orders")
        before = worked(server)
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    if "Non-2xx" in told or "Socket errors" in told:
        sys.exit(told)
    count = int(re.search(r"(\d+) requests in", told)[1])
    took = (worked(server) - before) / count
    return float(re.search(r"Requests/sec:\s+([\d.]+)", told)[1]), took


def shake(number, address, seconds):
    """Handshakes a second, each from another address of loopback."""
    secure, count, began = context(), 0, time.monotonic()
    while time.monotonic() < began + seconds:
        source = f"127.{number + 1}.{count // 200 % 250}.{count % 200 + 1}"
        connect(address, secure, (source, 0)).close()
        count += 1
    return count / (time.monotonic() - began)


def slowest(address, asked):
    """Milliseconds within which 99 of 100 placements of one client are answered."""
    # From another address than the crowd's, whose handshakes wait for each other.
    stream, times = connect(address, context(), ("127.9.9.9", 0)), []
    for _ in range(PLACEMENTS):
        began = time.monotonic()
        answered(stream, asked)
        times.append((time.monotonic() - began) * 1000)
    stream.close()
    return statistics.quantiles(times, n=100)[98]


def middle(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def main(binary, rounds="5", seconds="4"):
    rounds, seconds = int(rounds), int(seconds)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(binary))) as folder:
        plain = Server(binary, os.path.join(folder, "plain"))
        secure = Secure(binary, os.path.join(folder, "secure"), *certificate(folder))
        try:
            asks = [(plain, False, placement(plain)), (secure, True, placement(secure))]
            ratios, costs, rates = [], [], []
            for turn in range(rounds):
                # Each is first in every other round.
                order = asks if turn % 2 == 0 else asks[::-1]
                rate = {
                    over: place(server, over, asked, seconds)
                    for server, over, asked in order
                }
                ratios.append(rate[True][0] / rate[False][0])
                costs.append(rate[True][1] / rate[False][1])
                rates.append(rate)
            shown = [f"{rate[True][0]:,.0f} to {rate[False][0]:,.0f}" for rate in rates]
            print(f"placements by TLS to plain: {middle(ratios)}; a second {', '.join(shown)}")
            shown = [f"{rate[True][1]:.0f} to {rate[False][1]:.0f}" for rate in rates]
            print(f"the server's processor time: {middle(costs)}; us {', '.join(shown)}")
            shaken = [in_processes(shake, secure.address, seconds) for _ in range(rounds)]
            print(f"handshakes a second: {middle(shaken)}")
            ratios = []
            for _ in range(rounds):
                quiet = slowest(secure.address, asks[1][2])
                crowd = [connect(secure.address, None) for _ in range(HALF_OPEN)]
                for stream in crowd:
                    # The beginning of a handshake, of which no more comes.
                    stream.sendall(b"\x16\x03\x01\x02\x00")
                ratios.append(slowest(secure.address, asks[1][2]) / quiet)
                for stream in crowd:
                    stream.close()
            print(f"p99 of a placement beside {HALF_OPEN} half-open handshakes: {middle(ratios)}")
        finally:
            for server in (plain, secure):
                server.process.kill()
                server.process.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
