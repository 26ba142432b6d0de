// The book as one map of levels in terms of Yes, and the rows that a ladder shows of it.
import { add, compare, mirror, units, text, QUANTITY } from "./decimal.js";

/**
 * @typedef {{side: "bid" | "ask", price: string, quantity: string, orders: number}} Level
 * @typedef {{bids: Level[], asks: Level[]}} Book best first
 * @typedef {Map<string, Level>} Levels
 */

const key = (/** @type {string} */ side, /** @type {string} */ price) => `${side} ${price}`;

/** @param {any} depth as the depth of Yes shows it @returns {Levels} */
export function fromDepth(depth) {
  /** @type {Levels} */
  const levels = new Map();
  for (const one of depth.bids ?? []) levels.set(key("bid", one.price), { ...one, side: "bid" });
  for (const one of depth.asks ?? []) levels.set(key("ask", one.price), { ...one, side: "ask" });
  return levels;
}

/** Applies what the stream says: a snapshot replaces all, changes carry absolute values and "0" removes. @param {Levels} before @param {{kind: string, data: any}[]} messages */
export function apply(before, messages) {
  let levels = new Map(before);
  for (const { kind, data } of messages) {
    if (kind === "book") levels = data.levels ? new Map() : fromDepth(data);
    for (const one of data.levels ?? []) {
      if (/^0*(\.0*)?$/.test(one.quantity)) levels.delete(key(one.side, one.price));
      else
        levels.set(key(one.side, one.price), {
          side: one.side,
          price: one.price,
          quantity: one.quantity,
          orders: one.orders,
        });
    }
  }
  return levels;
}

/** @param {Levels} levels @returns {Book} */
export function book(levels) {
  const all = [...levels.values()];
  return {
    bids: all.filter((one) => one.side === "bid").sort((a, b) => compare(b.price, a.price)),
    asks: all.filter((one) => one.side === "ask").sort((a, b) => compare(a.price, b.price)),
  };
}

/** What one would pay for an outcome, best first: asks of Yes, or the mirror of its bids. @param {Book} of @param {"yes" | "no"} outcome @param {"BUY" | "SELL"} side */
export function opposite(of, outcome, side) {
  const buysYes = (outcome === "yes") === (side === "BUY");
  const levels = buysYes ? of.asks : of.bids;
  return outcome === "yes" ? levels : levels.map((one) => ({ ...one, price: mirror(one.price) }));
}

/** The reader's open orders by row: each stands on one side of the book of Yes at one price. @param {any[]} orders */
export function ownRows(orders) {
  /** @type {Map<string, {quantity: string, orders: any[]}>} */
  const rows = new Map();
  for (const order of orders) {
    const backsYes = (order.outcomeId === "yes") === (order.side === "BUY");
    const at = key(backsYes ? "bid" : "ask", order.outcomeId === "yes" ? order.price : mirror(order.price));
    const found = rows.get(at);
    rows.set(at, {
      quantity: found
        ? text(units(found.quantity, QUANTITY) + units(order.remainingQuantity, QUANTITY), QUANTITY)
        : order.remainingQuantity,
      orders: [...(found?.orders ?? []), order],
    });
  }
  return rows;
}

/** @param {Level} level */
export const rowKey = (level) => key(level.side, level.price);

/** Contracts waiting up to each price, from the middle outwards. @param {Level[]} levels */
export function heaped(levels) {
  let sum = "0";
  return levels.map((one) => ({ price: one.price, total: (sum = add(sum, one.quantity)) }));
}

/** The middle of the book, to half a cent; null without two sides. @param {Book} of */
export function middle(of) {
  const bid = of.bids[0]?.price;
  const ask = of.asks[0]?.price;
  return bid && ask ? (Number(bid) + Number(ask)) / 2 : null;
}
