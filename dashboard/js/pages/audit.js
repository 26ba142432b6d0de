// The time machine: the book and the trades of a market as they were after any record.
import { html, useEffect, useRef, useState } from "../lib.js";
import { local, t } from "../i18n.js";
import * as f from "../format.js";
import { all, get, sequence } from "../api.js";
import { choose, route } from "../router.js";
import { isOperator } from "../account.js";
import { book as bookOf, fromDepth, middle, rowKey } from "../ladder.js";
import { mirror } from "../decimal.js";
import { wordOf } from "../parts.js";
import { bought } from "./market.js";
import { Copy, Empty, Failed, Loading, Outcome, Panel, Segments, Time, useAsk } from "../ui.js";
import { Icon } from "../icons.js";

export const title = () => t("nav.audit");

/** @param {{market: any, depth: any}} props */
function BookThen({ market, depth }) {
  const now = bookOf(fromDepth(depth));
  const rows = [...now.asks.slice(0, 6).reverse(), ...now.bids.slice(0, 6)];
  const largest = Math.max(1e-6, ...rows.map((one) => Number(one.quantity)));
  const centre = middle(now);
  const line = (/** @type {import("../ladder.js").Level} */ one) => html`<tr key=${rowKey(one)}>
    <td class="c yes-ink num">${f.price(one.price)}</td>
    <td><svg class="bar" aria-hidden="true">
    <rect class=${one.side === "bid" ? "y" : "n"} width=${`${((Number(one.quantity) / largest) * 66).toFixed(1)}%`}
    height="100%"/><rect class=${one.side === "bid" ? "ye" : "ne"} width="2" height="100%"/></svg>
    <div class="qty">${f.roundQuantity(one.quantity)}</div></td><td class="c no-ink num">${f.price(mirror(one.price))}
    </td></tr>`;
  return html`<table class="ladder"><caption class="vh">${t("book-then")}</caption>
    <colgroup><col class="p"/><col/><col class="p"/></colgroup>
    <thead><tr><th class="c yes-ink" scope="col"><bdi>${wordOf(market, "yes")}</bdi></th><th scope="col">${t("waiting")}
    </th><th class="c no-ink" scope="col"><bdi>${wordOf(market, "no")}</bdi></th></tr></thead>
    <tbody>${now.asks.slice(0, 6).reverse().map(line)}
      <tr class="mid"><td colspan="3">${
        centre === null
          ? t("one-sided")
          : html`<span class="strong">
      ${t("midpoint", { percent: f.percent(Number(centre.toFixed(3))) })}
      </span> · ${t("spread", { price: f.price((Number(now.asks[0].price) - Number(now.bids[0].price)).toFixed(2)) })}`
      }
      </td></tr>${now.bids.slice(0, 6).map(line)}</tbody></table>`;
}

/** How many trades fell into each part of the journal, so that the reader sees where something happened. @param {any[]} trades @param {number} head */
function density(trades, head) {
  const parts = Array.from({ length: 120 }, () => 0);
  for (const one of trades) parts[Math.min(119, Math.floor((one.sequence / head) * 120))] += 1;
  return parts;
}

export function Page() {
  const { query } = route.value;
  const list = useAsk((stop) => get("/markets/public/list", { limit: 200 }, stop), []);
  const id = query.get("market") ?? list.data?.markets[0]?.id;
  const market = list.data?.markets.find((/** @type {any} */ one) => one.id === id);
  const head = useAsk((stop) => get("/time", {}, stop).then(() => sequence.peek()), []);
  const last = head.data ?? 0;
  const asked = Number(query.get("at"));
  const at = asked >= 1 && asked <= last ? asked : last;
  const [dragged, setDragged] = useState(/** @type {number | null} */ (null));
  const [playing, setPlaying] = useState(false);
  const [speed, setSpeed] = useState("trade");
  const shown = dragged ?? at;
  const past = useAsk(() => (id ? all(`/markets/${id}/trades`, "trades", {}, 5000) : Promise.resolve([])), [id]);
  const trades = past.data ?? [];
  const depth = useAsk(
    (stop) =>
      id && at
        ? get(`/trading/books/${id}/depth`, { outcome: "yes", levels: 20, asOf: at }, stop)
        : Promise.resolve(null),
    [id, at],
  );
  const seal = useAsk(
    (stop) => (isOperator.value ? get("/admin/audit/head", {}, stop) : Promise.resolve(null)),
    [isOperator.value],
  );
  const timer = useRef(/** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined));
  const visit = (/** @type {number} */ to) => {
    setDragged(to);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      choose({ at: String(to) });
      setDragged(null);
    }, 200);
  };
  const then = trades.filter((one) => one.sequence <= at);
  const next = () =>
    speed === "record"
      ? Math.min(last, at + 1)
      : ([...trades].reverse().find((one) => one.sequence > at)?.sequence ?? last);
  const previous = () =>
    speed === "record" ? Math.max(1, at - 1) : (trades.find((one) => one.sequence < at)?.sequence ?? 1);
  useEffect(() => {
    if (!playing || depth.loading) return undefined;
    if (at >= last) {
      setPlaying(false);
      return undefined;
    }
    // The next moment waits for the last one's answer: each is replayed from the journal.
    const step = setTimeout(() => choose({ at: String(next()) }), 700);
    return () => clearTimeout(step);
  }, [playing, at, depth.loading, depth.data]);
  const top = html`<div class="page-head"><div class="grow"><h1>${t("nav.audit")}</h1><p>${t("audit-text")}</p></div>
    <div class="row">${
      market &&
      html`<div class="field"><label class="vh" for="audit-market">${t("market")}</label>
    <select class="select" id="audit-market" onChange=${(/** @type {any} */ e) => choose({ market: e.target.value })}>
    ${list.data?.markets.map(
      (/** @type {any} */ one) => html`<option value=${one.id} selected=${one.id === id}>
    ${local(one.questions)}</option>`,
    )}</select>
    </div>`
    }<${Copy} kind="" text=${`${location.origin}/audit?market=${id}&at=${at}`} label=${t("copy-moment")}/></div>
    </div>`;
  if (list.error) return html`${top}<div class="panel"><${Failed} error=${list.error} onAgain=${list.again}/></div>`;
  if (!list.data || !head.data) return html`${top}<div class="panel"><${Loading} rows=${8}/></div>`;
  if (!market) return html`${top}<div class="panel"><${Empty} title=${t("no-markets")}/></div>`;
  const bars = density(trades, last);
  const highest = Math.max(1, ...bars);
  const when = then[0]?.timestamp;
  return html`${top}<section class="panel" aria-label=${t("moment")}>
    <div class="chart-bar"><div class="playbar">
    <button type="button" class="btn s icon-only" aria-label=${t("step-back")} onClick=${() => visit(previous())}>
    <${Icon} name="back"/></button><button type="button" class="btn s primary" onClick=${() => setPlaying(!playing)}>
    <${Icon} name=${playing ? "pause" : "play"}/>${playing ? t("pause") : t("play")}</button>
    <button type="button" class="btn s icon-only" aria-label=${t("step-forward")} onClick=${() => visit(next())}>
    <${Icon} name="forward"/></button><${Segments} label=${t("step-by")} value=${speed} onChoose=${setSpeed}
    options=${[
      ["trade", t("by-trade")],
      ["record", t("by-record")],
    ]}/></div><span class="grow"></span>
      <label class="row tight">${t("record-head")} <input class="input s mono-in num r" inputmode="numeric"
        value=${String(shown)}
        onChange=${(/** @type {any} */ e) => {
          const to = Number(e.target.value);
          if (to >= 1 && to <= last) visit(Math.floor(to));
        }}/>
        </label><span class="num">${t("of-records", { n: f.count(last) })}</span></div>
    <div class="chart-box scrub"><svg class="chart" viewBox="0 0 1200 90" preserveAspectRatio="none" aria-hidden="true">
      ${bars.map(
        (n, i) => html`<rect key=${i} class=${(i / 120) * last <= shown ? "hb-past" : "hb-next"}
      x=${i * 10 + 1} width="8" y=${84 - (n / highest) * 78} height=${n ? (n / highest) * 78 : 1}/>`,
      )}</svg>
      <input type="range" aria-label=${t("moment")} aria-valuetext=${t("record", { number: f.count(shown) })} min="1"
        max=${last} value=${shown} onInput=${(/** @type {any} */ e) => visit(Number(e.target.value))}/></div></section>
    <div class="cols-3 audit-cols gap-t"><${Panel} title=${t("book-then")} flush>
      ${
        depth.error
          ? html`<${Failed} error=${depth.error} onAgain=${depth.again}/>`
          : depth.data
            ? html`<${BookThen}
      market=${market} depth=${depth.data}/>`
            : html`<${Loading} rows=${10}/>`
      }</${Panel}>
      <${Panel} title=${t("trades-then")} flush>${
        then.length === 0
          ? html`<p class="panel-body faint">
        ${t("trades-none-then")}</p>`
          : html`<div class="scroll-x" tabindex="0" role="group" aria-label=${t("trades-then")}><table class="table dense"><caption class="vh">${t("trades-then")}
        </caption><thead><tr><th scope="col">${t("time")}</th><th scope="col">${t("bought")}</th>
        <th class="r" scope="col">${t("contracts-head")}</th><th class="r" scope="col">${t("price")}</th></tr></thead>
        <tbody>${then.slice(0, 12).map(
          (one) => html`<tr key=${one.id}><td class="muted"><${Time} at=${one.timestamp}/>
        </td><td><${Outcome} outcome=${bought(one).outcome} words=${wordOf(market, bought(one).outcome)}/></td>
        <td class="r" title=${f.quantity(one.quantity)}>${f.shortQuantity(one.quantity)}</td>
        <td class="r">${f.price(bought(one).price)}</td></tr>`,
        )}</tbody></table></div>`
      }</${Panel}>
      <${Panel} title=${t("then-and-now")}>
        <dl class="sum"><div><dt>${t("record-head")}</dt><dd>${f.count(at)} → ${f.count(last)}</dd></div>
        ${
          when &&
          html`<div><dt>${t("last-trade-then")}</dt><dd><${Time} at=${when}/></dd>
        </div>`
        }<div><dt>${t("trades")}</dt><dd>${f.count(then.length)} → ${f.count(trades.length)}</dd></div>
        <div><dt>${t("last-price")}</dt><dd>
        ${then[0] ? f.price(then[0].price) : "–"} → ${trades[0] ? f.price(trades[0].price) : "–"}</dd></div></dl>
        </${Panel}></div>
    ${
      seal.data &&
      html`<section class="panel gap-t head-strip" aria-label=${t("head-now")}>
      <dl class="strip"><div><dt>${t("head-chain", { number: f.count(seal.data.sequence) })}</dt>
      <dd><code class="brk">${seal.data.chainHash}</code></dd></div>
      <div><dt>${t("state-digest")}</dt><dd><code class="brk">${seal.data.stateDigest}</code></dd></div></dl>
      <${Copy} text=${`${seal.data.sequence} ${seal.data.chainHash} ${seal.data.stateDigest}`}/></section>`
    }`;
}
