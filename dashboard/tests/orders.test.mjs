// An order that the reader is told has not arrived must not trade later.
import test from "node:test";
import assert from "node:assert/strict";
import { placeOrder } from "../js/orders.js";
import { get } from "../js/api.js";

test("an order ends soon after it was sent, by the venue's clock", async () => {
  const there = Date.now() + 3_600_000;
  /** @type {any[]} */
  const sent = [];
  globalThis.fetch = async (_, { body }) => {
    sent.push(body && JSON.parse(body));
    return new Response("{}", { headers: { Date: new Date(there).toUTCString() } });
  };
  await get("/venue");
  await placeOrder({ marketId: "m" });
  const left = Date.parse(sent[1].validUntil) - there;
  assert.ok(left > 7_000 && left < 12_000, `${left}`);
  assert.equal(sent[1].marketId, "m");
});

test("it is given up only when the venue would refuse it", async () => {
  // A clock that goes on by what is waited for.
  let now = Date.now();
  const [clock, timer] = [Date.now, globalThis.setTimeout];
  Date.now = () => now;
  globalThis.setTimeout = /** @type {any} */ ((/** @type {() => void} */ act, /** @type {number} */ time) => {
    now += time;
    queueMicrotask(act);
  });
  let until = 0;
  globalThis.fetch = async (_, { method, body }) => {
    if (method !== "POST") return new Response(JSON.stringify({ code: "ORDER_NOT_FOUND" }), { status: 404 });
    until = Date.parse(JSON.parse(body).validUntil);
    throw new TypeError("reset");
  };
  try {
    assert.deepEqual(await placeOrder({ marketId: "m" }), { absent: true });
    // By the clock of the test before, the venue is an hour ahead.
    assert.ok(now + 3_600_000 > until, `${now} ${until}`);
  } finally {
    Date.now = clock;
    globalThis.setTimeout = timer;
  }
});
