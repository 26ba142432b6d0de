// From the venue's candles to what a chart draws: buckets by period, prices carried forward, pauses left open.
import { units, text, QUANTITY } from "./decimal.js";

/**
 * @typedef {{start: number, open: number | null, high: number | null, low: number | null, close: number | null, volume: string}} Bucket `start` in seconds
 * @typedef {{from: number, to: number}} Gap in seconds
 */

export const PERIODS = ["1h", "1d", "1w", "all"];
const HOUR = 3600;
const DAY = 86_400;
const SECONDS = { "1m": 60, "5m": 300, "1h": HOUR, "1d": DAY };

/**
 * What to ask for: the venue's interval, since when, and the seconds of a drawn bucket.
 * @param {string} period @param {string | null | undefined} published @param {number} now in seconds
 * @returns {{interval: keyof typeof SECONDS, from: number, bucket: number}}
 */
export function plan(period, published, now) {
  if (period === "1h") return { interval: "1m", from: now - HOUR, bucket: 60 };
  if (period === "1d") return { interval: "5m", from: now - DAY, bucket: 900 };
  const age = published ? Math.max(HOUR, now - new Date(published).getTime() / 1000) : 7 * DAY;
  if (period === "all" && age > 30 * DAY)
    return { interval: "1d", from: now - Math.min(age + DAY, 999 * DAY), bucket: DAY };
  const span = period === "all" ? age : Math.min(age, 7 * DAY);
  // A market younger than the period would be a thread at the edge: it gets all of the width, and finer buckets.
  if (span < 3 * HOUR) return { interval: "1m", from: now - Math.max(span, 1800), bucket: 60 };
  if (span < 2 * DAY) return { interval: "5m", from: now - span, bucket: 900 };
  return { interval: "1h", from: now - span, bucket: period === "all" ? DAY : 4 * HOUR };
}

/** @param {any[]} candles @returns {Bucket[]} */
export const parse = (candles) =>
  candles.map((one) => ({
    start: new Date(one.start).getTime() / 1000,
    open: one.open === null ? null : Number(one.open),
    high: one.high === null ? null : Number(one.high),
    low: one.low === null ? null : Number(one.low),
    close: one.close === null ? null : Number(one.close),
    volume: one.volume,
  }));

/** @param {string} a @param {string} b */
const sum = (a, b) => text(units(a, QUANTITY) + units(b, QUANTITY), QUANTITY);

/** Buckets of so many seconds from finer ones. @param {Bucket[]} fine @param {number} seconds @returns {Bucket[]} */
export function gather(fine, seconds) {
  /** @type {Bucket[]} */
  const coarse = [];
  for (const one of fine) {
    const start = Math.floor(one.start / seconds) * seconds;
    const last = coarse.at(-1);
    if (!last || last.start !== start) {
      coarse.push({ ...one, start });
      continue;
    }
    last.open ??= one.open;
    last.high = one.high === null ? last.high : Math.max(last.high ?? one.high, one.high);
    last.low = one.low === null ? last.low : Math.min(last.low ?? one.low, one.low);
    last.close = one.close ?? last.close;
    last.volume = sum(last.volume, one.volume);
  }
  return coarse;
}

/** Adds a trade to the buckets, appending those that passed without one. @param {Bucket[]} buckets @param {{price: string, quantity: string, timestamp: string}} trade @param {number} seconds */
export function addTrade(buckets, trade, seconds) {
  const start = Math.floor(new Date(trade.timestamp).getTime() / 1000 / seconds) * seconds;
  const price = Number(trade.price);
  let last = buckets.at(-1);
  if (last && start < last.start) return;
  while (last && last.start < start) {
    last = { start: last.start + seconds, open: null, high: null, low: null, close: null, volume: "0" };
    buckets.push(last);
  }
  if (!last) buckets.push((last = { start, open: null, high: null, low: null, close: null, volume: "0" }));
  last.open ??= price;
  last.high = Math.max(last.high ?? price, price);
  last.low = Math.min(last.low ?? price, price);
  last.close = price;
  last.volume = sum(last.volume, trade.quantity);
}

/** The price at the end of each bucket; null before the first trade and while trading was paused. @param {Bucket[]} buckets @param {number} seconds @param {Gap[]} gaps @param {number | null} earlier the price before the first bucket */
export function carried(buckets, seconds, gaps, earlier = null) {
  let last = earlier;
  return buckets.map((one) => {
    if (one.close !== null) last = one.close;
    const end = one.start + seconds;
    return one.close === null && gaps.some((gap) => one.start >= gap.from && end <= gap.to) ? null : last;
  });
}

/** When trading was paused, from the market's activity, newest first. @param {any[]} activities @param {number} now in seconds @returns {Gap[]} */
export function pauses(activities, now) {
  /** @type {Gap[]} */
  const gaps = [];
  let to = now;
  for (const one of activities) {
    const at = new Date(one.createdAt).getTime() / 1000;
    if (one.type === "MARKET_REOPENED") to = at;
    else if (one.type === "MARKET_SUSPENDED") gaps.push({ from: at, to });
    else if (one.type === "MARKET_CLOSED") to = at;
  }
  return gaps;
}

/** A range for prices that holds them all, on steps of five points, at least ten points wide. @param {(number | null)[]} values @returns {[number, number]} */
export function range(values) {
  const known = /** @type {number[]} */ (values.filter((one) => one !== null));
  if (!known.length) return [0, 1];
  let low = Math.floor(Math.min(...known) * 20 - 0.4) / 20;
  let high = Math.ceil(Math.max(...known) * 20 + 0.4) / 20;
  low = Math.max(0, low);
  high = Math.min(1, high);
  if (high - low < 0.0999) {
    if (high < 0.9999) high += 0.05;
    else low -= 0.05;
  }
  return [low, high];
}
