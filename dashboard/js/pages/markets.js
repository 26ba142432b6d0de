// The first page: what can be bet on, how likely it is held to be, and where to begin.
import { html, useEffect, useMemo, useState } from "../lib.js";
import { categoryName, language, local, t } from "../i18n.js";
import * as f from "../format.js";
import { get } from "../api.js";
import { choose, route } from "../router.js";
import { useFeed } from "../feed.js";
import { askLines, askQuotes, change, found, hear, probability, quote, quoted } from "../quotes.js";
import { Closing, Pair, Picture, wordOf } from "../parts.js";
import { Delta, Empty, Failed, Loading, Meter, Segments, Spark, useAsk } from "../ui.js";
import { Icon } from "../icons.js";
import { PriceChart } from "../price-chart.js";

const AT_A_TIME = 12;
/** So many markets are asked for with their figures and sorted by them; others follow, newest first. */
const SORTED = 200;

export const title = () => t("nav.markets");

/** @param {{one: import("../quotes.js").Quote}} props */
function Figures({ one }) {
  const { market, stats } = one;
  const none = stats && stats.trades === 0;
  return html`<div class="card-fig"><div><div class="big">
    ${f.percent(probability(market))} <small>
    ${
      none
        ? t("no-trades-yet")
        : market.status === "SUSPENDED"
          ? t("last-trade")
          : html`<bdi>${wordOf(market, "yes")}
    </bdi>`
    }</small></div><${Delta} value=${change(one)}/></div><${Spark} values=${one.line ?? []}/></div>`;
}

/** @param {any} stats */
const spread = (stats) =>
  stats && Number(stats.bestAsk) > 0 && Number(stats.bestBid) > 0 && Number(stats.bestAsk) < 1
    ? t("spread", { price: f.price((Number(stats.bestAsk) - Number(stats.bestBid)).toFixed(2)) })
    : "";

/** @param {{id: string, market: any}} props */
function Card({ market: given }) {
  const one = found(given).value;
  const { market, stats } = one;
  return html`<article class="card"><div class="card-top">
    <span class="cut">${market.categories?.[0] ? categoryName(market.categories[0]) : ""}</span>
    <${Closing} market=${market}/></div>
    <h3><${Picture} url=${market.logo}/><a href=${`/markets/${market.slug ?? market.id}`}><bdi>${local(market.questions)}</bdi></a></h3>
    <${Figures} one=${one}/>
      <${Meter} yes=${probability(market)}/><${Pair} market=${market} stats=${stats}/>
    <div class="card-foot"><span>
      ${stats ? t("contracts", { n: f.roundQuantity(stats.volume), count: Number(stats.volume) }) : " "}</span>
      <span>${spread(stats)}</span></div></article>`;
}

/** @param {{market: any}} props */
function Row({ market: given }) {
  const one = found(given).value;
  const { market, stats } = one;
  return html`<tr><td><a class="q" href=${`/markets/${market.slug ?? market.id}`}><bdi>${local(market.questions)}</bdi></a>
    <span class="sub">${market.categories?.[0] ? categoryName(market.categories[0]) : ""}</span></td>
    <td class="r strong">${f.percent(probability(market))}</td><td class="r"><${Delta} value=${change(one)}/></td>
      <td class="r only-wide">${stats ? f.roundQuantity(stats.volume) : ""}</td>
      <td class="r only-wide"><${Closing} market=${market}/></td>
      <td class="only-wide"><${Pair} market=${market} stats=${stats}/></td></tr>`;
}

/** @param {{event: any}} props */
function EventFeature({ event }) {
  const shown = event.markets.slice(0, 6);
  return html`<article class="panel"><div class="panel-body stack">
    <div class="row between"><span class="tag line"><${Icon} name="flag"/>
    ${t("event-of", { n: event.markets.length, count: event.markets.length })}</span></div>
    <h2><a class="plain" href=${`/events/${event.slug ?? event.id}`}><bdi>${local(event.titles)}</bdi></a></h2>
    <div>${shown.map((/** @type {any} */ given) => {
      const { market, stats } = found(given).value;
      return html`<div class="field-row" key=${market.id}>
        <a class="plain strong clamp" href=${`/markets/${market.slug ?? market.id}`}><bdi>${local(market.questions)}</bdi></a>
        <${Meter} yes=${probability(market)}/><span class="num right strong">${f.percent(probability(market))}</span>
        <${Pair} market=${market} stats=${stats}/></div>`;
    })}</div><div class="row between small"><span class="faint"><bdi>${local(event.subTitles)}</bdi></span>
      <a href=${`/events/${event.slug ?? event.id}`}>${t("whole-event")}</a></div></div></article>`;
}

/** @param {{market: any}} props */
function MarketFeature({ market: given }) {
  const one = found(given).value;
  const { market, stats } = one;
  return html`<article class="panel"><div class="panel-body stack">
    <div class="row between"><span class="tag line"><${Icon} name="flag"/>
    ${market.categories?.[0] ? categoryName(market.categories[0]) : t("market")}</span>
    <span class="faint small num">
    ${stats ? `${t("contracts", { n: f.roundQuantity(stats.volume), count: Number(stats.volume) })} · ` : ""}
    <${Closing} market=${market}/></span></div>
    <div class="row top"><h2 class="grow"><a class="plain" href=${`/markets/${market.slug ?? market.id}`}>
      <bdi>${local(market.questions)}</bdi></a></h2>
      <div class="right"><span class="big">${f.percent(probability(market))}</span><br/><${Delta} value=${change(one)}/>
      </div></div>
    ${
      market.publishedAt
        ? html`<${PriceChart} market=${market} stats=${stats} period="1w" height=${214}
      bare/>`
        : html`<div class="chart-empty h214"></div>`
    }<${Pair} market=${market} stats=${stats} long/></div>
      </article>`;
}

/** @type {Record<string, (a: import("../quotes.js").Quote, b: import("../quotes.js").Quote) => number>} */
const ORDERS = {
  volume: (a, b) => Number(b.stats?.volume ?? 0) - Number(a.stats?.volume ?? 0),
  newest: (a, b) => String(b.market.publishedAt ?? "").localeCompare(String(a.market.publishedAt ?? "")),
  closing: (a, b) => String(a.market.deadline ?? "~").localeCompare(String(b.market.deadline ?? "~")),
  moving: (a, b) => Math.abs(change(b) ?? 0) - Math.abs(change(a) ?? 0),
};

/** @param {any[]} markets @param {string} order */
const sorted = (markets, order) => [...markets].sort((a, b) => ORDERS[order](found(a).peek(), found(b).peek()));

export function Page() {
  const { query } = route.value;
  const asked = query.get("q") ?? "";
  const chosen = query.get("category");
  const order =
    query.get("sort") && ORDERS[query.get("sort") ?? ""] ? /** @type {string} */ (query.get("sort")) : "volume";
  const view = query.get("view") === "list" ? "list" : "cards";
  const [shown, setShown] = useState(AT_A_TIME);
  const [placed, setPlaced] = useState(/** @type {any[] | null} */ (null));
  const [moved, setMoved] = useState(false);

  const list = useAsk(
    async (stop) => {
      const [page, categories, events] = await Promise.all([
        asked ? get("/markets/search", { q: asked, limit: 100 }, stop) : quoted(SORTED, {}, stop),
        get("/categories/public/list", {}, stop),
        get("/events/public/list", { highlighted: true, limit: 20 }, stop),
      ]);
      if (!asked && page.total > SORTED)
        page.markets.push(...(await get("/markets/public/list", { limit: 1000, offset: SORTED }, stop)).markets);
      for (const market of asked ? page.markets : page.markets.slice(SORTED)) quote(market);
      for (const event of events.events) for (const market of event.markets) quote(market);
      const starred = page.markets.filter((/** @type {any} */ one) => one.highlighted);
      return { ...page, categories: categories.categories, events: events.events, starred };
    },
    [asked],
  );
  const { data } = list;

  const within = useMemo(
    () =>
      (data?.markets ?? []).filter(
        (/** @type {any} */ one) => !chosen || one.categories.some((/** @type {any} */ c) => c.slug === chosen),
      ),
    [data, chosen],
  );

  useEffect(() => {
    if (!data) return undefined;
    let here = true;
    setShown(AT_A_TIME);
    setPlaced(order === "newest" || asked ? within : null);
    setMoved(false);
    const some = within.slice(0, SORTED);
    const ready = order === "moving" ? Promise.all([askQuotes(some), askLines(some)]) : askQuotes(some);
    ready.then(
      () =>
        here &&
        setPlaced(asked ? within : order === "newest" ? within : [...sorted(some, order), ...within.slice(SORTED)]),
    );
    return () => void (here = false);
  }, [data, within, order]);

  const rows = (placed ?? within).slice(0, shown);
  useEffect(() => void askLines(rows), [placed, shown]);
  const event = useMemo(() => [...(data?.events ?? [])].sort((a, b) => b.markets.length - a.markets.length)[0], [data]);
  const star = useMemo(() => {
    const outside = (data?.starred ?? []).filter(
      (/** @type {any} */ one) => !event?.markets.some((/** @type {any} */ m) => m.id === one.id),
    );
    return outside[0] ?? (placed ?? []).find((one) => !event?.markets.some((/** @type {any} */ m) => m.id === one.id));
  }, [data, placed, event]);
  useEffect(() => {
    const featured = [...(event?.markets ?? []).slice(0, 6), ...(star ? [star] : [])];
    askQuotes(featured).then(() => askLines(star ? [star] : []));
  }, [event, star]);

  useFeed(
    ["markets"],
    (messages) => {
      for (const message of messages) if (message.data) hear(message.data);
      if (placed && !asked)
        setMoved(sorted(placed.slice(0, SORTED), order).some((one, at) => one.id !== placed[at]?.id));
    },
    () => (asked ? askQuotes(rows, true) : quoted(AT_A_TIME * 4)),
  );

  const counts = useMemo(() => {
    /** @type {Map<string, number>} */
    const numbers = new Map();
    for (const one of data?.markets ?? [])
      for (const category of one.categories) numbers.set(category.slug, (numbers.get(category.slug) ?? 0) + 1);
    return numbers;
  }, [data]);

  const head = html`<div class="page-head"><div class="grow"><h1>${t("nav.markets")}</h1><p>${t("markets-text")}</p>
    </div><div class="row">
    <div class="field"><label class="vh" for="sort">${t("sort-by")}</label>
      <select class="select" id="sort" value=${order}
      onChange=${(/** @type {any} */ e) => choose({ sort: e.target.value === "volume" ? null : e.target.value })}>
      ${Object.keys(ORDERS).map(
        (key) => html`<option value=${key} selected=${key === order}>${t(`sort.${key}`)}
      </option>`,
      )}</select></div>
    <${Segments} label=${t("show-as")} value=${view}
      onChoose=${(/** @type {string} */ v) => choose({ view: v === "cards" ? null : v })}
      options=${[
        [
          "cards",
          html`<${Icon} name="cards"/><span>${t("cards")}
      </span>`,
        ],
        ["list", html`<${Icon} name="list"/><span>${t("list")}</span>`],
      ]}/></div></div>`;
  if (list.error && !data) return html`${head}<${Failed} error=${list.error} onAgain=${list.again}/>`;
  if (!data || !placed)
    return html`${head}
    <div class="cards">${Array.from(
      { length: 8 },
      (_, i) => html`<div class="card" key=${i}><${Loading} rows=${5}/>
    </div>`,
    )}</div>`;
  language.value;
  return html`${head}
    ${
      !asked &&
      !chosen &&
      (event || star) &&
      html`<section class="feature" aria-label=${t("highlighted")}>
      ${event && html`<${EventFeature} event=${event}/>`}
      ${star && html`<${MarketFeature} key=${star.id} market=${star}/>`}</section>`
    }
    ${
      asked &&
      html`<p class="found" role="status">
      ${t("found", { n: f.count(data.total), count: data.total, query: asked })}</p>`
    }
    <div class="chips" role="group" aria-label=${t("categories")}>
      <button class="chip" type="button" aria-pressed=${String(!chosen)} onClick=${() => choose({ category: null })}>
      ${t("all")} <span class="n">${f.count(data.markets.length)}</span></button>
      ${data.categories
        .filter((/** @type {any} */ c) => counts.get(c.slug))
        .map(
          (/** @type {any} */ c) => html`<button
        key=${c.slug} class="chip" type="button" aria-pressed=${String(chosen === c.slug)}
        onClick=${() => choose({ category: chosen === c.slug ? null : c.slug })}><bdi>${categoryName(c)}
        </bdi> <span class="n">${counts.get(c.slug)}</span></button>`,
        )}</div>
    <h2 class="vh">${t("nav.markets")}</h2>
    ${
      moved &&
      html`<p class="banner info cards-top" role="status"><span class="grow">${t("order-changed")}</span>
      <button class="btn s" type="button"
      onClick=${() => {
        setPlaced(sorted(placed ?? within, order));
        setMoved(false);
      }}>${t("sort-again")}</button>
      </p>`
    }
    ${
      within.length === 0
        ? html`<div class="panel cards-top">
      <${Empty} glyph="glass" title=${asked ? t("nothing-matches", { query: asked }) : t("no-markets")}
      text=${asked ? t("nothing-matches-text") : t("no-markets-text")}>
      ${
        (asked || chosen) &&
        html`<button class="btn primary" type="button"
      onClick=${() => choose({ q: null, category: null })}>${t("clear-search")}</button>`
      }</${Empty}></div>`
        : view === "cards"
          ? html`<div class="cards cards-top">
        ${rows.map((/** @type {any} */ one) => html`<${Card} key=${one.id} market=${one}/>`)}</div>`
          : html`<div class="panel cards-top scroll-x" tabindex="0" role="group" aria-label=${t("nav.markets")}>
          <table class="table"><caption class="vh">${t("nav.markets")}</caption>
          <thead><tr><th scope="col">${t("question")}</th><th class="r" scope="col">${t("chance")}</th>
          <th class="r" scope="col">${t("24h")}</th><th class="r only-wide" scope="col">${t("volume")}</th>
          <th class="r only-wide" scope="col">${t("closes-head")}</th>
          <th class="r only-wide" scope="col">${t("buy-at-best")}</th></tr></thead>
          <tbody>${rows.map((/** @type {any} */ one) => html`<${Row} key=${one.id} market=${one}/>`)}</tbody></table>
          </div>`
    }
    ${
      within.length > 0 &&
      html`<div class="row between more-row">
      <span class="faint">${t("shown-of", { shown: f.count(rows.length), total: f.count(within.length) })}</span>
      ${
        rows.length < within.length &&
        html`<button class="btn" type="button"
      onClick=${() => setShown(shown + AT_A_TIME)}>
      ${t("show-more", { n: Math.min(AT_A_TIME, within.length - rows.length) })}</button>`
      }</div>`
    }`;
}
