import { test } from "node:test";
import assert from "node:assert/strict";
import { addressOf, operations, withKnown } from "../js/describe.js";

const document = {
  tags: [{ name: "First" }, { name: "Second" }],
  paths: {
    "/api/v1/late": { get: { operationId: "late", tags: ["Second"], summary: "Late", security: [], responses: { 200: {} } } },
    "/api/v1/orders/{orderId}": {
      patch: {
        operationId: "amend",
        tags: ["First"],
        summary: "Amend",
        security: [{ traderKey: [] }],
        parameters: [
          { name: "orderId", in: "path", required: true, description: "Its id.", schema: { $ref: "#/components/schemas/Uuid" }, example: "old" },
          { name: "dryRun", in: "query", schema: { type: "boolean" } },
          { $ref: "#/components/parameters/If-Match" },
        ],
        requestBody: { content: { "application/json": { schema: { $ref: "#/components/schemas/Sent" }, example: { price: "0.5", marketIds: ["x", "y"] } } } },
        responses: { 200: { content: { "application/json": { example: { id: 1 } } } }, 404: { description: "- `ORDER_NOT_FOUND`: No such order.\n- `NOT_FOUND`: No such path." } },
      },
    },
  },
  components: { schemas: { Uuid: { type: "string" }, Sent: { required: ["price"], properties: { price: { anyOf: [{ $ref: "#/components/schemas/Uuid" }, { type: "null" }], description: "The price." }, side: { enum: ["BUY", "SELL"] } } } } },
};

test("an operation is what the description says of it, in the order of its tags", () => {
  const [amend, late] = operations(document);
  assert.deepEqual([amend.id, amend.method, amend.role, late.role], ["amend", "PATCH", "trader", ""]);
  assert.deepEqual(amend.parameters.map((one) => [one.place, one.name, one.needed, one.example, one.choices]), [["path", "orderId", true, "old", []], ["query", "dryRun", false, "", ["true", "false"]]]);
  assert.deepEqual(amend.parts.map((one) => [one.name, one.kind, one.needed]), [["price", "Uuid", true], ["side", "BUY | SELL", false]]);
  assert.deepEqual(amend.refusals, [{ status: "404", code: "ORDER_NOT_FOUND", meaning: "No such order." }, { status: "404", code: "NOT_FOUND", meaning: "No such path." }]);
  assert.equal(addressOf(amend, { orderId: "a/b", dryRun: "true" }), "/api/v1/orders/a%2Fb?dryRun=true");
  assert.equal(addressOf(amend, { orderId: "a", dryRun: "" }), "/api/v1/orders/a");
});

test("ids of examples give way to those that exist", () => {
  assert.deepEqual(withKnown({ marketId: "old", price: "1", in: [{ orderId: "old" }], marketIds: ["a", "b"] }, { marketId: "m", orderId: "o" }), { marketId: "m", price: "1", in: [{ orderId: "o" }], marketIds: ["m"] });
});
