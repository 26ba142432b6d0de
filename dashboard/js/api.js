// The public REST interface, as any client uses it. Reads are plain; writes have a name, so that a lost answer can be asked
// for again without doing anything twice, and the caller hears when that happens.
import { signal } from "./lib.js";
import { ApiError } from "./problem.js";

const BASE = "/api/v1";
const ANSWER_WITHIN = 10_000;

/** The number of the last record that any answer reflected. */
export const sequence = signal(0);

/** By how much the venue's clock is ahead of the reader's, in milliseconds: the quickest answer tells it best. */
let ahead = -Infinity;
/** The venue's time, or at most a second before it. */
export const venueNow = () => Date.now() + (Number.isFinite(ahead) ? ahead : 0);

/** When the venue last said that it does not know who asks; 0 before. */
export const unknownAt = signal(0);

/**
 * @typedef {object} Options
 * @property {Record<string, string | number | boolean | null | undefined>} [query]
 * @property {AbortSignal} [signal]
 * @property {unknown} [body]
 * @property {string} [name] the Idempotency-Key
 * @property {Record<string, string>} [headers]
 */

/** @param {string} path @param {Options["query"]} [query] */
export function address(path, query) {
  const pairs = Object.entries(query ?? {}).filter(
    ([name, value]) => value !== null && value !== undefined && (value !== "" || name === "cursor"),
  );
  const asked = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString();
  return (path.startsWith("/") && !path.startsWith("//") ? BASE + path : path) + (asked ? `?${asked}` : "");
}

/** @param {string} method @param {string} path @param {Options} [options] @returns {Promise<any>} */
async function send(method, path, { query, signal, body, name, headers } = {}) {
  const late = AbortSignal.timeout(ANSWER_WITHIN);
  const stop = signal ? AbortSignal.any([signal, late]) : late;
  /** @type {Record<string, string>} */
  const sent = { Accept: "application/json, application/problem+json", ...headers };
  if (method !== "GET") sent["X-Requested-By"] = "openoutcry";
  if (body !== undefined) sent["Content-Type"] = "application/json";
  if (name) sent["Idempotency-Key"] = name;
  let answer;
  let content;
  try {
    answer = await fetch(address(path, query), {
      method,
      headers: sent,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: stop,
      credentials: "same-origin",
    });
    content = answer.status === 204 ? "" : await answer.text();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError({ code: "NO_ANSWER", status: 0 });
  }
  const said = Date.parse(answer.headers.get("Date") ?? "");
  if (said) ahead = Math.max(ahead, said - Date.now());
  const at = Number(answer.headers.get("Sequence"));
  if (at > sequence.value) sequence.value = at;
  let parsed = null;
  try {
    parsed = content ? JSON.parse(content) : null;
  } catch {
    if (answer.ok) throw new ApiError({ code: "UNEXPECTED", status: answer.status });
  }
  if (answer.ok) return parsed;
  if (answer.status === 401 && path !== "/session") unknownAt.value = Date.now();
  const retryAfter = answer.headers.get("Retry-After");
  const problem = parsed?.code
    ? parsed
    : { code: answer.status === 404 ? "NOT_FOUND" : "UNEXPECTED", status: answer.status };
  throw new ApiError(problem, { retryAfter: retryAfter ? Number(retryAfter) : null });
}

/** @param {number} milliseconds */
export const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

/** A fresh name for a write. @param {string} [kind] */
export function newName(kind = "web") {
  // randomUUID is there only on secure origins; a venue on a local network may have none.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `${kind}-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** @param {string} path @param {Options["query"]} [query] @param {AbortSignal} [signal] */
export const get = (path, query, signal) => send("GET", path, { query, signal });

/**
 * A write that may be sent again under its name: while the outcome is unknown it is, with growing pauses, and `tell` hears of it.
 * @param {"POST" | "PATCH" | "DELETE"} method @param {string} path @param {unknown} [body]
 * @param {{name?: string | null, tell?: (state: "waiting" | "resolved") => void, headers?: Record<string, string>, query?: Options["query"], tries?: number}} [more]
 */
export async function write(method, path, body, { name, tell, headers, query, tries = 6 } = {}) {
  // A PATCH names the whole result and a DELETE is done once it is done, so both can be repeated without a name.
  const key = method === "POST" ? (name === null ? undefined : (name ?? newName())) : undefined;
  const repeatable = method !== "POST" || key !== undefined;
  let waiting = false;
  for (let tried = 1; ; tried += 1) {
    try {
      const answer = await send(method, path, { body, name: key, headers, query });
      if (waiting) tell?.("resolved");
      return answer;
    } catch (error) {
      if (!(error instanceof ApiError) || !error.unknown || !repeatable || tried >= tries) throw error;
      if (!waiting) tell?.("waiting");
      waiting = true;
      await pause(Math.min(8000, 500 * 2 ** tried));
    }
  }
}

/** @param {string} path @param {unknown} [body] @param {any} [more] */
export const post = (path, body = {}, more) => write("POST", path, body, more);
/** @param {string} path @param {unknown} body @param {any} [more] */
export const patch = (path, body, more) => write("PATCH", path, body, more);
/** @param {string} path @param {any} [more] */
export const remove = (path, more) => write("DELETE", path, undefined, more);

/** What would happen now. Nothing is recorded, so nothing is repeated. @param {string} path @param {unknown} body @param {AbortSignal} [signal] @param {string} [method] */
export const dryRun = (path, body, signal, method = "POST") =>
  send(method, path, { query: { dryRun: true }, body, signal });

/**
 * Every page of a list that is read by cursor, up to so many rows.
 * @param {string} path @param {string} field @param {Record<string, any>} [query] @param {number} [most]
 */
export async function all(path, field, query = {}, most = 2000) {
  const rows = [];
  let cursor = "";
  do {
    const page = await get(path, { ...query, cursor, limit: query.limit ?? 1000 });
    rows.push(...page[field]);
    cursor = page.hasMore ? page.nextCursor : "";
  } while (cursor && rows.length < most);
  return rows;
}

/** All of a list that is read by offset, up to so many rows. @param {string} path @param {string} field @param {Record<string, any>} [query] @param {number} [most] */
export async function pages(path, field, query = {}, most = 1000) {
  /** @type {any[]} */
  const rows = [];
  for (let total = 1; rows.length < Math.min(total, most);) {
    const page = await get(path, { ...query, limit: 100, offset: rows.length });
    total = page.total;
    if (!page[field].length) break;
    rows.push(...page[field]);
  }
  return rows;
}
