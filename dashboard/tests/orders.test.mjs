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
  assert.ok(left > 9_000 && left < 14_000, `${left}`);
  assert.equal(sent[1].marketId, "m");
});
