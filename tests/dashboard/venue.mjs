// A running demo venue, and browsers that visit it as one of its people.
//
// OPENOUTCRY_URL    the venue, http://127.0.0.1:8080 by default; it must be a demo, since scenes trade
// OPENOUTCRY_SHOTS  a folder for screenshots; none are kept without it
// OPENOUTCRY_PROGRAM  the binary, for scenes with a venue of their own
// CHROMIUM          the browser, /usr/bin/chromium by default
// NODE_PATH or node_modules beside or above must have playwright-core and axe-core.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { after } from "node:test";

const require = createRequire(import.meta.url);

export const URL_BASE = process.env.OPENOUTCRY_URL ?? "http://127.0.0.1:8080";
export const SHOTS = process.env.OPENOUTCRY_SHOTS;
export const PROGRAM = process.env.OPENOUTCRY_PROGRAM ?? "target/debug/openoutcry";
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";

/** The public keys of the demo's people. */
export const KEYS = { ana: "demo-ana-trader-on-a-local-venue-1", ben: "demo-ben-trader-on-a-local-venue-2", olga: "demo-olga-operator-of-a-local-venue-5" };

/** What of these packages, or the browser, is missing on this machine, in words; false where all is there. @param {string[]} packages */
export function lacks(...packages) {
  const absent = packages.find((name) => {
    try {
      require.resolve(name);
      return false;
    } catch {
      return true;
    }
  });
  if (absent) return `${absent} is not installed`;
  return existsSync(CHROMIUM) ? false : `no browser at ${CHROMIUM}`;
}

/** The same for scenes with a venue of their own. @param {string[]} packages */
export const lacksForOwn = (...packages) => lacks("playwright-core", ...packages) || (existsSync(PROGRAM) ? false : `no program at ${PROGRAM}`);

/** What is missing on this machine or venue, in words; null where all is there. */
export async function missing() {
  const lacking = lacks("playwright-core", "axe-core");
  if (lacking) return lacking;
  try {
    const page = await fetch(URL_BASE);
    if (!(page.headers.get("content-type") ?? "").startsWith("text/html")) return `${URL_BASE} serves no dashboard`;
  } catch {
    return `no venue at ${URL_BASE}`;
  }
  return null;
}

/** @type {any} */
let browser;

/** One browser for all scenes: a second one would starve a small machine. */
export async function launched() {
  browser ??= await require("playwright-core").chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
  return browser;
}
after(() => browser?.close());

const LOCALES = { en: "en-US", pt: "pt-BR", es: "es-ES" };

/**
 * A page of somebody's own browser. What the page itself gets wrong fails the scene.
 * @param {{who?: keyof typeof KEYS, language?: keyof typeof LOCALES, theme?: "light" | "dark", width?: number}} [how]
 */
export async function visit({ who, language = "en", theme = "light", width = 1280 } = {}) {
  const context = await (await launched()).newContext({ baseURL: URL_BASE, viewport: { width, height: 900 }, colorScheme: theme, locale: LOCALES[language], timezoneId: "America/Sao_Paulo", extraHTTPHeaders: who ? { "X-API-Key": KEYS[who] } : {} });
  const page = await context.newPage();
  /** @type {string[]} */
  const faults = [];
  page.on("pageerror", (/** @type {Error} */ error) => faults.push(String(error.stack)));
  page.on("console", (/** @type {any} */ message) => message.type() === "error" && /Content.Security.Policy/i.test(message.text()) && faults.push(message.text()));
  return { context, page, faults };
}

/** The public interface, as one of the demo's people. @param {keyof typeof KEYS} who @param {string} path @param {unknown} [body] @param {string} [method] */
export async function api(who, path, body, method = body === undefined ? "GET" : "POST") {
  const answer = await fetch(`${URL_BASE}/api/v1${path}`, { method, headers: { "X-API-Key": KEYS[who], "Content-Type": "application/json" }, body: body === undefined ? undefined : JSON.stringify(body) });
  const content = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${content}`);
  return content ? JSON.parse(content) : null;
}

/** A market with bids and asks, the best of which is for more than a scene buys. @param {string} [words] */
export async function busyMarket(words = "brasileirao") {
  const [market] = (await api("ana", `/markets/search?q=${words}&limit=1`)).markets;
  const { bestBid, bestAsk, asks } = await api("ana", `/trading/books/${market.id}/depth?outcome=yes&levels=1`);
  // A demo's best price may be of somebody who left a single contract there.
  if (asks.length === 0 || Number(asks[0].quantity) < 60) {
    const price = bestAsk ?? (Number(bestBid) + 0.01).toFixed(2);
    await api("ben", "/trading/orders", { marketId: market.id, outcomeId: "yes", side: "SELL", orderType: "LIMIT", price, quantity: "100" });
  }
  return market;
}

/** Violations of what WCAG 2.2 AA and good practice ask, in words. @param {any} page */
export async function violations(page) {
  const session = await page.context().newCDPSession(page);
  // Through the debugger: the policy of the page would rightly refuse a script from elsewhere.
  await session.send("Runtime.evaluate", { expression: readFileSync(require.resolve("axe-core/axe.min.js"), "utf8") });
  const { result } = await session.send("Runtime.evaluate", { awaitPromise: true, returnByValue: true, expression: `axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] })
    .then((found) => found.violations.map((one) => one.id + ": " + one.nodes.map((node) => node.html).join(" | ").slice(0, 300)))` });
  await session.detach();
  return result.value;
}

/** @param {any} page @param {string} name */
export async function shot(page, name) {
  if (!SHOTS) return;
  mkdirSync(SHOTS, { recursive: true });
  await page.screenshot({ path: `${SHOTS}/${name}.png`, fullPage: true });
}

/** A port that is free now. */
export async function port() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port: free } = /** @type {any} */ (server.address());
  server.close();
  await once(server, "close");
  return free;
}

/** A new venue, with an operator's key. @param {number} at @param {string} folder @param {string} key @param {string[]} more */
export async function serve(at, folder, key, more) {
  const url = `http://127.0.0.1:${at}`;
  const asked = ["serve", "--init", "--data", join(folder, "venue"), "--listen", `127.0.0.1:${at}`, "--public-url", url, "--log", "error", ...more];
  const server = spawn(PROGRAM, asked, { env: { PATH: process.env.PATH, OPENOUTCRY_OPERATOR_KEY: key }, stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  for await (const part of server.stdout) {
    said += part;
    if (said.includes("listening on")) break;
  }
  assert.match(said, /listening on/);
  server.stdout.resume();
  return { server, url };
}
