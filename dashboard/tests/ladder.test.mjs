import { test } from "node:test";
import assert from "node:assert/strict";
import * as l from "../js/ladder.js";

const depth = { bids: [{ price: "0.61", quantity: "380", orders: 4 }, { price: "0.60", quantity: "1240", orders: 7 }], asks: [{ price: "0.63", quantity: "420", orders: 3 }] };

test("a snapshot and its changes give the book, and a change applied twice changes nothing", () => {
  const changes = [{ kind: "levels", data: { levels: [{ side: "bid", price: "0.61", quantity: "0", orders: 0 }, { side: "ask", price: "0.62", quantity: "5", orders: 1 }] } }];
  const once = l.apply(l.fromDepth(depth), changes);
  assert.deepEqual(l.apply(once, changes), once);
  const book = l.book(once);
  assert.deepEqual(book.bids.map((one) => one.price), ["0.60"]);
  assert.deepEqual(book.asks.map((one) => one.price), ["0.62", "0.63"]);
  assert.equal(l.middle(book), 0.61);
});

test("a new snapshot forgets the old levels", () => {
  const next = l.apply(l.fromDepth(depth), [{ kind: "book", data: { levels: [{ side: "bid", price: "0.10", quantity: "1", orders: 1 }] } }]);
  assert.deepEqual([...next.values()].map((one) => one.price), ["0.10"]);
  assert.equal(l.middle(l.book(next)), null);
});

test("each order has its row, whichever way it is written", () => {
  const order = (outcomeId, side, price) => ({ outcomeId, side, price, remainingQuantity: "1.5" });
  const rows = l.ownRows([order("yes", "BUY", "0.61"), order("no", "SELL", "0.39"), order("no", "BUY", "0.34"), order("yes", "SELL", "0.66")]);
  assert.deepEqual([...rows].map(([row, own]) => [row, own.quantity]), [["bid 0.61", "3"], ["ask 0.66", "3"]]);
});

test("what an order would meet", () => {
  const book = l.book(l.fromDepth(depth));
  assert.deepEqual(l.opposite(book, "no", "BUY").map((one) => one.price), ["0.39", "0.40"]);
  assert.deepEqual(l.opposite(book, "yes", "BUY").map((one) => one.price), ["0.63"]);
  assert.deepEqual(l.opposite(book, "yes", "SELL").map((one) => one.price), ["0.61", "0.60"]);
  assert.deepEqual(l.opposite(book, "no", "SELL").map((one) => one.price), ["0.37"]);
  assert.deepEqual(l.heaped(book.bids).map((one) => one.total), ["380.00", "1620.00"]);
});
