// Measures the dashboard of a running demo venue, as its README tells: script over the wire, the first usable page, and
// frames while messages come 200 times a second. Run: OPENOUTCRY_URL=... node tests/dashboard/measure.mjs
import { busyMarket, launched, missing, visit } from "./venue.mjs";

const why = await missing();
if (why) throw new Error(why);

/** Bytes of script that came over the wire while these pages were visited. @param {string[]} paths */
async function scriptBytes(paths) {
  const { context, page } = await visit({ who: "olga" });
  const session = await context.newCDPSession(page);
  await session.send("Network.enable");
  /** @type {Map<string, string>} */
  const scripts = new Map();
  /** @type {Map<string, number>} */
  const bytes = new Map();
  session.on("Network.responseReceived", (/** @type {any} */ { requestId, type, response }) => type === "Script" && scripts.set(requestId, response.url));
  session.on("Network.loadingFinished", (/** @type {any} */ { requestId, encodedDataLength }) => {
    const url = scripts.get(requestId);
    if (url) bytes.set(url, Math.max(encodedDataLength, bytes.get(url) ?? 0));
  });
  for (const path of paths) {
    await page.goto(path);
    await page.locator("main h1").first().waitFor({ state: "attached" });
    await page.waitForTimeout(300);
  }
  await context.close();
  return [...bytes.values()].reduce((sum, one) => sum + one, 0);
}

/** Milliseconds from the request to the first card that can be used, in a fresh browser. */
async function firstPage() {
  const { context, page } = await visit({ who: "ana" });
  await page.addInitScript(() => {
    new MutationObserver(() => {
      if (!("usableAt" in window) && document.querySelector(".cards a.px")) Object.assign(window, { usableAt: performance.now() });
    }).observe(document, { childList: true, subtree: true });
  });
  await page.goto("/");
  await page.waitForFunction(() => "usableAt" in window);
  const at = await page.evaluate(() => /** @type {any} */ (window).usableAt);
  await context.close();
  return at;
}

/** What the browser's own trace says of its frames while a book changes 200 times a second. */
async function frames() {
  const market = await busyMarket();
  const { context, page } = await visit({ who: "ana" });
  const levels = Array.from({ length: 30 }, (_, i) => ({ side: i < 15 ? "bid" : "ask", price: (i < 15 ? 0.47 - i / 100 : 0.5 + i / 100).toFixed(2), quantity: String(100 + i), orders: 1 }));
  let sent = 0;
  await page.routeWebSocket(/\/api\/v1\/stream/, (/** @type {any} */ socket) => {
    let sequence = 100;
    const say = (/** @type {any} */ message) => socket.send(JSON.stringify(message));
    socket.onMessage((/** @type {string} */ text) => {
      for (const channel of JSON.parse(text).channels ?? []) if (channel.startsWith("book:")) say({ channel, kind: "book", sequence, data: { levels } });
      say({ kind: "heartbeat", sequence, time: new Date().toISOString() });
    });
    const timer = setInterval(() => {
      sequence += 1;
      sent += 1;
      const one = levels[Math.floor(Math.random() * levels.length)];
      say({ channel: `book:${market.id}`, kind: "levels", sequence, data: { levels: [{ ...one, quantity: String(1 + Math.floor(Math.random() * 5000)) }] } });
    }, 5);
    socket.onClose(() => clearInterval(timer));
    timer.unref();
  });
  await page.goto(`/markets/${market.id}`);
  await page.locator(".ladder tbody tr").nth(8).waitFor();
  await page.waitForTimeout(2000);
  const browser = await launched();
  await browser.startTracing(page, { categories: ["devtools.timeline", "disabled-by-default-devtools.timeline.frame"] });
  const before = sent;
  await page.waitForTimeout(10_000);
  const told = sent - before;
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  const count = (/** @type {string} */ name) => traceEvents.filter((/** @type {any} */ one) => one.name === name).length;
  const tasks = traceEvents.filter((/** @type {any} */ one) => one.name === "RunTask" && one.dur > 50_000).length;
  await context.close();
  return { messages: told, drawn: count("DrawFrame"), dropped: count("DroppedFrame"), longTasks: tasks };
}

const pages = ["/", `/markets/${(await busyMarket()).id}?chart=candles`, "/portfolio", "/keys", "/account", "/leaderboard", "/audit", "/docs", "/sign-in", "/admin", "/admin/catalogue?market=new", "/admin/users"];
console.log(`script: ${await scriptBytes(["/"])} bytes for the first page, ${await scriptBytes(pages)} for all`);
const first = [];
for (let n = 0; n < 5; n += 1) first.push(await firstPage());
console.log(`first page usable after ${first.sort((a, b) => a - b).map((one) => one.toFixed(0)).join(", ")} ms`);
console.log(JSON.stringify(await frames()));
await (await launched()).close();
