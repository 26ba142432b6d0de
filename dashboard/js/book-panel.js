// The order book as a ladder and as a heap: every row is one price, with what Yes and No cost there.
import { html, useEffect, useLayoutEffect, useRef, useState } from "./lib.js";
import { t } from "./i18n.js";
import * as f from "./format.js";
import { compare, mirror } from "./decimal.js";
import { book, heaped, middle, rowKey } from "./ladder.js";
import { wordOf } from "./parts.js";
import { Panel } from "./ui.js";
import { Diamond } from "./icons.js";

const ROWS = 6;
/** Rows may come and go at most so often, so that a price does not leave from under the pointer. */
const SETTLE = 250;

/** @param {import("./ladder.js").Levels} levels @param {number} most */
function rowsOf(levels, most) {
  const now = book(levels);
  return { asks: now.asks.slice(0, most).reverse(), bids: now.bids.slice(0, most) };
}

/**
 * @param {{market: any, levels: import("./ladder.js").Levels, stats: any, own: Map<string, {quantity: string, orders: any[]}>, probability: number,
 *   onPrice?: (outcome: "yes" | "no", price: string) => void, onOwn?: (orders: any[]) => void}} props
 */
export function Ladder({ market, levels, stats, own, probability, onPrice, onOwn }) {
  const [all, setAll] = useState(false);
  const [said, setSaid] = useState("");
  const most = all ? 99 : ROWS;
  const [rows, setRows] = useState(() => rowsOf(levels, most));
  const due = useRef(/** @type {ReturnType<typeof setTimeout> | null} */ (null));
  const latest = useRef({ levels, most });
  latest.current = { levels, most };
  useEffect(() => {
    due.current ??= setTimeout(() => {
      due.current = null;
      setRows(rowsOf(latest.current.levels, latest.current.most));
    }, SETTLE);
  }, [levels]);
  useEffect(() => setRows(rowsOf(levels, most)), [all]);
  useEffect(() => () => void (due.current && clearTimeout(due.current)), []);

  const body = useRef(/** @type {HTMLTableSectionElement | null} */ (null));
  const seen = useRef(/** @type {Map<string, string>} */ (new Map()));
  useLayoutEffect(() => {
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    for (const cell of body.current?.querySelectorAll("[data-row]") ?? []) {
      const key = cell.getAttribute("data-row") ?? "";
      const now = cell.textContent ?? "";
      const before = seen.current.get(key);
      seen.current.set(key, now);
      if (before === undefined || before === now) continue;
      for (const running of cell.getAnimations()) running.cancel();
      const style = getComputedStyle(cell);
      const soft = style.getPropertyValue(key.startsWith("bid") ? "--yes-line" : "--no-line");
      cell.animate(
        calm
          ? [{ boxShadow: "inset 0 -1px currentColor" }, { boxShadow: "inset 0 -1px currentColor" }]
          : [{ backgroundColor: soft }, { backgroundColor: "transparent" }],
        600,
      );
    }
  });

  // What stood under the pointer when it came down is what was meant.
  const meant = useRef(/** @type {[("yes" | "no"), string] | null} */ (null));
  /** @param {"yes" | "no"} outcome @param {string} price */
  const press = (outcome, price) => ({
    onPointerDown: () => (meant.current = [outcome, price]),
    onClick: () => {
      const [which, at] = meant.current ?? [outcome, price];
      meant.current = null;
      onPrice?.(which, at);
    },
  });

  const quantities = [...rows.asks, ...rows.bids].map((row) => levels.get(rowKey(row))?.quantity ?? "0");
  const largest = quantities.reduce((a, b) => (compare(a, b) > 0 ? a : b), "0.000001");
  const words = { yes: wordOf(market, "yes"), no: wordOf(market, "no") };

  /** @param {KeyboardEvent} event */
  const move = (event) => {
    const at = /** @type {HTMLElement} */ (event.target);
    const row = at.closest("tr");
    if (!row || !["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"].includes(event.key)) return;
    const column = at.classList.contains("n") ? ".pbtn.n" : ".pbtn.y";
    let to = /** @type {Element | null} */ (null);
    if (event.key === "ArrowLeft") to = row.querySelector(".pbtn.y");
    else if (event.key === "ArrowRight") to = row.querySelector(".pbtn.n");
    else {
      const beside = (/** @type {Element} */ one) =>
        event.key === "ArrowUp" ? one.previousElementSibling : one.nextElementSibling;
      let next = beside(row);
      while (next && !next.querySelector(column)) next = beside(next);
      to = next?.querySelector(column) ?? null;
    }
    event.preventDefault();
    if (to instanceof HTMLElement) to.focus();
  };

  /** @param {import("./ladder.js").Level} row */
  const line = (row) => {
    const key = rowKey(row);
    const now = levels.get(key);
    const quantity = now?.quantity ?? "0";
    const bid = row.side === "bid";
    const no = mirror(row.price);
    const mine = own.get(key);
    const wide = `${Math.max(0, Math.min(100, (Number(quantity) / Number(largest)) * 66)).toFixed(1)}%`;
    const [yesWords, noWords] = bid ? ["ladder.offer", "ladder.take"] : ["ladder.take", "ladder.offer"];
    return html`<tr key=${key}><td><button type="button" class=${`pbtn y${bid ? "" : " take"}`}
      aria-label=${t(yesWords, { word: words.yes, price: f.price(row.price) })} ...${press("yes", row.price)}>
      ${f.price(row.price)}</button></td>
      <td data-row=${key}><svg class="bar" aria-hidden="true">
        <rect class=${bid ? "y" : "n"} width=${wide} height="100%"/>
        <rect class=${bid ? "ye" : "ne"} width="2" height="100%"/></svg>
        <div class="qty"><span>${f.roundQuantity(quantity)}</span></div></td>
      <td class="t">${
        mine &&
        html`<button type="button" class="own"
        aria-label=${t("ladder.own", { n: f.quantity(mine.quantity), count: Number(mine.quantity) })}
        onClick=${() => onOwn?.(mine.orders)}><${Diamond}/>${f.quantity(mine.quantity)}</button>`
      }</td>
      <td class="t k faint">${now ? f.count(now.orders) : ""}</td>
      <td><button type="button" class=${`pbtn n${bid ? " take" : ""}`}
        aria-label=${t(noWords, { word: words.no, price: f.price(no) })} ...${press("no", no)}>${f.price(no)}</button>
        </td></tr>`;
  };
  const now = book(levels);
  // A book is no live region: it would never stop talking. It is read when it is asked for.
  const speak = () => {
    const said = (/** @type {import("./ladder.js").Level | undefined} */ one, /** @type {"yes" | "no"} */ outcome) =>
      one
        ? t("book-side", {
            word: words[outcome],
            price: f.price(outcome === "yes" ? one.price : mirror(one.price)),
            n: f.quantity(one.quantity),
            count: Number(one.quantity),
          })
        : t("ladder.none", { word: words[outcome] });
    setSaid(`${said(now.asks[0], "yes")} ${said(now.bids[0], "no")}`);
  };
  const total = Math.max(now.asks.length, now.bids.length);
  const spread = now.asks[0] && now.bids[0] ? (Number(now.asks[0].price) - Number(now.bids[0].price)).toFixed(2) : null;
  const facts = [
    spread && t("spread", { price: f.price(spread) }),
    stats?.lastPrice && t("last", { price: f.price(stats.lastPrice) }),
  ]
    .filter(Boolean)
    .join(" · ");
  return html`<${Panel} title=${t("order-book")} extra="mk-book" flush aside=${html`<span class="legend">
    <span class="k"><${Diamond}/>${t("yours")}</span></span>`}
      foot=${html`<span class="grow">${t("levels-a-side", { shown: Math.min(most, total), n: total, count: total })}
        </span><button class="btn s quiet" type="button" onClick=${speak}>${t("read-book")}</button>
        <span class="vh" role="status">${said}</span>${
          total > ROWS &&
          html`<button class="btn s" type="button" aria-expanded=${String(all)}
        onClick=${() => setAll(!all)}>${all ? t("show-fewer") : t("show-all")}</button>`
        }`}>
    <table class="ladder" onKeyDown=${move}><caption class="vh">${t("ladder.caption")}</caption>
      <colgroup><col class="p"/><col/><col class="o"/><col class="k"/><col class="p"/></colgroup>
      <thead><tr><th class="c yes-ink cut" scope="col"><bdi>${words.yes}</bdi></th><th scope="col">${t("waiting")}</th>
        <th scope="col">${t("yours-head")}</th><th class="k" scope="col">${t("orders")}</th>
        <th class="c no-ink cut" scope="col"><bdi>${words.no}</bdi></th></tr></thead>
      <tbody ref=${body}><tr class="side"><td colspan="5">${t("ladder.upper", { no: words.no, yes: words.yes })}</td>
        </tr>${
          rows.asks.length
            ? rows.asks.map(line)
            : html`<tr>
        <td colspan="5" class="c faint">${t("ladder.none", { word: words.yes })}</td></tr>`
        }
      <tr class="mid"><td colspan="5"><span class="strong">${t("probability-is", { percent: f.percent(probability) })}
        </span>${facts && html` · ${facts}`}</td></tr>
      ${
        rows.bids.length
          ? rows.bids.map(line)
          : html`<tr>
        <td colspan="5" class="c faint">${t("ladder.none", { word: words.no })}</td>
        </tr>`
      }<tr class="side"><td colspan="5">${t("ladder.lower", { no: words.no, yes: words.yes })}</td></tr></tbody>
        </table></${Panel}>`;
}

const WIDE = 400;
const HIGH = 150;

/** Two to four round figures up to the tallest heap. @param {number} tallest */
export function rounded(tallest) {
  const unit = 10 ** Math.floor(Math.log10(tallest));
  const step = ([0.2, 0.5, 1, 2, 5].find((one) => tallest / (one * unit) <= 4) ?? 5) * unit;
  return Array.from({ length: Math.floor(tallest / step + 1e-9) }, (_, i) => Number(((i + 1) * step).toPrecision(6)));
}

/** @param {{levels: import("./ladder.js").Levels, market: any}} props */
export function Depth({ levels, market }) {
  const now = book(levels);
  const bids = heaped(now.bids.slice(0, 8));
  const asks = heaped(now.asks.slice(0, 8));
  const aside = html`<p>${t("depth.aside")}</p>`;
  if (!bids.length && !asks.length)
    return html`<${Panel} title=${t("depth")} aside=${aside}>
    <p class="faint">${t("depth.none")}</p></${Panel}>`;
  const centre = middle(now) ?? Number(bids[0]?.price ?? asks[0]?.price);
  const reach =
    Math.max(0.03, ...bids.map((one) => centre - Number(one.price)), ...asks.map((one) => Number(one.price) - centre)) +
    0.005;
  const tallest = Math.max(1, Number(bids.at(-1)?.total ?? 0), Number(asks.at(-1)?.total ?? 0));
  const x = (/** @type {number} */ price) => ((price - centre + reach) / (2 * reach)) * (WIDE - 56);
  const y = (/** @type {number} */ total) => HIGH - (total / tallest) * (HIGH - 12);
  /** @param {{price: string, total: string}[]} heap @param {number} end */
  const path = (heap, end) => {
    if (!heap.length) return { line: "", area: "" };
    let line = `M${x(Number(heap[0].price)).toFixed(1)} ${HIGH}`;
    for (const one of heap) line += `H${x(Number(one.price)).toFixed(1)}V${y(Number(one.total)).toFixed(1)}`;
    line += `H${end.toFixed(1)}`;
    return { line, area: `${line}V${HIGH}Z` };
  };
  const left = path(bids, 0);
  const right = path(asks, WIDE - 56);
  const marks = [centre - reach * 0.8, centre - reach * 0.4, centre + reach * 0.4, centre + reach * 0.8].filter(
    (at) => at > 0 && at < 1,
  );
  const totals = { yes: f.roundQuantity(bids.at(-1)?.total ?? "0"), no: f.roundQuantity(asks.at(-1)?.total ?? "0") };
  return html`<${Panel} title=${t("depth")} aside=${aside}>
    <svg class="chart" viewBox=${`0 0 ${WIDE} ${HIGH + 40}`} role="img" aria-label=${t("depth.label", totals)}>
    <text class="t-yes" x="0" y="12">${t("depth.yes", { total: totals.yes, word: wordOf(market, "yes") })}</text>
      <text class="t-no" x=${WIDE - 56} y="12" text-anchor="end">
      ${t("depth.no", { total: totals.no, word: wordOf(market, "no") })}</text>
    <g transform="translate(0 20)">${rounded(tallest).map(
      (total) => html`<line class="grid" x1="0" x2=${WIDE - 56} y1=${y(total)} y2=${y(total)}/>
      <text x=${WIDE - 48} y=${y(total) + 4}>${f.quantity(total)}</text>`,
    )}
      <path class="yes-area" d=${left.area}/><path class="yes-line" d=${left.line}/>
        <path class="no-area" d=${right.area}/><path class="no-line" d=${right.line}/>
      <line class="axis" x1="0" x2=${WIDE - 56} y1=${HIGH} y2=${HIGH}/>
        <line class="cross" x1=${x(centre)} x2=${x(centre)} y1="0" y2=${HIGH}/>
        <text class="t-strong" x=${x(centre)} y=${HIGH + 16} text-anchor="middle">${f.price(Number(centre.toFixed(3)))}
        </text>
      ${marks.map(
        (at) => html`<text x=${x(at)} y=${HIGH + 16} text-anchor="middle">${f.price(at.toFixed(2))}
        </text>`,
      )}</g></svg></${Panel}>`;
}
