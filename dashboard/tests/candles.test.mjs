import { test } from "node:test";
import assert from "node:assert/strict";
import * as c from "../js/candles.js";

const bucket = (start, close, volume = "1") => ({ start, open: close, high: close, low: close, close, volume });

test("finer candles are gathered into coarser ones", () => {
  const fine = [bucket(0, 0.5), { ...bucket(300, 0.6), high: 0.7, low: 0.4 }, bucket(600, null, "0"), bucket(900, 0.55)];
  assert.deepEqual(c.gather(fine, 900), [{ start: 0, open: 0.5, high: 0.7, low: 0.4, close: 0.6, volume: "2" }, { start: 900, open: 0.55, high: 0.55, low: 0.55, close: 0.55, volume: "1" }]);
});

test("a trade moves its bucket, and time without trades leaves empty ones", () => {
  const buckets = [bucket(0, 0.5)];
  c.addTrade(buckets, { price: "0.60", quantity: "2", timestamp: new Date(30_000).toISOString() }, 60);
  c.addTrade(buckets, { price: "0.40", quantity: "1.5", timestamp: new Date(125_000).toISOString() }, 60);
  c.addTrade(buckets, { price: "0.99", quantity: "9", timestamp: new Date(1000).toISOString() }, 60);
  assert.deepEqual(buckets.map((one) => [one.start, one.close, one.volume]), [[0, 0.6, "3"], [60, null, "0"], [120, 0.4, "1.5"]]);
});

test("prices hold until the next trade, and a pause is a hole", () => {
  const buckets = [bucket(0, null, "0"), bucket(60, 0.5), bucket(120, null, "0"), bucket(180, null, "0"), bucket(240, 0.6)];
  assert.deepEqual(c.carried(buckets, 60, []), [null, 0.5, 0.5, 0.5, 0.6]);
  assert.deepEqual(c.carried(buckets, 60, [{ from: 120, to: 180 }]), [null, 0.5, null, 0.5, 0.6]);
});

test("pauses come from the activity, newest first", () => {
  const at = (seconds) => new Date(seconds * 1000).toISOString();
  const activities = [{ type: "MARKET_SUSPENDED", createdAt: at(500) }, { type: "TRADE", createdAt: at(450) }, { type: "MARKET_REOPENED", createdAt: at(400) }, { type: "MARKET_SUSPENDED", createdAt: at(300) }];
  assert.deepEqual(c.pauses(activities, 900), [{ from: 500, to: 900 }, { from: 300, to: 400 }]);
});

test("the range holds all values on steps of five points", () => {
  assert.deepEqual(c.range([0.52, 0.63]).map((one) => one.toFixed(2)), ["0.50", "0.65"]);
  assert.deepEqual(c.range([0.01]).map((one) => one.toFixed(2)), ["0.00", "0.10"]);
  assert.deepEqual(c.range([]), [0, 1]);
});
