// What waits for somebody's answer, in a real browser at a venue of its own: money asked for, acts that take two persons,
// a disputed outcome.
//
// OPENOUTCRY_PROGRAM  the binary; the rest as in venue.mjs
import { test } from "node:test";
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lacksForOwn, launched, port, serve, shot, violations } from "./venue.mjs";

const OLGA = "asked-scene-operator-key-0192837465";

/** @param {string} text */
const words = (text) => ({ pt: text, en: text, es: text });

test("what people ask for is answered in the browser: money, acts that take two, a disputed outcome", { skip: lacksForOwn("axe-core") }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "asked"));
  const { server, url } = await serve(await port(), folder, OLGA, ["--two-persons", "10", "--dispute-bond", "5"]);
  t.after(async () => {
    server.kill();
    await once(server, "exit");
    rmSync(folder, { recursive: true });
  });
  /** @param {string} key @param {string} path @param {unknown} [body] */
  const api = async (key, path, body) => {
    const method = body === undefined ? "GET" : "POST";
    const answer = await fetch(`${url}/api/v1${path}`, { method, headers: { "X-API-Key": key, "Content-Type": "application/json" }, body: body && JSON.stringify(body) });
    assert.ok(answer.ok, `${path}: ${answer.status}`);
    return answer.json();
  };
  /** @param {string} name @param {string} role */
  const person = async (name, role) => {
    const { id } = await api(OLGA, "/admin/users", { profileName: name, profilePic: "https://assets.example.org/p.png" });
    const { key } = await api(OLGA, `/admin/users/${id}/keys`, { role, label: "scene" });
    if (role === "trader") await api(OLGA, `/admin/users/${id}/deposits`, { amount: "100" });
    return { id, key };
  };
  const [otto, ann, ben] = [await person("otto", "operator"), await person("ann", "trader"), await person("ben", "trader")];
  const context = async (/** @type {string} */ key) => (await launched()).newContext({ baseURL: url, locale: "en-US", viewport: { width: 1280, height: 900 }, extraHTTPHeaders: { "X-API-Key": key } });
  const [hers, desk] = [await (await context(ann.key)).newPage(), await (await context(OLGA)).newPage()];
  t.after(() => Promise.all([hers.context().close(), desk.context().close()]));

  // Money asked for: set aside at once, gone when the operator says so.
  await hers.goto("/portfolio");
  await hers.getByRole("button", { name: "Withdraw", exact: true }).click();
  await hers.getByLabel("Amount").fill("3");
  await hers.getByRole("dialog").getByRole("button", { name: "Withdraw", exact: true }).click();
  await hers.getByRole("heading", { name: "Money asked for" }).waitFor();
  assert.deepEqual(await violations(hers), []);
  await shot(hers, "portfolio-asked");
  assert.equal((await api(ann.key, "/trading/balance")).reserved, "3.00");

  // What takes two: proposed by Otto, done when Olga confirms it.
  const market = await api(otto.key, "/admin/markets", { questions: words("Will it rain?"), descriptions: words("Rain."), outcomes: [{ id: "yes", text: words("Yes") }, { id: "no", text: words("No") }], logo: "https://assets.example.org/rain.png", deadline: "2099-01-01T00:00:00Z", disputeWindowSeconds: 3600 });
  await api(otto.key, `/admin/markets/${market.id}/publish`, {});
  const order = { marketId: market.id, orderType: "LIMIT", price: "0.50", quantity: "10", outcomeId: "yes" };
  await api(ann.key, "/trading/orders", { ...order, side: "BUY" });
  await api(ben.key, "/trading/orders", { ...order, side: "SELL" });
  for (const winningOutcomeId of ["yes", "no"]) {
    const proposed = await api(otto.key, `/admin/markets/${market.id}/resolve`, { winningOutcomeId });
    assert.ok(proposed.proposal);
  }

  await desk.goto("/admin");
  await desk.getByRole("heading", { name: "Waiting for a second operator" }).waitFor();
  assert.deepEqual(await violations(desk), []);
  await shot(desk, "admin-asked");
  await desk.getByRole("button", { name: "It is paid out" }).click();
  await desk.getByRole("heading", { name: "Money asked for" }).waitFor({ state: "detached" });
  const waiting = desk.getByRole("table", { name: "Waiting for a second operator" }).getByRole("row").filter({ hasText: "Will it rain?" });
  const decided = waiting.filter({ has: desk.getByRole("cell", { name: / No$/ }) });
  await decided.getByRole("button", { name: "Confirm", exact: true }).click();
  await decided.waitFor({ state: "detached" });
  assert.equal(await waiting.getByText("made before the dispute of").count(), 0);
  assert.equal(await desk.getByText("(only proposed)").count(), 2);
  assert.deepEqual((({ reserved, available }) => [reserved, available])(await api(ann.key, "/trading/balance")), ["0.00", "92.00"]);

  // A holder's doubt, against a bond, of which what still waits knew nothing.
  await hers.goto(`/markets/${market.id}`);
  await hers.getByRole("button", { name: "Dispute the result" }).click();
  await hers.getByLabel("Reason").fill("It rained until noon.");
  await shot(hers, "market-doubt");
  await hers.getByRole("dialog").getByRole("button", { name: "Dispute the result" }).click();
  await hers.getByText("The clock is stopped.").waitFor();
  assert.equal((await api(ann.key, "/trading/balance")).reserved, "5.00");
  await desk.goto("/admin");
  await desk.getByText("It rained until noon.").waitFor();
  await waiting.getByText("made before the dispute of").waitFor();
  assert.deepEqual(await violations(desk), []);
  await shot(desk, "admin-disputed");
});
