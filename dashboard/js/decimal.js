// Arithmetic on decimal strings. Money has 8 decimals, quantities 6, prices 2: so price times quantity is money exactly.
// Nothing here is a float: a figure on show is the figure in the journal.

export const MONEY = 8;
export const QUANTITY = 6;
export const PRICE = 2;

/**
 * The value in units of 10^-scale. Throws on what is not a decimal or has more decimals than the scale.
 * @param {string | number} value @param {number} [scale]
 * @returns {bigint}
 */
export function units(value, scale = MONEY) {
  const found = /^([-−+]?)(\d*)(?:\.(\d*))?$/.exec(String(value).trim());
  if (!found || (!found[2] && !found[3])) throw new RangeError(`not a decimal: ${value}`);
  const fraction = (found[3] ?? "").replace(/0+$/, "");
  if (fraction.length > scale) throw new RangeError(`more than ${scale} decimals: ${value}`);
  const whole = BigInt((found[2] || "0") + fraction.padEnd(scale, "0"));
  return found[1] === "-" || found[1] === "−" ? -whole : whole;
}

/**
 * The decimal string of so many units, without needless zeros but with at least `least` decimals.
 * @param {bigint} value @param {number} [scale] @param {number} [least]
 */
export function text(value, scale = MONEY, least = 0) {
  const negative = value < 0n;
  const digits = (negative ? -value : value).toString().padStart(scale + 1, "0");
  const whole = digits.slice(0, digits.length - scale);
  let fraction = scale ? digits.slice(-scale).replace(/0+$/, "") : "";
  fraction = fraction.padEnd(least, "0");
  return (negative ? "-" : "") + whole + (fraction ? "." + fraction : "");
}

/** @param {...(string | number)} values */
export const add = (...values) =>
  text(
    values.reduce((sum, one) => sum + units(one), 0n),
    MONEY,
    2,
  );
/** @param {string | number} a @param {string | number} b */
export const subtract = (a, b) => text(units(a) - units(b), MONEY, 2);
/** @param {string} value */
export const negate = (value) => text(-units(value), MONEY, 2);
/** @param {string | number} a @param {string | number} b */
export const compare = (a, b) => {
  const left = units(a, 12);
  const right = units(b, 12);
  return left < right ? -1 : left > right ? 1 : 0;
};
/** @param {string | number | null | undefined} value */
export const isZero = (value) => value == null || /^[-+]?0*(?:\.0*)?$/.test(String(value));

/**
 * Price times quantity: money, exactly.
 * @param {string} price @param {string} quantity
 */
export const cost = (price, quantity) => text(units(price, PRICE) * units(quantity, QUANTITY), MONEY, 2);

/** What the other outcome costs: 1.00 less the price. @param {string} price */
export const mirror = (price) => text(100n - units(price, PRICE), PRICE, 2);

/**
 * What a fill costs each side in fees: rate x price x (1 - price) x quantity, rounded up to a unit of money.
 * @param {string} rate @param {string} price @param {string} quantity
 */
export function fee(rate, price, quantity) {
  const p = units(price, PRICE);
  const exact = units(rate, 4) * p * (100n - p) * units(quantity, QUANTITY); // 4 + 2 + 2 + 6 decimals
  const unit = 10n ** 6n;
  return text((exact + unit - 1n) / unit, MONEY, 2);
}

/** What one contract takes, fee included, in units of money. @param {bigint} price @param {string} rate */
const contract = (price, rate) => price * 10n ** 6n + units(rate, 4) * price * (100n - price);

/**
 * The most contracts that so much money buys at a price, fees included, rounded down to a hundredth of a contract.
 * @param {string} money @param {string} price @param {string} [rate]
 */
export function affordable(money, price, rate = "0") {
  const p = units(price, PRICE);
  const available = units(money);
  if (p <= 0n || available <= 0n) return "0";
  const each = contract(p, rate);
  const lots = (available * 100n) / each;
  return text(lots, 2);
}

/**
 * Walks the levels that an order would meet, best first.
 * @param {{price: string, quantity: string}[]} levels @param {string} money @param {string} worst the last price to pay
 * @param {string} [rate] of the fee
 * @returns {string} contracts that the money buys on the way, fees included, to a hundredth
 */
export function walk(levels, money, worst, rate = "0") {
  let left = units(money);
  let bought = 0n;
  const limit = units(worst, PRICE);
  for (const level of levels) {
    const price = units(level.price, PRICE);
    if (price > limit || left <= 0n) break;
    const there = units(level.quantity, QUANTITY);
    const each = contract(price, rate);
    const can = (left * 10n ** 6n) / each;
    const take = can < there ? can : there;
    bought += take;
    left -= (take * each + 10n ** 6n - 1n) / 10n ** 6n;
    if (take < there) break;
  }
  return text((bought / 10000n) * 10000n, QUANTITY);
}

/**
 * What the reader typed, in the reader's language, as a decimal string; null if it is none. A separator of groups counts only
 * where whole groups of three stand before it and after it: what could mean a thousand times as much is refused.
 * @param {string} typed @param {string} language
 */
export function typed(typed, language) {
  const comma = language !== "en";
  const groups = comma ? /^[1-9]\d{0,2}(?:\.\d{3})+(?=,|$)/ : /^[1-9]\d{0,2}(?:,\d{3})+(?=\.|$)/;
  let value = typed.replace(/[\s$']|USD?/g, "").replace(groups, (whole) => whole.replace(/[.,]/g, ""));
  if (comma && !value.includes(".")) value = value.replace(",", ".");
  return /^\d+(?:\.\d*)?$|^\.\d+$/.test(value) ? value.replace(/\.$/, "").replace(/^\./, "0.") : null;
}

/** What contracts are worth at a probability, to a unit of money. @param {string} quantity @param {number} probability */
export const worth = (quantity, probability) =>
  text((units(quantity, QUANTITY) * BigInt(Math.round(probability * 10_000))) / 100n, MONEY, 2);
