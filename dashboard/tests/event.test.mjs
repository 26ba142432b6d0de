import { test } from "node:test";
import assert from "node:assert/strict";
globalThis.localStorage ??= /** @type {any} */ ({ getItem: () => null, setItem() {} });
globalThis.location ??= /** @type {any} */ ({ origin: "http://localhost", pathname: "/", search: "", hash: "" });
globalThis.window ??= /** @type {any} */ (globalThis);
globalThis.document ??= /** @type {any} */ ({ documentElement: {}, createElement: () => ({ style: {} }) });
const { shortNames } = await import("../js/pages/event.js");

test("what all questions of an event say is left off, unless too little is shared", () => {
  assert.deepEqual(shortNames(["Will Brazil win the 2030 World Cup?", "Will Spain win the 2030 World Cup?"]), ["Brazil", "Spain"]);
  assert.deepEqual(shortNames(["Will it rain?", "Does it snow?"]), ["Will it rain?", "Does it snow?"]);
  assert.deepEqual(shortNames(["Will A win it all?", "Will A win it all?"]).every((one) => one.length > 0), true);
});
