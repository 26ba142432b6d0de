// What people do in the dashboard, in a real browser against a real demo venue. Run: node --test tests/dashboard/
import { test } from "node:test";
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import { api, busyMarket, missing, shot, URL_BASE, violations, visit } from "./venue.mjs";

const skip = (await missing()) ?? false;
const sessions = skip === false && (await fetch(`${URL_BASE}/api/v1/venue`)).ok ? false : "the venue has no sessions yet";

/** @param {any} page */
const ticket = (page) => page.locator("#ticket");

test("a trader sees what an order would do, sends it once, finds it in the portfolio and cancels the rest", { skip }, async () => {
  const market = await busyMarket();
  const depth = await api("ana", `/trading/books/${market.id}/depth?outcome=yes&levels=1`);
  const { context, page, faults } = await visit({ who: "ana" });
  await page.goto(`/markets/${market.id}?buy=yes`);
  await ticket(page).getByLabel("Contracts", { exact: true }).fill("3");
  await ticket(page).locator(".preview").getByText("fill at once").waitFor();
  assert.match(await ticket(page).locator(".preview").innerText(), /(Leaves|Comes to) your available/);
  const before = (await api("ana", "/trading/orders")).orders.length;
  await ticket(page).getByRole("button", { name: /^Buy 3 / }).click();
  await page.getByRole("status").getByText("Filled 3").waitFor();
  assert.equal((await api("ana", "/trading/orders")).orders.length, before + 1);
  // A price that joins the queue, from a click in the ladder.
  const row = page.locator(".pbtn.y").and(page.getByRole("button", { name: new RegExp(`^Offer to buy .* at ${depth.bestBid}$`) }));
  await row.click();
  await ticket(page).getByLabel("Contracts", { exact: true }).fill("2");
  await ticket(page).locator(".preview").getByText("behind").waitFor();
  await ticket(page).getByRole("button", { name: /^Buy 2 / }).click();
  await page.getByRole("button", { name: /^Your order: / }).first().waitFor();
  await page.goto("/portfolio");
  await page.getByRole("heading", { name: "Portfolio" }).waitFor();
  const rows = page.getByRole("row", { name: new RegExp(market.questions.en.slice(0, 30).replace(/[?]/g, ".")) });
  await rows.first().waitFor();
  await rows.getByRole("button", { name: "Cancel" }).first().click();
  await page.getByRole("status").getByText("contracts cancelled").waitFor();
  assert.deepEqual(faults, []);
  await context.close();
});

test("an order that cannot be paid says so beside the field, with the way out", { skip }, async () => {
  const market = await busyMarket();
  const { context, page } = await visit({ who: "ana" });
  await page.goto(`/markets/${market.id}?buy=yes`);
  await ticket(page).getByLabel("Contracts", { exact: true }).fill("99000000");
  await ticket(page).getByText(/At this price you can buy up to/).waitFor();
  await ticket(page).getByLabel("Price", { exact: true }).fill("1.20");
  await ticket(page).getByText(/A price is between 0.01 and 0.99/).waitFor();
  await context.close();
});

test("two browsers see each other's trades without a reload", { skip }, async () => {
  const market = await busyMarket();
  const [a, b] = [await visit({ who: "ana" }), await visit({ who: "ben" })];
  for (const { page } of [a, b]) {
    await page.goto(`/markets/${market.id}?buy=yes`);
    await ticket(page).waitFor();
  }
  const quantity = String(7 + Math.floor(Math.random() * 90) / 100);
  await ticket(a.page).getByLabel("Contracts", { exact: true }).fill(quantity);
  await ticket(a.page).locator(".preview").getByText("fill at once").waitFor();
  await ticket(a.page).getByRole("button", { name: new RegExp(`^Buy ${quantity} `) }).click();
  await b.page.getByRole("cell", { name: quantity, exact: true }).first().waitFor({ timeout: 15_000 });
  await a.context.close();
  await b.context.close();
});

test("an operator leads a question from a draft over a dispute to its settlement, and its markup is text", { skip }, async () => {
  const { context, page, faults } = await visit({ who: "olga" });
  const name = `Will <b>this</b> <img src=x onerror=document.title='hit'> be text, ${Date.now()}?`;
  await page.goto("/admin/catalogue?market=new");
  for (const language of ["English", "Português", "Español"]) {
    const column = page.locator(".lang-cols > div").filter({ hasText: language });
    await column.getByLabel("Question").fill(name);
    await column.getByLabel("Rules").fill("As it says.");
  }
  await page.getByLabel("Trading closes").fill("2040-01-01T12:00");
  // A window that a scene can wait for.
  await page.getByLabel("Dispute window").evaluate((/** @type {HTMLSelectElement} */ one) => one.add(new Option("30 s", "30")));
  await page.getByLabel("Dispute window").selectOption("30");
  await page.getByRole("button", { name: "Save draft" }).click();
  await page.getByRole("button", { name: "Publish" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Publish" }).click();
  await page.getByRole("button", { name: "Close", exact: true }).and(page.locator(".danger-line")).waitFor();
  const id = new URL(page.url()).searchParams.get("market");
  for (const [who, outcomeId] of /** @type {const} */ ([["ana", "yes"], ["ben", "no"]]))
    await api(who, "/trading/orders", { marketId: id, outcomeId, side: "BUY", orderType: "LIMIT", price: "0.50", quantity: "4" });
  await api("ana", "/trading/orders", { marketId: id, outcomeId: "yes", side: "BUY", orderType: "LIMIT", price: "0.10", quantity: "1" });
  await page.getByRole("button", { name: "Close", exact: true }).and(page.locator(".danger-line")).click();
  await page.getByRole("dialog").getByText("2 people are concerned, 2 of them holding contracts.").waitFor();
  await page.getByRole("dialog").getByText("1 open order stands in the book.").waitFor();
  await page.getByRole("dialog").getByLabel(/Type close/).fill("close");
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "Announce a result" }).click();
  await page.getByRole("dialog").getByLabel(/Type result/).fill("result");
  await page.getByRole("dialog").getByRole("button", { name: "Announce a result" }).click();
  await page.getByRole("button", { name: "Dispute the result" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Dispute the result" }).click();
  await page.getByRole("button", { name: "Void" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Price that Yes pays").fill("0.25");
  await dialog.getByText("Holders of Yes receive $1.00 and holders of No $3.00; their contracts cost $4.00.").waitFor();
  await dialog.getByRole("button", { name: "Leave" }).click();
  // The second result ends the dispute, and its own window ends by itself.
  await page.getByRole("button", { name: "Announce a result" }).click();
  await dialog.getByText("No", { exact: true }).click();
  await dialog.getByText("Holders of No receive $4.00 in all.").waitFor();
  await dialog.getByLabel(/Type result/).fill("result");
  await dialog.getByRole("button", { name: "Announce a result" }).click();
  for (let tries = 0; (await api("olga", `/markets/${id}`)).status !== "SETTLED"; tries += 1) {
    assert.ok(tries < 240, "not settled");
    await page.waitForTimeout(500);
  }
  await page.reload();
  await page.getByText(/^\s*Paid out/).first().waitFor();
  const paid = (await api("ben", "/account/settlements?limit=1")).settlements[0];
  assert.deepEqual([paid.marketId, paid.outcomeId, paid.payout], [id, "no", "4.00"]);
  await page.getByRole("link", { name: "See the market" }).first().click();
  await page.getByRole("heading", { level: 1, name }).waitFor();
  assert.equal(await page.locator("h1 img, h1 b").count(), 0);
  assert.doesNotMatch(await page.title(), /^hit$/);
  assert.deepEqual(faults, []);
  await context.close();
});

test("an answer that is lost is asked for by the order's own name, and nothing is sent twice", { skip }, async () => {
  const market = await busyMarket();
  const { context, page } = await visit({ who: "ana" });
  await page.goto(`/markets/${market.id}?buy=yes`);
  let sent = 0;
  await page.route(/\/api\/v1\/trading\/orders$/, async (/** @type {any} */ route) => {
    if (route.request().method() !== "POST") return route.fallback();
    sent += 1;
    await route.fetch();
    return route.abort("connectionreset");
  });
  await ticket(page).getByLabel("Contracts", { exact: true }).fill("1.5");
  await ticket(page).locator(".preview").getByText("fill at once").waitFor();
  await ticket(page).getByRole("button", { name: /^Buy 1.5 / }).click();
  await page.getByRole("status").getByText("It did arrive").waitFor();
  assert.equal(sent, 1);
  await page.unroute(/\/api\/v1\/trading\/orders$/);
  // And one that never reached the venue.
  await page.route(/\/api\/v1\/trading\/orders$/, (/** @type {any} */ route) => (route.request().method() === "POST" ? route.abort("connectionreset") : route.fallback()));
  await ticket(page).getByLabel("Contracts", { exact: true }).fill("1.5");
  await ticket(page).locator(".preview").getByText("fill at once").waitFor();
  await ticket(page).getByRole("button", { name: /^Buy 1.5 / }).click();
  await page.getByText("It did not arrive").waitFor();
  await context.close();
});

test("two hundred messages a second move no row, and the frames are told", { skip }, async (t) => {
  const market = await busyMarket();
  const { context, page } = await visit({ who: "ana" });
  const levels = Array.from({ length: 30 }, (_, i) => ({ side: i < 15 ? "bid" : "ask", price: (i < 15 ? 0.47 - i / 100 : 0.33 + i / 100).toFixed(2), priceNo: "0.50", quantity: String(100 + i), orders: 1 }));
  await page.routeWebSocket(/\/api\/v1\/stream/, (/** @type {any} */ socket) => {
    let sequence = 100;
    const say = (/** @type {any} */ message) => socket.send(JSON.stringify(message));
    const head = () => say({ kind: "heartbeat", sequence, time: new Date().toISOString() });
    socket.onMessage((/** @type {string} */ text) => {
      const asked = JSON.parse(text);
      for (const channel of asked.channels ?? []) if (channel.startsWith("book:")) say({ channel, kind: "book", sequence, data: { levels } });
      head();
    });
    const timer = setInterval(() => {
      for (let n = 0; n < 10; n += 1) {
        const one = levels[Math.floor(Math.random() * levels.length)];
        sequence += 1;
        say({ channel: `book:${market.id}`, kind: "levels", sequence, data: { levels: [{ ...one, quantity: String(1 + Math.floor(Math.random() * 5000)) }] } });
      }
    }, 50);
    // A page that is closed does not always close its sockets, and the timer would keep the tests from their end.
    socket.onClose(() => clearInterval(timer));
    t.after(() => clearInterval(timer));
  });
  await page.goto(`/markets/${market.id}`);
  await page.locator(".ladder tbody tr").nth(8).waitFor();
  await page.waitForTimeout(1500);
  const found = await page.evaluate(async () => {
    /** @type {number[]} */
    const long = [];
    let shift = 0;
    new PerformanceObserver((list) => list.getEntries().forEach((one) => long.push(Math.round(one.duration)))).observe({ type: "longtask" });
    new PerformanceObserver((list) => list.getEntries().forEach((one) => (shift += /** @type {any} */ (one).value))).observe({ type: "layout-shift" });
    let frames = 0;
    const until = performance.now() + 5000;
    await new Promise((done) => {
      const next = () => (performance.now() > until ? done(null) : (frames++, requestAnimationFrame(next)));
      requestAnimationFrame(next);
    });
    return { long, shift, frames };
  });
  t.diagnostic(JSON.stringify(found));
  // A figure that gains a digit begins further left in its cell: that is all that may move.
  assert.ok(found.shift < 0.01, String(found.shift));
  // How long a task takes says more of a busy machine than of the page: it is told, not asserted.
  await context.close();
});

test("a stream that is cut says so, and goes on where it was", { skip: skip || sessions }, async () => {
  const market = await busyMarket();
  const { context, page } = await visit();
  // A browser opens its stream by cookie: a key in a header is not sent with it.
  const entered = await context.request.post("/api/v1/signup", { headers: { Origin: URL_BASE, "X-Requested-By": "openoutcry" }, data: { profileName: `stream${Date.now()}`, password: "seven quiet lamps" } });
  assert.equal(entered.status(), 200);
  await page.goto(`/markets/${market.id}`);
  const live = page.locator(".foot .live");
  await live.getByText("Live", { exact: true }).waitFor({ timeout: 12_000 });
  await context.setOffline(true);
  await live.getByText("Prices may be old").waitFor({ timeout: 20_000 });
  await page.getByRole("status").getByText("Prices may be old.").waitFor({ timeout: 20_000 });
  await context.setOffline(false);
  await live.getByText("Live", { exact: true }).waitFor({ timeout: 30_000 });
  await context.close();
});

/** What a hand does on a page, counted: a click, or a field that is clicked and typed into. @param {any} page */
function hand(page) {
  const counted = { clicks: 0 };
  const count = () => (counted.clicks += 1);
  return {
    counted,
    click: async (/** @type {any} */ one) => (count(), await one.click()),
    fill: async (/** @type {any} */ one, /** @type {string} */ text) => (count(), await one.fill(text)),
    page,
  };
}

test("a person comes by an invitation, has an order filled within twelve clicks, and makes a key that works", { skip: skip || sessions }, async (t) => {
  const user = await api("olga", "/admin/users", { profileName: `Teresa ${Date.now()}`, profilePic: "https://venue.invalid/t.svg" });
  await api("olga", `/admin/users/${user.id}/deposits`, { amount: "100.00" });
  const { token } = await api("olga", `/admin/users/${user.id}/invitations`, {});
  const { context, page, faults } = await visit();
  const { counted, click, fill } = hand(page);
  await page.goto(`/invitations#${token}`);
  await page.getByLabel("Name to sign in with").waitFor();
  await fill(page.getByLabel("Password"), "seven quiet lamps");
  await click(page.getByRole("button", { name: "Set password and enter" }));
  await page.getByRole("heading", { name: "Markets" }).first().waitFor();
  assert.doesNotMatch(page.url(), new RegExp(token));
  // The first card that somebody offers something on.
  await click(page.locator(".cards a.px.yes").first());
  await fill(ticket(page).getByLabel("Contracts", { exact: true }), "1");
  await ticket(page).locator(".preview").getByText("fills at once").waitFor();
  await click(ticket(page).getByRole("button", { name: /^Buy 1 / }));
  await page.getByRole("status").getByText("Filled 1").waitFor();
  t.diagnostic(`invitation to filled order: ${counted.clicks} clicks`);
  assert.ok(counted.clicks <= 12, String(counted.clicks));
  await page.getByRole("link", { name: "Portfolio" }).first().click();
  await page.getByRole("heading", { name: "Portfolio" }).waitFor();
  await page.locator("#list tbody tr").first().waitFor();
  await page.goto("/keys");
  await page.getByLabel("Name").fill("scene");
  await page.getByRole("button", { name: "Make the key" }).click();
  const key = await page.locator(".secret code").innerText();
  assert.equal((await fetch(`${URL_BASE}/api/v1/trading/balance`, { headers: { "X-API-Key": key } })).status, 200);
  const again = await visit();
  await again.page.goto(`/invitations#${token}`);
  await again.page.getByRole("alert").getByText(/was used or has ended/).waitFor();
  await again.context.close();
  assert.deepEqual(faults, []);
  await context.close();
});

test("a page of another origin writes nothing with the visitor's cookie", { skip: skip || sessions }, async () => {
  const { context, page } = await visit();
  const entered = await context.request.post("/api/v1/signup", { headers: { Origin: URL_BASE, "X-Requested-By": "openoutcry" }, data: { profileName: `origin${Date.now()}`, password: "seven quiet lamps" } });
  assert.equal(entered.status(), 200);
  const market = await busyMarket();
  const order = { marketId: market.id, outcomeId: "yes", side: "BUY", orderType: "LIMIT", price: "0.01", quantity: "1" };
  // Another port of the same host is the same site to a browser: it sends the cookie, and the venue must refuse.
  const other = createServer((_, answer) => answer.writeHead(200, { "Content-Type": "text/html" }).end("<!doctype html><title>elsewhere</title>"));
  await new Promise((done) => other.listen(0, new URL(URL_BASE).hostname, () => done(null)));
  /** @type {number[]} */
  const statuses = [];
  page.on("response", (/** @type {any} */ one) => one.url().includes("/trading/orders") && statuses.push(one.status()));
  await page.goto(`http://${new URL(URL_BASE).hostname}:${/** @type {any} */ (other.address()).port}/`);
  await page.evaluate(async ([base, body]) => {
    const ways = [{}, { "Content-Type": "text/plain" }];
    for (const headers of ways) await fetch(`${base}/api/v1/trading/orders`, { method: "POST", mode: "no-cors", credentials: "include", headers, body }).catch(() => {});
    await fetch(`${base}/api/v1/trading/orders`, { method: "POST", credentials: "include", headers: { "Content-Type": "application/json", "X-Requested-By": "openoutcry" }, body }).catch(() => {});
  }, [URL_BASE, JSON.stringify(order)]);
  assert.ok(statuses.length > 0 && statuses.every((one) => one >= 400), String(statuses));
  const placed = await (await context.request.get("/api/v1/trading/orders")).json();
  assert.deepEqual(placed.orders, []);
  // Nor does a forged cookie say who asks.
  const forged = await fetch(`${URL_BASE}/api/v1/session`, { headers: { Cookie: "openoutcry_session=0123456789abcdef0123456789abcdef" } });
  assert.equal(forged.status, 401);
  other.close();
  await context.close();
});

test("where no socket opens, the page lives by server-sent events", { skip: skip || sessions }, async () => {
  const market = await busyMarket();
  const { context, page } = await visit();
  const entered = await context.request.post("/api/v1/signup", { headers: { Origin: URL_BASE, "X-Requested-By": "openoutcry" }, data: { profileName: `events${Date.now()}`, password: "seven quiet lamps" } });
  assert.equal(entered.status(), 200);
  await page.addInitScript(() => {
    // As behind a proxy that lets no socket through.
    const Blocked = /** @type {any} */ (function () {
      setTimeout(() => this.onclose?.({ reason: "" }));
      this.close = () => {};
    });
    Object.assign(Blocked, { OPEN: 1 });
    window.WebSocket = Blocked;
  });
  await page.goto(`/markets/${market.id}?buy=yes`);
  await page.locator(".foot .live").getByText("Live", { exact: true }).waitFor({ timeout: 20_000 });
  const quantity = String(11 + Math.floor(Math.random() * 90) / 100);
  const depth = await api("ana", `/trading/books/${market.id}/depth?outcome=yes&levels=1`);
  await api("ana", "/trading/orders", { marketId: market.id, outcomeId: "yes", side: "BUY", orderType: "LIMIT", price: depth.bestAsk, quantity });
  await page.getByRole("cell", { name: quantity, exact: true }).first().waitFor({ timeout: 15_000 });
  await context.close();
});

test("the interface is tried at the first click, with one field for a key", { skip }, async (t) => {
  const { context, page, faults } = await visit({ width: 1440 });
  await page.goto("/docs/");
  await page.getByRole("heading", { level: 1, name: "The interface" }).waitFor();
  const { paths } = await (await fetch(`${URL_BASE}/api/v1/openapi.json`)).json();
  const described = Object.entries(paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, one]) => ({ path, method, id: /** @type {any} */ (one).operationId })));
  // What a stream answers never ends, Ana's orders and keys in the demo have no name, and nobody asked for a transfer.
  const left = ["openStream", "getNamedOrder", "getUserKey", "getTransfer"];
  const tried = [...described.filter((one) => one.method === "get" && !left.includes(one.id)).map((one) => one.id), "placeOrder", "sendHeartbeat", "createKey", "setVenueMode"];
  for (const id of tried) {
    await page.goto(`/docs?op=${id}`);
    await page.getByRole("button", { name: "Send", exact: true }).click();
    const answered = page.getByRole("region", { name: "Answer" }).locator(".tag");
    assert.match(await answered.innerText(), /^2\d\d /, `${id}: ${await page.getByRole("region", { name: "Answer" }).innerText()}`);
    assert.ok((await page.getByLabel("API key").count()) <= 1, id);
  }
  t.diagnostic(`${tried.length} of ${described.length} operations tried`);
  assert.deepEqual(faults, []);
  await context.close();
});

/** The code that an authenticator shows now, or some half minutes later. @param {string} secret @param {number} [later] */
function codeOf(secret, later = 0) {
  let bits = "";
  for (const letter of secret) bits += "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(letter).toString(2).padStart(5, "0");
  const bytes = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + later));
  const tag = createHmac("sha1", bytes).update(counter).digest();
  const word = tag.readUInt32BE(tag[19] & 15) & 0x7fffffff;
  return String(word % 1_000_000).padStart(6, "0");
}

test("a second factor is set up, asked for, and is good once", { skip: skip || sessions }, async () => {
  const name = `ursula${Date.now()}`;
  const { context, page } = await visit();
  await page.goto("/sign-up");
  await page.getByLabel("Name to sign in with").fill(name);
  await page.getByLabel("Password").fill("seven quiet lamps");
  await page.getByRole("button", { name: "Open an account", exact: true }).click();
  await page.getByRole("heading", { name: "Markets" }).first().waitFor();
  await page.goto("/account");
  const panel = page.locator("section", { hasText: "Second factor" }).last();
  await panel.getByRole("button", { name: "Set up a second factor" }).click();
  await panel.getByLabel("Password now").fill("seven quiet lamps");
  await panel.getByRole("button", { name: "Set up a second factor" }).click();
  await panel.getByRole("img", { name: /camera/ }).waitFor();
  const secret = await panel.locator(".secret code").innerText();
  await panel.getByLabel("Six digits").fill(codeOf(secret));
  await panel.getByRole("button", { name: "Turn on" }).click();
  await panel.getByText("10 recovery codes left").waitFor();
  const [recovery] = (await panel.locator("pre").innerText()).split("\n");
  // A browser that was left open does not turn it off.
  await panel.getByRole("button", { name: "Turn off" }).click();
  await panel.getByLabel("Password now").fill("seven quiet lamps");
  await panel.getByLabel("Second factor").fill("no code");
  await panel.getByRole("button", { name: "Turn off" }).click();
  await panel.getByRole("alert").getByText(/not right/).waitFor();
  await context.close();
  for (const [code, good] of [["000000", false], [codeOf(secret, 1), true], [recovery, true], [recovery, false]]) {
    const again = await visit();
    await again.page.goto("/sign-in");
    await again.page.getByLabel("Name to sign in with").fill(name);
    await again.page.getByLabel("Password").fill("seven quiet lamps");
    await again.page.getByRole("button", { name: "Sign in", exact: true }).click();
    await again.page.getByLabel("Second factor").fill(String(code));
    await again.page.getByRole("button", { name: "Sign in", exact: true }).click();
    if (good) await again.page.getByRole("heading", { name: "Markets" }).first().waitFor();
    else await again.page.getByRole("alert").getByText(/not right/).waitFor();
    await again.context.close();
  }
});

const ids = async () => {
  const market = await busyMarket();
  const { eventId } = await api("ana", `/markets/${market.id}`);
  const order = (await api("ana", "/trading/orders")).orders[0];
  const place = (await api("ana", "/leaderboard?by=pnl&period=all&limit=1")).places[0];
  return { market: market.id, event: eventId, order: order?.id, profile: place?.user.id };
};

test("a person who goes astray is told so, by a page", { skip }, async () => {
  const { context, page } = await visit();
  assert.equal((await page.goto("/nothing/here"))?.status(), 404);
  await page.getByRole("heading", { level: 1 }).waitFor({ state: "attached" });
  await page.getByRole("link", { name: "Markets" }).first().waitFor();
  await context.close();
});

/** @typedef {["en" | "pt" | "es", "light" | "dark", number]} Way */

/**
 * The ways in which pages are looked at: all of them, or two for each page, one in each theme, among which languages and
 * widths go round so that neighbours have others.
 * @param {number} place
 * @returns {Way[]}
 */
function waysOf(place) {
  const languages = /** @type {const} */ (["en", "pt", "es"]);
  const themes = /** @type {const} */ (["light", "dark"]);
  if (process.env.OPENOUTCRY_VISITS === "all")
    return languages.flatMap((language) => themes.flatMap((theme) => [1280, 360].map((width) => /** @type {Way} */ ([language, theme, width]))));
  return themes.map((theme, i) => [languages[(place + i) % 3], theme, (place + i) % 2 ? 360 : 1280]);
}

test("pages in languages, themes and widths: no violation, no sideways scroll", { skip }, async (t) => {
  const id = await ids();
  /** @type {[string, string, ("ana" | "olga")?][]} */
  const pages = [["markets", "/"], ["list", "/?view=list"], ["event", `/events/${id.event}`], ["market", `/markets/${id.market}`], ["candles", `/markets/${id.market}?chart=candles`], ["portfolio", "/portfolio"], ["ledger", "/portfolio?tab=ledger"],
    ["order", `/orders/${id.order}`], ["keys", "/keys"], ["account", "/account"], ["leaderboard", "/leaderboard"], ["profile", `/profiles/${id.profile}`], ["audit", `/audit?market=${id.market}`], ["docs", "/docs"], ["operation", "/docs?op=placeOrder"], ["sign-in", "/sign-in"], ["invitation", "/invitations#nothing"],
    ["admin", "/admin", "olga"], ["catalogue", "/admin/catalogue?market=new", "olga"], ["users", "/admin/users", "olga"]];
  // A browser for each way that somebody goes, with the pages that are visited so.
  /** @type {Map<string, {who: "ana" | "olga", way: Way, visited: [string, string][]}>} */
  const visits = new Map();
  for (const [place, [name, path, who = "ana"]] of pages.entries()) {
    for (const way of waysOf(place)) {
      const key = [who, ...way].join(" ");
      const known = visits.get(key) ?? { who, way, visited: [] };
      known.visited.push([name, path]);
      visits.set(key, known);
    }
  }
  for (const { who, way: [language, theme, width], visited } of visits.values()) {
    const { context, page, faults } = await visit({ who, language, theme, width });
    for (const [name, path] of visited) {
      await t.test(`${name} ${language} ${theme} ${width}`, async () => {
        await page.goto(path);
        await page.locator("main h1").first().waitFor({ state: "attached" });
        await page.waitForTimeout(700);
        assert.deepEqual(await violations(page), []);
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth), 0);
        assert.deepEqual(faults.splice(0), []);
        await shot(page, `${name}-${language}-${theme}-${width}`);
      });
    }
    await context.close();
  }
});
