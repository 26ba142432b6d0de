// What the cards show of each market: details, quote and recent prices, asked for once and kept up by the stream.
import { signal } from "./lib.js";
import { get } from "./api.js";
import { mirror } from "./decimal.js";

/**
 * @typedef {object} Quote
 * @property {any} market as the list or the detail shows it
 * @property {any} [stats]
 * @property {number[]} [line] the last week's hourly prices
 * @property {number | null} [before] the price a day ago, if there was a trade by then
 */

const AT_ONCE = 4;
/** @type {Map<string, ReturnType<typeof signal<Quote>>>} */
const kept = new Map();
/** @type {(() => Promise<void>)[]} */
const waiting = [];
let running = 0;

function next() {
  while (running < AT_ONCE && waiting.length) {
    running += 1;
    waiting
      .shift()?.()
      .finally(() => {
        running -= 1;
        next();
      });
  }
}

/** Few requests at once, so that what the reader does next is not behind them. @param {() => Promise<void>} ask */
const later = (ask) =>
  new Promise((done) => {
    waiting.push(() =>
      ask()
        .catch(() => {})
        .finally(() => done(undefined)),
    );
    next();
  });

/** @param {any} market */
export function quote(market) {
  let found = kept.get(market.id);
  if (!found) kept.set(market.id, (found = signal({ market })));
  else found.value = { ...found.value, market: { ...found.value.market, ...market } };
  return found;
}

/** The quote of a market that is kept, without telling of a change. @param {any} market */
export const found = (market) => kept.get(market.id) ?? quote(market);

/** What a list with quotes says of a market. @param {any} told */
export function take({ stats, week, priceDayAgo, ...market }) {
  /** @type {number[]} */
  const line = [];
  for (const close of week.closes) if (close !== null || line.length) line.push(close === null ? line[line.length - 1] : Number(close));
  const one = quote(market);
  one.value = { ...one.value, stats, line, before: priceDayAgo === null ? null : Number(priceDayAgo) };
}

const PAGE = 50;

/** Public markets with their quotes, the newest of them up to so many; `total` counts all. @param {number} most @param {Record<string, any>} [query] @param {AbortSignal} [stop] */
export async function quoted(most, query = {}, stop) {
  const ask = (/** @type {number} */ offset) => get("/markets/public/list", { ...query, quotes: true, limit: Math.min(PAGE, most), offset }, stop);
  const first = await ask(0);
  const rest = [];
  for (let offset = PAGE; offset < Math.min(most, first.total); offset += PAGE) rest.push(ask(offset));
  const markets = [first, ...(await Promise.all(rest))].flatMap((page) => page.markets);
  for (const market of markets) take(market);
  return { markets, total: first.total };
}

/** The deadline, volume and best prices of markets. @param {{id: string}[]} markets @param {boolean} [anew] */
export function askQuotes(markets, anew = false) {
  return Promise.all(
    markets.map(({ id }) =>
      later(async () => {
        const one = kept.get(id);
        if (!one || (one.peek().stats && !anew)) return;
        const [stats, market] = await Promise.all([
          get(`/markets/${id}/stats`),
          one.peek().market.deadline && !anew ? one.peek().market : get(`/markets/${id}`),
        ]);
        one.value = { ...one.peek(), stats, market: { ...one.peek().market, ...market } };
      }),
    ),
  );
}

/** The last week's prices by the hour. @param {{id: string}[]} markets */
export function askLines(markets) {
  return Promise.all(
    markets.map(({ id }) =>
      later(async () => {
        const one = kept.get(id);
        if (!one || one.peek().line) return;
        const from = new Date(Date.now() - 7 * 86_400_000).toISOString();
        const { candles } = await get(`/markets/${id}/candles`, { interval: "1h", from });
        one.value = { ...one.peek(), ...shape(candles) };
      }),
    ),
  );
}

/** The line and the price of a day ago, from hourly candles. @param {{start: string, close: string | null}[]} candles */
export function shape(candles, now = Date.now()) {
  /** @type {number[]} */
  const line = [];
  let last = null;
  let before = null;
  for (const candle of candles) {
    if (candle.close !== null) last = Number(candle.close);
    if (last === null) continue;
    line.push(last);
    if (new Date(candle.start).getTime() + 3_600_000 <= now - 86_400_000) before = last;
  }
  return { line, before };
}

/** What the stream says of a market. @param {any} data */
export function hear(data) {
  const one = kept.get(data.id ?? data.marketId);
  if (!one) return;
  const { market, stats } = one.peek();
  const told = { ...data };
  delete told.marketId;
  one.value = {
    ...one.peek(),
    market: { ...market, ...told, outcomes: told.outcomes ?? likely(market, told.probability) },
    stats: { ...stats, ...told },
  };
}

/** @param {any} market @param {number | undefined} probability */
function likely(market, probability) {
  if (typeof probability !== "number") return market.outcomes;
  return market.outcomes?.map((/** @type {any} */ one) => ({
    ...one,
    probability: one.id === "yes" ? probability : 1 - probability,
  }));
}

/** @param {any} market */
export const probability = (market) =>
  market.outcomes?.find((/** @type {any} */ one) => one.id === "yes")?.probability ?? 0.5;

/** What one contract of each outcome costs now; null where nobody offers. @param {{bestBid?: string | null, bestAsk?: string | null} | undefined} stats */
export function prices(stats) {
  const ask = stats?.bestAsk && Number(stats.bestAsk) > 0 && Number(stats.bestAsk) < 1 ? stats.bestAsk : null;
  const bid = stats?.bestBid && Number(stats.bestBid) > 0 && Number(stats.bestBid) < 1 ? stats.bestBid : null;
  return { yes: ask, no: bid ? mirror(bid) : null, bid, ask };
}

/** @param {Quote} one */
export const change = (one) => (one.before == null ? null : probability(one.market) - one.before);
