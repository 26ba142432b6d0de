// Figures, money and times as the reader writes them. `Intl` formats decimal strings exactly, so no figure passes a float.
import { DATE_TAGS, language, TAGS, t } from "./i18n.js";
import { units, text, MONEY, isZero } from "./decimal.js";

/** @type {Map<string, any>} */
const made = new Map();

/** @param {Intl.NumberFormatOptions} options */
function number(options) {
  const key = language.value + JSON.stringify(options);
  let one = made.get(key);
  if (!one) made.set(key, (one = new Intl.NumberFormat(TAGS[language.value], options)));
  return one;
}

/** @param {Intl.DateTimeFormatOptions} options @returns {Intl.DateTimeFormat} */
function clock(options) {
  const key = `t${language.value}${JSON.stringify(options)}`;
  let one = made.get(key);
  if (!one) made.set(key, (one = new Intl.DateTimeFormat(DATE_TAGS[language.value], options)));
  return one;
}

/** The minus of typography, which is as wide as a figure. @param {string} written */
const minus = (written) => written.replace(/-/g, "−");
/** @param {string | number} value */
const exact = (value) => /** @type {any} */ (String(value));

const DOLLARS = {
  style: /** @type {const} */ ("currency"),
  currency: "USD",
  minimumFractionDigits: 2,
  maximumFractionDigits: 2,
};

/** @param {string | number} value */
export const money = (value) => minus(number(DOLLARS).format(exact(value)));
/** Whole dollars, for axes. @param {string | number} value */
export const roundMoney = (value) => minus(number({ ...DOLLARS, minimumFractionDigits: 0, maximumFractionDigits: 0 }).format(exact(value)));
/** With + or −; zero has neither. @param {string | number} value */
export const signedMoney = (value) => minus(number({ ...DOLLARS, signDisplay: "exceptZero" }).format(exact(value)));
/** "up", "down" or "flat": which of gain and loss a figure is. @param {string | number} value */
export function direction(value) {
  const cents = units(value, 12) / 10n ** 10n;
  return cents > 0n ? "gain" : cents < 0n ? "loss" : "faint";
}

/** @param {string | number} value */
export const price = (value) => number({ minimumFractionDigits: 2, maximumFractionDigits: 6 }).format(exact(value));
/** @param {string | number} value */
export const quantity = (value) => number({ maximumFractionDigits: 6 }).format(exact(value));
/** Contracts in a list of trades, to a hundredth; the exact figure is in the title. @param {string | number} value */
export const shortQuantity = (value) => number({ maximumFractionDigits: 2 }).format(exact(value));
/** Contracts where there is little room: whole ones. @param {string | number} value */
export const roundQuantity = (value) => number({ maximumFractionDigits: 0 }).format(exact(value));
/** @param {number} value */
export const count = (value) => number({ maximumFractionDigits: 0 }).format(value);
/** @param {number} value */
export const odds = (value) => number({ minimumFractionDigits: 2, maximumFractionDigits: 2 }).format(value);
/** A share of 1 as a per cent: whole, or one decimal. @param {number} value */
export const percent = (value) => number({ style: "percent", maximumFractionDigits: 1 }).format(value);
/** @param {string} rate such as "0.0700" */
export const rate = (rate) => number({ style: "percent", maximumFractionDigits: 2 }).format(exact(rate));

/** A change of probability in points. @param {number} value */
export function points(value) {
  const rounded = Math.round(value * 1000) / 10;
  if (rounded === 0) return t("no-change");
  return t("points", {
    n: Math.abs(rounded),
    points: minus(number({ maximumFractionDigits: 1, signDisplay: "always" }).format(rounded)),
  });
}

/** @param {Date} a @param {Date} b */
const sameDay = (a, b) => a.toDateString() === b.toDateString();

/** Today: the time; this year: day and time; else with the year. @param {string | number | Date} moment */
export function time(moment, now = new Date()) {
  const then = new Date(moment);
  if (sameDay(then, now))
    return clock({ hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" }).format(then);
  return clock({
    day: "numeric",
    month: "short",
    ...(then.getFullYear() === now.getFullYear() ? {} : { year: "numeric" }),
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  }).format(then);
}

/** @param {string | number | Date} moment */
export function date(moment, now = new Date()) {
  const then = new Date(moment);
  return clock({
    day: "numeric",
    month: "short",
    ...(then.getFullYear() === now.getFullYear() ? {} : { year: "numeric" }),
  }).format(then);
}

/** @param {string | number | Date} moment */
export const dateTime = (moment) =>
  clock({
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  }).format(new Date(moment));
/** With milliseconds, for the time machine and for orders. @param {string | number | Date} moment */
export const precise = (moment) =>
  clock({ hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3, hourCycle: "h23" }).format(
    new Date(moment),
  );
/** @param {string | number | Date} moment @param {"time" | "day" | "both" | "weekday"} kind */
export function axis(moment, kind) {
  const hour = {
    hour: /** @type {const} */ ("2-digit"),
    minute: /** @type {const} */ ("2-digit"),
    hourCycle: /** @type {const} */ ("h23"),
  };
  const options =
    kind === "time"
      ? hour
      : kind === "day"
        ? { day: "numeric", month: "short" }
        : kind === "weekday"
          ? { weekday: "short", day: "numeric" }
          : { weekday: "short", day: "numeric", month: "short", ...hour };
  return clock(/** @type {any} */ (options)).format(new Date(moment));
}

/** How far off a moment is: days, hours and minutes below a day, seconds below ten minutes. @param {string | number | Date} moment */
export function distance(moment, now = Date.now()) {
  const seconds = Math.round((new Date(moment).getTime() - now) / 1000);
  const relative = new Intl.RelativeTimeFormat(TAGS[language.value], { numeric: "always" });
  const size = Math.abs(seconds);
  if (size >= 86400) return relative.format(Math.trunc(seconds / 86400), "day");
  if (size >= 3600) {
    const rest = Math.trunc((size % 3600) / 60);
    const hours = Math.trunc(seconds / 3600);
    return rest && seconds > 0 ? t("in-hours-minutes", { hours, minutes: rest }) : relative.format(hours, "hour");
  }
  return size >= 600 ? relative.format(Math.trunc(seconds / 60), "minute") : relative.format(seconds, "second");
}

/** The reader's zone as the foot names it: "São Paulo (UTC−3)". */
export function zone() {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "UTC";
  const minutes = -new Date().getTimezoneOffset();
  const hours = minutes / 60;
  const offset =
    minutes === 0 ? "UTC" : `UTC${minus(number({ signDisplay: "always", maximumFractionDigits: 2 }).format(hours))}`;
  const place = zone.split("/").at(-1)?.replaceAll("_", " ") ?? zone;
  return place === offset ? place : `${place} (${offset})`;
}

/** Seconds as words, for windows and time-outs. @param {number} seconds */
export function duration(seconds) {
  const [value, unit] =
    seconds % 86400 === 0 && seconds >= 172800
      ? [seconds / 86400, "day"]
      : seconds % 3600 === 0
        ? [seconds / 3600, "hour"]
        : seconds % 60 === 0
          ? [seconds / 60, "minute"]
          : [seconds, "second"];
  return number({ style: "unit", unit: String(unit), unitDisplay: "short" }).format(Number(value));
}

/** Money for a CSV or a title: exact, with a point. @param {string} value */
export const exactMoney = (value) => text(units(value), MONEY, 2);
export { isZero };
