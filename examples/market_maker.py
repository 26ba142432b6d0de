"""Quotes both sides of a few markets over the stream; needs the package websockets.

    python3 market_maker.py http://127.0.0.1:8080 KEY fills.jsonl MARKET...

It reads twice, at its start: what it holds (100 positions at most) and its open orders. All else is
told by the stream, from the last record in its file of fills. SIGTERM ends it; it prints what it did.
"""
import asyncio, json, os, signal, sys, urllib.request, uuid, websockets

SIZE, EDGE, INVENTORY = 5, 2, 25  # Contracts a quote, cents from the fair price, most contracts held.
GROUP = "maker"  # Marks its orders, so that other programs of the account keep theirs.
END = {1002, 1003, 1009, 4001, 4002}  # Close codes that another connection would only meet again.

class Maker:
    def __init__(self, url, key, file, markets):
        self.url, self.headers, self.markets = url + "/api/v1", {"X-API-Key": key}, markets
        self.reads, self.useless, self.known = 0, 0, {}
        self.held = dict.fromkeys(markets, 0.0)  # Yes less no.
        self.orders = {market: {} for market in markets}  # Its open order of each side.
        self.figures, self.pending = {}, {}  # A market's last batch, and what is unknown of it.
        positions, begin = self.read("/trading/positions?limit=100")
        for market in markets:
            self.hold(market, [p for p in positions["positions"] if p["marketId"] == market])
        for order in self.read(f"/trading/orders?active=true&group={GROUP}")[0]["orders"]:
            self.keep(order)
        self.file = open(file, "a+b", buffering=0)
        self.file.seek(0)
        whole = self.file.read().rpartition(b"\n")[0]  # A line that a crash tore is told again.
        self.file.truncate(len(whole) + 1 if whole else 0)
        lines = [json.loads(line) for line in whole.splitlines()]
        self.fills = {line["id"] for line in lines if "id" in line}
        if not lines:
            self.write({"sequence": begin + 1})
        # The last record is told once more: not all its fills may have been written.
        self.position = lines[-1]["sequence"] - 1 if lines else begin

    def read(self, path):
        """An answer, and the record at which it was so. Useless is what was known already."""
        request = urllib.request.Request(self.url + path, headers=self.headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            body, sequence = json.load(answer), int(answer.headers["Sequence"])
        self.reads, self.useless = self.reads + 1, self.useless + (self.known.get(path) == body)
        self.known[path] = body
        return body, sequence

    def write(self, line):
        self.file.write(json.dumps(line).encode() + b"\n")
        os.fsync(self.file.fileno())

    def hold(self, market, positions):
        sign = {"yes": 1, "no": -1}
        self.held[market] = sum(sign[p["outcomeId"]] * float(p["quantity"]) for p in positions)

    def keep(self, order):
        market, side = order["marketId"], order["side"]
        if order["group"] == GROUP and market in self.orders:
            if float(order["remainingQuantity"]) > 0:
                self.orders[market][side] = order
            elif self.orders[market].get(side, {}).get("id") == order["id"]:
                del self.orders[market][side]
            if market in self.pending:
                self.pending[market]["unknown"] -= {order["id"], order["clientOrderId"]}

    def wanted(self, market):
        """The operations that make a market's orders those that are wanted now, by order."""
        figures, held, changes = self.figures[market], self.held[market], []
        best = {name: round(float(figures[name] or 0) * 100) for name in ("lastPrice", "bestBid", "bestAsk")}
        fair = (best["lastPrice"] or round(figures["probability"] * 100)) - int(held / SIZE)
        bid = max(1, min(fair - EDGE, best["bestAsk"] - 1, 98))
        ask = min(99, max(fair + EDGE, best["bestBid"] + 1, bid + 1))
        for side, cents, room in (("BUY", bid, INVENTORY - held), ("SELL", ask, INVENTORY + held)):
            old, price, name = self.orders[market].get(side), f"0.{cents:02}", uuid.uuid4().hex
            place = {"marketId": market, "outcomeId": "yes", "side": side, "orderType": "LIMIT", "price": price,
                     "quantity": str(SIZE), "postOnly": True, "group": GROUP, "clientOrderId": name}
            if room < 2 * SIZE:  # Twice, since the old order may fill while the new one is on its way.
                changes += [(old["id"], {"cancel": {"orderId": old["id"]}})] if old else []
            elif not old:
                changes.append((name, {"place": place}))
            elif (old["price"], float(old["remainingQuantity"])) != (price, SIZE):
                at = 0 if side == "SELL" and price > old["price"] else len(changes)  # Out of the bid's way.
                changes.insert(at, (name, {"replace": {"cancel": {"orderId": old["id"]}, "place": place}}))
        return dict(changes)

    async def quote(self, socket, market):
        """Quotes anew, once it is known what became of all that was sent before."""
        last = self.pending.get(market, {"unknown": ()})
        if last["unknown"] or not self.caught_up or market not in self.figures:
            return
        if changes := self.wanted(market):
            say = json.dumps({"op": "batch", "id": market, "body": {"operations": [*changes.values()]}})
            self.pending[market] = {"say": say, "names": [*changes], "unknown": {"answer", *changes}}
            await socket.send(say)

    async def take(self, socket, message):
        kind, data, sequence = message.get("kind"), message.get("data"), message.get("sequence")
        if "status" in message and message["id"] in self.pending:
            batch, body = self.pending[message["id"]], message.get("body", {"results": []})
            # What was executed is known when the account's channel has told it.
            batch["unknown"] &= {n for n, result in zip(batch["names"], body["results"]) if "error" not in result}
        elif any("error" in channel for channel in message.get("channels", [])):
            raise OSError(message["channels"])  # REPLAY_BUSY: in a moment.
        elif message.get("id") == "subscribe":
            self.subscribed = True
        elif kind == "heartbeat" and self.subscribed:  # All up to this record has been told.
            self.position, self.caught_up = sequence, True
            for market in self.markets:
                await self.quote(socket, market)
        elif "channel" in message:
            self.position = max(self.position, sequence - 1)  # More of this record may follow.
            if kind == "fill" and data["id"] not in self.fills:
                self.fills.add(data["id"])
                self.write(data)
            elif kind == "order":
                self.keep(data)
            elif kind == "position":
                self.hold(data["marketId"], data["positions"])
            elif kind == "stats":  # Four times a second at most.
                self.figures[data["marketId"]] = data
                await self.quote(socket, data["marketId"])

    async def listen(self, socket):
        self.subscribed = self.caught_up = False
        channels = ["account", *(f"market:{market}" for market in self.markets)]
        first = [{"op": "authenticate", "id": "authenticate", "cancelOnDisconnect": True},
                 {"op": "subscribe", "id": "subscribe", "channels": channels, "from": self.position}]
        again = [batch["say"] for batch in self.pending.values() if batch["unknown"]]
        for say in [*map(json.dumps, first), *again]:  # The same names again: nothing is done twice.
            await socket.send(say)
        while True:
            await self.take(socket, json.loads(await asyncio.wait_for(socket.recv(), 15)))

    async def run(self):
        stream = self.url.replace("http", "ws", 1) + "/stream"
        while True:
            try:
                async with websockets.connect(stream, additional_headers=self.headers) as socket:
                    await self.listen(socket)
            except (OSError, asyncio.TimeoutError, websockets.WebSocketException) as error:
                if getattr(getattr(error, "rcvd", None), "code", None) in END:
                    raise
                await asyncio.sleep(1)
async def main(url, key, file, *markets):
    maker = Maker(url, key, file, markets)
    running = asyncio.create_task(maker.run())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
    await asyncio.wait([running])
    print(json.dumps({"fills": len(maker.fills), "reads": maker.reads, "uselessReads": maker.useless}))
    return None if running.cancelled() else running.result()
if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
