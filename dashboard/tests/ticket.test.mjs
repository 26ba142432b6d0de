import { test } from "node:test";
import assert from "node:assert/strict";
Object.assign(globalThis, { localStorage: { getItem: () => null, setItem() {} }, location: { href: "http://venue.invalid/", pathname: "/" }, window: globalThis, addEventListener() {} });
globalThis.document ??= /** @type {any} */ ({ documentElement: {}, createElement: () => ({ style: {} }) });
const { meant, outcomeOf } = await import("../js/ticket.js");

const market = { id: "m", takerFee: "0.0000", outcomes: [] };
const book = { bids: [{ side: "bid", price: "0.61", quantity: "380", orders: 4 }], asks: [{ side: "ask", price: "0.63", quantity: "420", orders: 3 }, { side: "ask", price: "0.64", quantity: "1150", orders: 6 }] };
const form = (change) => ({ side: "BUY", outcome: "yes", how: "limit", unit: "contracts", amount: "600", price: "0.63", keep: "gtc", until: "", postOnly: false, ...change });

test("the form becomes an order of the interface", () => {
  assert.deepEqual(meant(form({}), market, book).order, { marketId: "m", outcomeId: "yes", side: "BUY", orderType: "LIMIT", price: "0.63", quantity: "600", timeInForce: "GTC" });
  assert.deepEqual(meant(form({ keep: "fok", price: ".5" }), market, book).order.timeInForce, "FOK");
  assert.equal(meant(form({ postOnly: true }), market, book).order.postOnly, true);
  // Money up to a worst price takes what is offered on the way, never more.
  const now = meant(form({ how: "now", unit: "money", amount: "500", price: "0.64" }), market, book).order;
  assert.deepEqual([now.timeInForce, now.quantity], ["IOC", "787.81"]);
});

test("what is wrong is said by field", () => {
  assert.deepEqual(Object.keys(meant(form({ price: "1.20" }), market, book).wrong), ["price"]);
  assert.deepEqual(Object.keys(meant(form({ amount: "x" }), market, book).wrong), ["amount"]);
  assert.deepEqual(Object.keys(meant(form({ keep: "until", until: "2001-01-01T00:00" }), market, book).wrong), ["until"]);
  assert.deepEqual(Object.keys(meant(form({ how: "now", unit: "money", amount: "5", price: "0.10" }), market, book).wrong), ["amount"]);
  assert.equal(meant(form({ amount: "" }), market, book).order, null);
});

const answer = (change) => ({ trades: [{ price: "0.63", quantity: "420" }], filledQuantity: "420", filledCost: "264.60", remainingQuantity: "180", cancelledQuantity: "0", balance: { available: "622.00" }, ...change });

test("a preview adds up: fills, fee and rest are what leaves", () => {
  const { order } = meant(form({}), market, book);
  const found = outcomeOf({ form: order, order: answer({}), at: 0, before: "1000.00" }, market, book);
  assert.deepEqual([found.resting, found.leaves, found.backing, found.right, found.wrong], ["113.40", "378.00", "0.00", "222.00", "-378.00"]);
  const feed = outcomeOf({ form: order, order: answer({ balance: { available: "619.00" } }), at: 0, before: "1000.00" }, { ...market, takerFee: "0.0100" }, book);
  assert.equal(feed.fee, "0.97902");
  assert.equal(feed.backing, "2.02098", "what is held for the fee of the rest stands on a line of its own");
});

test("contracts of the other outcome become money, and a sale without contracts is backed", () => {
  const { order } = meant(form({ amount: "10" }), market, book);
  const merged = outcomeOf({ form: order, order: answer({ trades: [{ price: "0.63", quantity: "10" }], filledQuantity: "10", filledCost: "6.30", remainingQuantity: "0", balance: { available: "1003.70" } }), at: 0, before: "1000.00" }, market, book);
  assert.deepEqual([merged.leaves, merged.backing], ["-3.70", "-10.00"]);
  const sale = meant(form({ side: "SELL", amount: "10", price: "0.61" }), market, book).order;
  const sold = outcomeOf({ form: sale, order: answer({ trades: [{ price: "0.61", quantity: "10" }], filledQuantity: "10", filledCost: "6.10", remainingQuantity: "0", balance: { available: "996.10" } }), at: 0, before: "1000.00" }, market, book);
  assert.deepEqual([sold.leaves, sold.backing, sold.right, sold.wrong], ["3.90", "10.00", "-3.90", "6.10"]);
});
