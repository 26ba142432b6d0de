// One market: how likely, since when, at what prices, what an order would do, and by which rules it ends.
import { html, still, useEffect, useMemo, useRef, useState } from "../lib.js";
import { categoryName, local, t } from "../i18n.js";
import * as f from "../format.js";
import { get, pages, post } from "../api.js";
import * as d from "../decimal.js";
import { choose, go, isId, route } from "../router.js";
import { useFeed } from "../feed.js";
import { refreshBalance, session, venue } from "../account.js";
import { notify } from "../notices.js";
import { apply, book as bookOf, fromDepth, ownRows } from "../ladder.js";
import { pauses, PERIODS } from "../candles.js";
import { prices as pricesOf, probability, shape } from "../quotes.js";
import { Avatar, Picture, trades as takesOrders, wordOf } from "../parts.js";
import { Button, Delta, Dialog, Empty, Failed, Field, Loading, Outcome, Panel, Segments, Time, useAsk, useCalm } from "../ui.js";
import { Diamond, Icon } from "../icons.js";
import { PriceChart } from "../price-chart.js";
import { Depth, Ladder } from "../book-panel.js";
import { Ticket } from "../ticket.js";
import { Amend, cancelOrder, orderWords, places, placeWords, teller } from "../order-acts.js";

const SHOWN = 7;
/** States after which nothing trades any more. */
const OVER = ["SETTLED", "VOIDED"];

let named = "";
export const title = () => named || t("market");

/** What the taker of a trade bought, and at what price. @param {any} trade */
export function bought(trade) {
  const outcome = trade.takerSide === "BUY" ? trade.takerOutcomeId : trade.takerOutcomeId === "yes" ? "no" : "yes";
  const price = outcome === "yes" ? trade.price : d.mirror(trade.price);
  return { outcome, price, stake: d.cost(price, trade.quantity) };
}

/** @param {{market: any, moves: any[]}} props */
function LifePart({ market, moves }) {
  const { status } = market;
  const at =
    { DRAFT: 0, ACTIVE: 1, SUSPENDED: 1, CLOSED: 2, RESOLVED: 4, DISPUTED: 4, SETTLED: 5, VOIDED: 5 }[
      /** @type {string} */ (status)
    ] ?? 1;
  const over = status === "ACTIVE" && new Date(market.deadline).getTime() <= Date.now();
  const when = (/** @type {string} */ type) => moves.find((one) => one.type === type)?.createdAt;
  const closed = when("MARKET_CLOSED");
  const steps = [
    market.publishedAt ? t("life.published", { date: f.date(market.publishedAt) }) : t("status.DRAFT"),
    t(status === "SUSPENDED" ? "status.SUSPENDED" : "status.ACTIVE"),
    at > 1
      ? t("life.closed", { date: f.date(closed ?? market.deadline) })
      : t("life.closes", { date: f.date(market.deadline) }),
    status === "VOIDED" ? t("status.VOIDED") : t("life.result"),
    t(status === "DISPUTED" ? "status.DISPUTED" : "life.window", { time: f.duration(market.disputeWindowSeconds) }),
    t("status.SETTLED"),
  ];
  const now = over ? 2 : at;
  return html`<section class="lifecycle" aria-label=${t("life")}>
    <ol class="steps">${steps.map(
      (words, i) => html`<li key=${i} class=${i < now ? "done" : i === now ? "now" : ""}
    aria-current=${i === now ? "step" : undefined}><span class="dot"></span>${words}</li>`,
    )}</ol></section>`;
}

/** A holder's doubt of the outcome, against the venue's bond. @param {{market: any, onClose: () => void}} props */
function Doubt({ market, onClose }) {
  const [reason, setReason] = useState("");
  const act = async () => {
    await post("/account/disputes", { marketId: market.id, reason }, { tell: teller() });
    notify({ kind: "done", title: t("move.MARKET_DISPUTED") });
    refreshBalance();
  };
  return html`<${Dialog} title=${t("ask.dispute")} safe=${t("not-now")} action=${t("act.dispute")} act=${act}
    effects=${[t("doubt-bond", { money: f.money(venue.value.disputeBond ?? "0") })]} onClose=${onClose}>
    <${Field} label=${t("reason")} control=${(/** @type {any} */ ids) => html`<textarea class="input" rows="3" maxlength="500"
      ...${ids} value=${reason} onInput=${(/** @type {any} */ e) => setReason(e.target.value)}></textarea>`}/></${Dialog}>`;
}

/** What the market's state means for the reader's money. @param {{market: any, moves: any[], paid: any[], held: any[]}} props */
function StatePart({ market, moves, paid, held }) {
  const [doubting, setDoubting] = useState(false);
  const { status } = market;
  const when = (/** @type {string} */ type) => moves.find((one) => one.type === type)?.createdAt;
  const own = paid.length
    ? ` ${t("state.own-paid", { money: f.money(paid.reduce((sum, one) => d.add(sum, one.payout), "0")), gain: f.signedMoney(paid.reduce((sum, one) => d.add(sum, one.realisedPnl), "0")) })}`
    : "";
  const result = market.winningOutcomeId ? wordOf(market, market.winningOutcomeId) : "";
  let icon = "pause";
  let head = "";
  let body = "";
  if (status === "SUSPENDED")
    [head, body] = [
      t("state.paused", { time: f.time(when("MARKET_SUSPENDED") ?? market.updatedAt) }),
      t("state.paused-text"),
    ];
  else if (status === "CLOSED" || (status === "ACTIVE" && !takesOrders(market)))
    [icon, head, body] = [
      "clock",
      t("state.closed", { time: f.time(when("MARKET_CLOSED") ?? market.deadline) }),
      t("state.closed-text"),
    ];
  else if (status === "RESOLVED") {
    const at = when("MARKET_RESOLVED");
    const end = at ? new Date(new Date(at).getTime() + market.disputeWindowSeconds * 1000).toISOString() : null;
    [icon, head, body] = [
      "flag",
      t("state.result", { result }),
      end ? t("state.result-text", { time: f.time(end), distance: f.distance(end) }) : t("state.result-soon"),
    ];
    if (held.length)
      body += ` ${held.map((one) => (one.outcomeId === market.winningOutcomeId ? t("state.own-right", { n: f.quantity(one.quantity), count: Number(one.quantity), money: f.money(one.quantity) }) : t("state.own-wrong", { n: f.quantity(one.quantity), count: Number(one.quantity) }))).join(" ")}`;
  } else if (status === "DISPUTED") [icon, head, body] = ["gavel", t("state.disputed"), t("state.disputed-text")];
  else if (status === "SETTLED") [icon, head, body] = ["done", t("state.paid", { result }), own];
  else if (status === "VOIDED")
    [icon, head, body] = [
      "close",
      market.settlementPrice ? t("state.void", { price: f.price(market.settlementPrice) }) : t("status.VOIDED"),
      own,
    ];
  else if (status === "DRAFT") [icon, head, body] = ["file", t("state.draft"), t("state.draft-text")];
  else return null;
  return html`<div class="banner state" role="status"><${Icon} name=${icon}/><div class="grow"><b>${head}</b> ${body}
    </div>${
      status === "RESOLVED" && held.length > 0 && venue.value.disputeBond && session.value &&
      html`<button type="button" class="btn s" onClick=${() => setDoubting(true)}>${t("act.dispute")}</button>`
    }${doubting && html`<${Doubt} market=${market} onClose=${() => setDoubting(false)}/>`}</div>`;
}

/** @param {{market: any, trades: any[], more: boolean, onMore: () => void}} props */
function TradesPart({ market, trades, more, onMore }) {
  return html`<${Panel} title=${t("trades")} flush aside=${
    more &&
    html`<button type="button" class="btn quiet s"
    onClick=${onMore}>${t("show-more-plain")}</button>`
  }>
    ${
      trades.length === 0
        ? html`<p class="panel-body faint">${t("trades-none")}
      </p>`
        : html`<div class="scroll-x" tabindex="0" role="group" aria-label=${t("trades")}><table class="table dense"><caption class="vh">${t("trades")}</caption>
      <thead><tr><th scope="col">${t("time")}</th><th scope="col">${t("bought")}</th>
      <th class="r" scope="col">${t("contracts-head")}</th><th class="r" scope="col">${t("price")}</th>
      <th class="r" scope="col">${t("stake")}</th></tr></thead>
      <tbody>${trades.map((trade) => {
        const { outcome, price, stake } = bought(trade);
        return html`<tr key=${trade.id}><td class="muted"><${Time} at=${trade.timestamp}/></td>
          <td><${Outcome} outcome=${outcome} words=${wordOf(market, outcome)}/></td>
          <td class="r" title=${f.quantity(trade.quantity)}>${f.shortQuantity(trade.quantity)}</td>
          <td class="r">${f.price(price)}</td><td class="r" title=${f.exactMoney(stake)}>${f.money(stake)}</td></tr>`;
      })}</tbody></table></div>`
    }</${Panel}>`;
}

/** @param {{market: any, activities: any[]}} props */
function ActivityPart({ market, activities }) {
  return html`<${Panel} title=${t("activity")} extra="mk-act">${
    activities.length === 0
      ? html`<p class="faint">
    ${t("activity-none")}</p>`
      : html`<ul class="feed-list">${activities.map((one, i) =>
          one.type === "TRADE"
            ? html`<li key=${i}><${Avatar} user=${one.user} size="s"/>
      <span><a class="plain strong" href=${`/profiles/${one.user.id}`}><bdi>${one.user.profileName}</bdi>
      </a> ${t("backed")} <${Outcome} outcome=${one.outcomeId} words=${wordOf(market, one.outcomeId)}/>
      <small>${t("odds", { odds: f.odds(one.odd) })}</small></span>
      <span class="num">${f.money(one.stake)}<small><${Time} at=${one.createdAt}/></small></span></li>`
            : html`<li key=${i}><span class="avatar s" aria-hidden="true">
      <${Icon} name=${one.type === "MARKET_SUSPENDED" ? "pause" : one.type === "MARKET_REOPENED" || one.type === "MARKET_PUBLISHED" ? "play" : "flag"}/>
      </span><span>${t(`move.${one.type}`)}</span><span class="num"><small><${Time} at=${one.createdAt}/></small></span>
      </li>`,
        )}</ul>`
  }</${Panel}>`;
}

/** @param {{market: any}} props */
function RulesPart({ market }) {
  const free = d.isZero(market.takerFee) && d.isZero(market.makerFee);
  return html`<${Panel} title=${t("rules")} extra="mk-rules">
    <div class="stack"><div class="prose s">${local(market.descriptions)
      .split(/\n+/)
      .map(
        (text, i) => html`<p key=${i}>
    <bdi>${text}</bdi></p>`,
      )}</div>
    <dl class="dates"><dt>${t("closes-head")}</dt>
      <dd><time datetime=${market.deadline} title=${market.deadline}>${f.dateTime(market.deadline)}</time></dd>
      <dt>${t("dispute-window")}</dt><dd>${t("after-result", { time: f.duration(market.disputeWindowSeconds) })}</dd>
      <dt>${t("fee")}</dt><dd>
        ${free ? t("fee-none") : t("fee-text", { taker: f.rate(market.takerFee), maker: f.rate(market.makerFee) })}</dd>
        </dl></div></${Panel}>`;
}

/** @param {{market: any, positions: any[], orders: any[], ahead: Map<string, string>, pnl: any, onOrders: () => void, onOwn: (orders: any[]) => void}} props */
function YoursPart({ market, positions, orders, ahead, pnl, onOrders, onOwn }) {
  const held = positions.filter((one) => !d.isZero(one.quantity));
  const p = probability(market);
  return html`<${Panel} title=${t("your-position")} aside=${html`<a href="/portfolio">${t("nav.portfolio")}</a>`}
    foot=${
      orders.length > 0 &&
      html`<ul class="own-orders num">${orders.map(
        (order) => html`<li key=${order.id}>
      <${Diamond}/><span><a class="plain" href=${`/orders/${order.id}`}>
      ${orderWords(order, wordOf(market, order.outcomeId))}</a>
      ${ahead.has(order.id) && html`<br/><span class="faint small">${placeWords(ahead.get(order.id))}</span>`}</span>
      <button type="button" class="btn s" onClick=${() => onOwn([order])}>${t("amend")}</button>
      <${Button} kind="s" act=${() => cancelOrder(order.id).then(onOrders)}>${t("cancel")}</${Button}></li>`,
      )}</ul>`
    }>
    ${
      held.length === 0
        ? html`<p class="faint">${orders.length ? t("no-position-orders") : t("no-position")}
      </p>`
        : html`<dl class="sum">
      ${held.map(
        (one) => html`<div key=${one.id}>
        <dt><${Outcome} outcome=${one.outcomeId}
        words=${wordOf(market, one.outcomeId)}/>  ${t("n-at", { n: f.quantity(one.quantity), price: f.price(one.averagePrice) })}
        </dt><dd>${f.money(one.totalStake)}</dd></div>`,
      )}
      ${
        pnl &&
        html`<div><dt>
        ${t("worth-now", { price: f.price(held[0].outcomeId === "yes" ? p : Number((1 - p).toFixed(4))) })}</dt>
        <dd>${f.money(pnl.holdingsValue)}</dd></div>
        <div class="rule total"><dt>${t("gain-so-far")}</dt>
        <dd class=${f.direction(pnl.unrealisedPnl)}>${f.signedMoney(pnl.unrealisedPnl)}</dd></div>`
      }</dl>`
    }</${Panel}>`;
}

const Life = still(LifePart);
const State = still(StatePart);
const Trades = still(TradesPart);
const Activity = still(ActivityPart);
const Rules = still(RulesPart);
const Yours = still(YoursPart);
const Chart = still(PriceChart);
const Form = still(Ticket);
const Heap = still(Depth);

/** Its address has the market's id or slug; everything else is asked by id. @param {{id: string}} props */
export function Page({ id: name }) {
  const ask = useAsk((stop) => (isId(name) ? Promise.resolve({ id: name }) : get(`/markets/${name}`, {}, stop)), [name]);
  if (ask.data) return html`<${Market} key=${ask.data.id} id=${ask.data.id}/>`;
  return ask.error
    ? html`<h1 class="vh">${t("market")}</h1><${Failed} error=${ask.error} onAgain=${ask.again}/>`
    : html`<${Loading} rows=${9}/>`;
}

/** @param {{id: string}} props */
function Market({ id }) {
  const { query } = route.value;
  const kind = query.get("chart") === "candles" ? "candles" : "line";
  const asTable = query.get("chart") === "table";
  const [levels, setLevels] = useState(() => fromDepth({}));
  const [latest, setLatest] = useState(/** @type {any} */ (null));
  const [trades, setTrades] = useState(/** @type {any[]} */ ([]));
  const [shown, setShown] = useState(SHOWN);
  const [activities, setActivities] = useState(/** @type {any[]} */ ([]));
  const [mine, setMine] = useState(
    /** @type {{orders: any[], ahead: Map<string, string>, positions: any[], pnl: any, paid: any[]}} */ ({
      orders: [],
      ahead: new Map(),
      positions: [],
      pnl: null,
      paid: [],
    }),
  );
  const [sheet, setSheet] = useState(false);
  const [amended, setAmended] = useState(/** @type {any} */ (null));
  const [picked, setPicked] = useState(() => {
    const buy = query.get("buy");
    return /** @type {{outcome: "yes" | "no", price?: string, n: number} | null} */ (
      buy === "no" || buy === "yes" ? { outcome: buy, n: 1 } : null
    );
  });

  const ask = useAsk(
    async (stop) => {
      const from = new Date(Date.now() - 25 * 3_600_000).toISOString();
      const [market, stats, depth, past, done, { candles }] = await Promise.all([
        get(`/markets/${id}`, {}, stop),
        get(`/markets/${id}/stats`, {}, stop),
        get(`/trading/books/${id}/depth`, { outcome: "yes", levels: 50 }, stop),
        get(`/markets/${id}/trades`, { limit: 50 }, stop),
        get(`/markets/${id}/activity`, { limit: 200 }, stop),
        get(`/markets/${id}/candles`, { interval: "1h", from }, stop),
      ]);
      setLevels(fromDepth(depth));
      setTrades(past.trades);
      setActivities(done.activities);
        named = local(market.questions);
      document.title = `${named} · openoutcry`;
      return { market, stats, before: shape(candles).before };
    },
    [id],
  );
  const { data } = ask;

  const refreshMine = async () => {
    if (!session.value) return;
    try {
      const [orders, positions, pnl] = await Promise.all([
        get("/trading/orders", { active: true, marketId: id }),
        pages("/trading/positions", "positions"),
        get("/account/pnl", { marketId: id }),
      ]);
      const ended = data && OVER.includes(data.market.status);
      const paid = ended
        ? (await get("/account/settlements", { limit: 1000 })).settlements.filter(
            (/** @type {any} */ one) => one.marketId === id,
          )
        : [];
      const ahead = await places(orders.orders);
      setMine({
        ahead,
        orders: orders.orders,
        positions: positions.filter((/** @type {any} */ one) => one.marketId === id),
        pnl,
        paid,
      });
    } catch {
      // The panel keeps what it showed.
    }
  };
  useEffect(() => void refreshMine(), [id, session.value, data?.market.status]);
  // Several own changes come together: one read for all of them.
  const soon = useRef(/** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined));
  const refreshSoon = () => {
    clearTimeout(soon.current);
    soon.current = setTimeout(refreshMine, 250);
  };

  useFeed(
    [`market:${id}`, `book:${id}`, `trades:${id}`, `activity:${id}`, ...(session.value ? ["account"] : [])],
    (messages, channel) => {
      if (channel.startsWith("book:")) {
        setLevels((before) => apply(before, messages));
        } else if (channel.startsWith("trades:")) {
        const told = messages.filter((one) => one.kind === "trade").map((one) => one.data);
        if (!told.length) return;
        setTrades((before) =>
          [...told.reverse().filter((one) => !before.some((had) => had.id === one.id)), ...before].slice(0, 500),
        );
        for (const one of told) setLatest(one);
      } else if (channel.startsWith("activity:")) {
        const told = messages.filter((one) => one.kind === "activity").map((one) => one.data);
        setActivities((before) => [...told.reverse(), ...before].slice(0, 500));
      } else if (channel.startsWith("market:")) {
        for (const { data: told } of messages) {
          ask.set((before) => {
            const outcomes =
              typeof told.probability === "number"
                ? before.market.outcomes.map((/** @type {any} */ one) => ({
                    ...one,
                    probability: one.id === "yes" ? told.probability : 1 - told.probability,
                  }))
                : (told.outcomes ?? before.market.outcomes);
            const {
              status = before.market.status,
              winningOutcomeId = before.market.winningOutcomeId,
              settlementPrice = before.market.settlementPrice,
              deadline = before.market.deadline,
            } = told;
            return {
              ...before,
              stats: { ...before.stats, ...told },
              market: { ...before.market, outcomes, status, winningOutcomeId, settlementPrice, deadline },
            };
          });
        }
      } else if (messages.some((one) => ["order", "fill", "position", "settlement"].includes(one.kind))) refreshSoon();
    },
    () => {
      ask.again();
      refreshMine();
    },
  );

  useEffect(() => {
    const pick = (/** @type {any} */ event) => {
      setPicked((before) => ({ outcome: event.detail.outcome, n: (before?.n ?? 0) + 1 }));
      setSheet(true);
    };
    const leave = (/** @type {KeyboardEvent} */ event) => event.key === "Escape" && setSheet(false);
    addEventListener("openoutcry:ticket", pick);
    addEventListener("keydown", leave);
    return () => {
      removeEventListener("openoutcry:ticket", pick);
      removeEventListener("keydown", leave);
    };
  }, []);

  // The ladder follows every frame; what is reckoned from the book follows four times a second.
  const calm = useCalm(levels, 250);
  const book = useMemo(() => bookOf(calm), [calm]);
  const own = useMemo(() => ownRows(mine.orders), [mine.orders]);
  const moves = useMemo(() => activities.filter((one) => one.type !== "TRADE"), [activities]);
  const free = useMemo(() => {
    const held = { yes: "0", no: "0" };
    for (const one of mine.positions) held[/** @type {"yes" | "no"} */ (one.outcomeId)] = one.quantity;
    return held;
  }, [mine.positions]);
  const listed = useMemo(() => trades.slice(0, shown), [trades, shown]);
  const recent = useMemo(() => activities.slice(0, 8), [activities]);
  const holding = useMemo(() => mine.positions.filter((one) => !d.isZero(one.quantity)), [mine.positions]);
  const gaps = useMemo(() => pauses(moves, Date.now() / 1000), [moves]);
  if (!data)
    return ask.error
      ? html`<h1 class="vh">${t("market")}</h1>
    <${Failed} error=${ask.error} onAgain=${ask.again}/>`
      : html`<${Loading} rows=${9}/>`;
  const { market, stats } = data;
  const p = probability(market);
  const now = pricesOf({ bestBid: book.bids[0]?.price, bestAsk: book.asks[0]?.price });
  // The last week of what is over is a flat line.
  const usual = OVER.includes(market.status) ? "all" : "1w";
  const period = PERIODS.includes(query.get("period") ?? "") ? /** @type {string} */ (query.get("period")) : usual;
  const category = market.categories[0];
  const narrow = matchMedia("(max-width: 640px)").matches;
  const pickPrice = (/** @type {"yes" | "no"} */ outcome, /** @type {string | undefined} */ price) => {
    setPicked((before) => ({ outcome, price, n: (before?.n ?? 0) + 1 }));
    setSheet(true);
  };
  const words = { yes: wordOf(market, "yes"), no: wordOf(market, "no") };
  return html`<nav class="crumbs" aria-label=${t("path")}><a href="/">${t("nav.markets")}</a>
    ${
      category &&
      html`<${Icon} name="right"/>
    <a href=${`/?category=${category.slug}`}><bdi>${categoryName(category)}</bdi>
    </a>`
    }${market.eventId && html`<${Icon} name="right"/><a href=${`/events/${market.eventId}`}>${t("its-event")}</a>`}
    </nav>
    <header class="mkt-head"><div><h1><${Picture} url=${market.logo}/><bdi>${local(market.questions)}</bdi></h1>
      <div class="mkt-meta num"><${Icon} name="clock"/>
      <span>${t("closes-at", { time: f.dateTime(market.deadline) })} <span
      class="faint">(${f.distance(market.deadline)})</span></span>
      <span>${t("traded-n", { n: f.roundQuantity(stats.volume), count: Number(stats.volume) })}</span>
      <span>${t("in-24h", { n: f.roundQuantity(stats.volume24h) })}</span>
      <span>${t("open-n", { n: f.roundQuantity(stats.openInterest) })}</span>
      <span>${t("holders-n", { n: f.count(stats.holders ?? 0), count: stats.holders ?? 0 })}</span></div></div>
      <div class="prob"><b>${f.percent(p)}</b>
        <span><bdi>${words.yes}</bdi> ${
          data.before !== null &&
          html` <${Delta}
        value=${p - data.before}/> ${t("in-24h-plain")}`
        }${stats.trades === 0 && t("no-trades-yet")}</span></div>
        </header>
    <${Life} market=${market} moves=${moves}/>
      <${State} market=${market} moves=${moves} paid=${mine.paid}
      held=${holding}/>
    <div class="mk"><section class="panel market-chart mk-chart" aria-label=${t("price-history")}>
      <div class="chart-bar">
        <${Segments} label=${t("period")} value=${period}
          onChoose=${(/** @type {string} */ v) => choose({ period: v === usual ? null : v })}
          options=${PERIODS.map((one) => [one, t(`period.${one}`)])}/>
        <${Segments} label=${t("drawing")} value=${asTable ? "table" : kind}
          onChoose=${(/** @type {string} */ v) => choose({ chart: v === "line" ? null : v })}
          options=${[
            ["line", t("line")],
            ["candles", t("candles")],
            [
              "table",
              html`<${Icon} name="list"/>
          <span class=${narrow ? "vh" : ""}>${t("as-table")}</span>`,
            ],
          ]}/></div>
        <div class="chart-box"><${Chart} key=${id} market=${market} period=${period} kind=${kind}
          height=${narrow ? 236 : 312} gaps=${gaps} stats=${stats} latest=${latest} table=${asTable}/></div></section>
      <section class="stack sticky mk-side" aria-label=${t("your-side")}>
        <${Form} open=${sheet} onClose=${() => setSheet(false)} market=${market} book=${book} held=${free} picked=${picked}
        onSent=${() => {
          setSheet(false);
          refreshMine();
        }}/>
        ${
          session.value &&
          html`<${Yours} ahead=${mine.ahead} market=${market} positions=${mine.positions} orders=${mine.orders}
          pnl=${mine.pnl} onOrders=${refreshMine} onOwn=${(/** @type {any[]} */ orders) => setAmended(orders[0])}/>`
        }
          </section>
      <${Ladder} market=${market} levels=${levels} stats=${stats} own=${own} probability=${p} onPrice=${pickPrice}
        onOwn=${(/** @type {any[]} */ orders) => setAmended(orders[0])}/>
      <div class="stack l mk-flow"><${Heap} levels=${calm} market=${market}/>
        <${Trades} market=${market} trades=${listed} more=${trades.length > shown}
        onMore=${() => setShown(shown + 43)}/></div>
      <${Rules} market=${market}/><${Activity} market=${market} activities=${recent}/></div>
    ${
      takesOrders(market) &&
      html`<div class="buybar">
      <button type="button" class="btn yes l" onClick=${() => pickPrice("yes", undefined)}>
      <span class="cut">${t("buy-word", { word: words.yes })}</span> <span>${now.yes ? f.price(now.yes) : ""}</span></button>
      <button type="button" class="btn no l" onClick=${() => pickPrice("no", undefined)}>
      <span class="cut">${t("buy-word", { word: words.no })}</span> <span>${now.no ? f.price(now.no) : ""}</span></button></div>`
    }
    ${
      amended &&
      html`<${Amend} order=${amended} word=${words[/** @type {"yes" | "no"} */ (amended.outcomeId)]}
      onClose=${() => setAmended(null)} onDone=${refreshMine}/>`
    }`;
}
