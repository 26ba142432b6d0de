// What the reader owns: money, positions, open orders, and every change of them.
import { html, useEffect, useMemo, useRef, useState } from "../lib.js";
import { language, local, t } from "../i18n.js";
import * as f from "../format.js";
import { all, get, pages, post, remove } from "../api.js";
import * as d from "../decimal.js";
import { choose, route } from "../router.js";
import { useFeed } from "../feed.js";
import { balance, refreshBalance, session, venue } from "../account.js";
import { notify } from "../notices.js";
import { ApiError } from "../problem.js";
import { wordOf } from "../parts.js";
import { Amend, cancelOrder, places, placeWords, refused, teller } from "../order-acts.js";
import {
  Button,
  Dialog,
  Empty,
  exportCsv,
  Failed,
  Field,
  Loading,
  Money,
  Outcome,
  Segments,
  Tabs,
  Time, Records,
  useAsk,
} from "../ui.js";
import { Icon } from "../icons.js";
import { EquityChart } from "../equity-chart.js";

export const title = () => t("nav.portfolio");

const TABS = ["positions", "orders", "fills", "settlements", "ledger"];

/** Names of markets that lists give only by number. @type {Map<string, any>} */
const named = new Map();

/** @param {string[]} ids */
async function names(ids) {
  const missing = [...new Set(ids)].filter((id) => id && !named.has(id));
  for (let at = 0; at < missing.length; at += 6)
    await Promise.all(
      missing.slice(at, at + 6).map((id) =>
        get(`/markets/${id}`).then(
          (found) => named.set(id, found),
          () => named.set(id, null),
        ),
      ),
    );
}

/** @param {{id: string}} props */
const Name = ({ id }) => html`<a class="q" href=${`/markets/${id}`}><bdi>${local(named.get(id)?.questions) || id}</bdi>
  </a>`;
const word = (/** @type {string} */ id, /** @type {"yes" | "no"} */ outcome) =>
  named.get(id) ? wordOf(named.get(id), outcome) : t(outcome);

/** @param {any} position what it is worth now, and what that is beside its cost */
function valued(position) {
  const market = named.get(position.marketId);
  const yes = market?.outcomes?.find((/** @type {any} */ one) => one.id === "yes")?.probability;
  const now = yes === undefined ? null : position.outcomeId === "yes" ? yes : 1 - yes;
  const cost = String(position.totalStake);
  const worth = now === null ? null : d.worth(position.quantity, now);
  return { ...position, now, cost, worth, gain: worth === null ? null : d.subtract(worth, cost) };
}

/** @type {Record<string, (a: any, b: any) => number>} */
const SORTS = {
  gain: (a, b) => d.compare(b.gain ?? "0", a.gain ?? "0"),
  cost: (a, b) => d.compare(b.cost, a.cost),
  worth: (a, b) => d.compare(b.worth ?? "0", a.worth ?? "0"),
  closes: (a, b) => String(a.market.deadline).localeCompare(String(b.market.deadline)),
};

/** @param {{name: string, sort: string, onSort: (name: string) => void, children?: any}} props */
const Head = ({ name, sort, onSort, children }) => html`<th class="r" scope="col"
  aria-sort=${sort === name ? "descending" : undefined}>
  <button type="button" onClick=${() => onSort(name)}>${children}${sort === name && html`<${Icon} name="down"/>`}
  </button></th>`;

/** @type {[string, (one: any) => any][]} */
const POSITION_COLUMNS = [
  ["market", (o) => o.marketId],
  ["question", (o) => local(o.market.questions)],
  ["outcome", (o) => o.outcomeId],
  ["quantity", (o) => o.quantity],
  ["average price", (o) => o.averagePrice],
  ["probability", (o) => o.now],
  ["cost", (o) => o.cost],
  ["worth", (o) => o.worth],
  ["gain", (o) => o.gain],
  ["realised in market", (o) => o.realisedPnl],
  ["pays if right", (o) => o.potentialPayout],
  ["closes", (o) => o.market.deadline],
];

/** @type {[string, (one: any) => any][]} */
const ORDER_COLUMNS = [
  ["order", (o) => o.id],
  ["own name", (o) => o.clientOrderId],
  ["market", (o) => o.marketId],
  ["side", (o) => o.side],
  ["outcome", (o) => o.outcomeId],
  ["price", (o) => o.price],
  ["quantity", (o) => o.originalQuantity],
  ["filled", (o) => o.filledQuantity],
  ["remaining", (o) => o.remainingQuantity],
  ["placed", (o) => o.createdAt],
  ["expires", (o) => o.expiresAt],
];

/** @param {{positions: any[]}} props */
function Positions({ positions }) {
  const { query } = route.value;
  const sort = SORTS[query.get("sort") ?? ""] ? /** @type {string} */ (query.get("sort")) : "gain";
  const outcome = query.get("side") ?? "all";
  const [filter, setFilter] = useState("");
  const rows = useMemo(
    () =>
      positions
        .filter(
          (one) =>
            (outcome === "all" || one.outcomeId === outcome) &&
            local(one.market.questions).toLowerCase().includes(filter.trim().toLowerCase()),
        )
        .sort(SORTS[sort]),
    [positions, sort, outcome, filter],
  );
  if (!positions.length)
    return html`<${Empty} title=${t("no-positions")} text=${t("no-positions-text")}>
    <a class="btn primary" href="/">${t("look-at-markets")}</a></${Empty}>`;
  const onSort = (/** @type {string} */ name) => choose({ sort: name === "gain" ? null : name });
  const total = (/** @type {"cost" | "worth" | "gain"} */ name) =>
    rows.reduce((sum, one) => d.add(sum, one[name] ?? "0"), "0");
  return html`<div class="panel-foot tools">
    <input class="input s" type="search" aria-label=${t("filter")} placeholder=${t("filter")} value=${filter}
    onInput=${(/** @type {any} */ e) => setFilter(e.target.value)}/>
      <${Segments} label=${t("side")} value=${outcome}
        onChoose=${(/** @type {string} */ v) => choose({ side: v === "all" ? null : v })}
        options=${[
          ["all", t("all")],
          ["yes", t("yes")],
          ["no", t("no")],
        ]}/><span class="grow"></span>
        <span class="faint small">${t("worth-is")}</span>
        <${Button} kind="s" act=${async () => exportCsv("openoutcry-positions.csv", [POSITION_COLUMNS.map(([head]) => head), ...rows.map((one) => POSITION_COLUMNS.map(([, cell]) => cell(one)))])}>
        <${Icon} name="download"/>${t("export-csv")}</${Button}></div>
    <${Records} label=${t("positions")}>
      <table class="table"><caption class="vh">${t("positions")}</caption>
      <thead><tr><th scope="col">${t("question")}</th><th scope="col">${t("side")}</th>
      <th class="r" scope="col">${t("contracts-head")}</th><th class="r" scope="col">${t("paid-each")}</th>
      <th class="r" scope="col">${t("now")}</th><${Head} name="cost" sort=${sort} onSort=${onSort}>${t("cost")}
      </${Head}><${Head} name="worth" sort=${sort} onSort=${onSort}>${t("worth")}</${Head}>
      <${Head} name="gain" sort=${sort} onSort=${onSort}>${t("gain")}</${Head}>
      <th class="r" scope="col">${t("pays-if-right")}</th>
      <${Head} name="closes" sort=${sort} onSort=${onSort}>${t("closes-head")}</${Head}></tr></thead>
      <tbody>${rows.map(
        (one) => html`<tr key=${one.id}>
        <td><a class="q" href=${`/markets/${one.marketId}`}><bdi>${local(one.market.questions)}</bdi></a></td>
        <td><${Outcome} outcome=${one.outcomeId} words=${wordOf(one.market, one.outcomeId)}/></td>
        <td class="r">${f.quantity(one.quantity)}</td><td class="r">${f.price(one.averagePrice)}</td>
        <td class="r">${one.now === null ? "–" : f.price(Number(one.now.toFixed(4)))}</td>
        <td class="r"><${Money} value=${one.cost}/></td>
        <td class="r">${one.worth === null ? "–" : html`<${Money} value=${one.worth}/>`}</td>
        <td class="r">${one.gain === null ? "–" : html`<${Money} value=${one.gain} signed/>`}</td>
        <td class="r">${f.money(one.potentialPayout)}</td>
        <td class="r muted"><${Time} at=${one.market.deadline} as=${(/** @type {string} */ at) => f.date(at)}/></td>
        </tr>`,
      )}</tbody>
      <tfoot><tr><th scope="row" colspan="5">${t("positions-n", { n: f.count(rows.length), count: rows.length })}</th>
        <td class="r">${f.money(total("cost"))}</td><td class="r">${f.money(total("worth"))}</td>
        <td class=${`r ${f.direction(total("gain"))}`}>${f.signedMoney(total("gain"))}</td><td colspan="2"></td></tr>
        </tfoot></table></${Records}>`;
}

/** @param {any[]} orders */
const ordersCsv = async (orders) =>
  exportCsv("openoutcry-orders.csv", [ORDER_COLUMNS.map(([head]) => head), ...orders.map((one) => ORDER_COLUMNS.map(([, cell]) => cell(one)))]);

/** @param {{orders: any[], ahead: Map<string, string>, bare?: boolean, onAmend: (order: any) => void, onDone: () => void}} props */
function Orders({ orders, ahead, bare, onAmend, onDone }) {
  if (!orders.length) return html`<${Empty} title=${t("no-orders")} text=${t("no-orders-text")}/>`;
  return html`${
    !bare &&
    html`<div class="panel-foot tools"><span class="grow"></span>
    <${Button} kind="s" act=${() => ordersCsv(orders)}><${Icon} name="download"/>${t("export-csv")}</${Button}></div>`
  }<${Records} label=${t("open-orders")}>
    <table class="table"><caption class="vh">${t("open-orders")}</caption>
    <thead><tr><th scope="col">${t("question")}</th><th scope="col">${t("order")}</th>
    <th class="r" scope="col">${t("contracts-head")}</th><th class="r" scope="col">${t("price")}</th>
    <th scope="col">${t("queue")}</th><th scope="col">${t("keep-it")}</th>
    <th scope="col">${t("placed")}</th>
    <th scope="col"><span class="vh">${t("acts")}</span></th></tr></thead>
    <tbody>${orders.map(
      (one) => html`<tr key=${one.id}><td><${Name} id=${one.marketId}/></td>
      <td class="nowrap"><a href=${`/orders/${one.id}`}>${t(one.side === "BUY" ? "buy" : "sell")}
      </a> <${Outcome} outcome=${one.outcomeId} words=${word(one.marketId, one.outcomeId)}/></td>
      <td class="r">${f.quantity(one.remainingQuantity)}${
        !d.isZero(one.filledQuantity) &&
        html`<span class="sub">
      ${t("filled-n", { n: f.quantity(one.filledQuantity), count: Number(one.filledQuantity) })}
      </span>`
      }</td><td class="r">${f.price(one.price)}</td><td>${placeWords(ahead.get(one.id))}</td>
      <td>${one.expiresAt ? t("until-time", { time: f.time(one.expiresAt) }) : t("keep.gtc")}</td>
      <td class="muted"><${Time} at=${one.createdAt}/></td>
      <td class="r nowrap"><button type="button" class="btn s" onClick=${() => onAmend(one)}>${t("amend")}
      </button> <${Button} kind="s" act=${() => cancelOrder(one.id).then(onDone)}>${t("cancel")}</${Button}></td>
      </tr>`,
    )}</tbody></table></${Records}>`;
}

/** The heads, cells and CSV of the lists that are read by cursor. @type {Record<string, {path: string, field: string, heads: [string, boolean?][], row: (one: any) => any, csv: [string, (one: any) => any][]}>} */
const LISTS = {
  fills: {
    path: "/trading/fills",
    field: "fills",
    heads: [["time"], ["question"], ["order"], ["contracts-head", true], ["price", true], ["fee", true], ["role"]],
    row: (one) => html`<td class="muted"><${Time} at=${one.timestamp}/></td><td><${Name} id=${one.marketId}/></td>
      <td class="nowrap"><a href=${`/orders/${one.orderId}`}>${t(one.side === "BUY" ? "buy" : "sell")}
      </a> <${Outcome} outcome=${one.outcomeId} words=${word(one.marketId, one.outcomeId)}/></td>
      <td class="r">${f.quantity(one.quantity)}</td><td class="r">${f.price(one.price)}</td>
      <td class="r">${f.money(one.fee)}</td><td>${t(`role.${one.liquidity}`)}</td>`,
    csv: [
      ["time", (o) => o.timestamp],
      ["record", (o) => o.sequence],
      ["market", (o) => o.marketId],
      ["order", (o) => o.orderId],
      ["side", (o) => o.side],
      ["outcome", (o) => o.outcomeId],
      ["quantity", (o) => o.quantity],
      ["price", (o) => o.price],
      ["fee", (o) => o.fee],
      ["liquidity", (o) => o.liquidity],
    ],
  },
  settlements: {
    path: "/account/settlements",
    field: "settlements",
    heads: [["time"], ["question"], ["side"], ["contracts-head", true], ["received", true], ["gain", true]],
    row: (one) => html`<td class="muted"><${Time} at=${one.timestamp}/></td><td><${Name} id=${one.marketId}/></td>
      <td><${Outcome} outcome=${one.outcomeId} words=${word(one.marketId, one.outcomeId)}/></td>
      <td class="r">${f.quantity(one.quantity)}</td><td class="r"><${Money} value=${one.payout}/></td>
      <td class="r"><${Money} value=${one.realisedPnl} signed/></td>`,
    csv: [
      ["time", (o) => o.timestamp],
      ["record", (o) => o.sequence],
      ["market", (o) => o.marketId],
      ["outcome", (o) => o.outcomeId],
      ["quantity", (o) => o.quantity],
      ["payout", (o) => o.payout],
      ["realised", (o) => o.realisedPnl],
    ],
  },
  ledger: {
    path: "/account/ledger",
    field: "lines",
    heads: [
      ["time"],
      ["cause"],
      ["question"],
      ["available", true],
      ["held", true],
      ["available-after", true],
      ["record-head", true],
    ],
    row: (one) => html`<td class="muted"><${Time} at=${one.timestamp}/></td>
      <td>${
        one.orderId
          ? html`<a href=${`/orders/${one.orderId}`}>${t(`cause.${one.cause}`)}
      </a>`
          : t(`cause.${one.cause}`)
      }</td><td>${one.marketId && html`<${Name} id=${one.marketId}/>`}</td>
      <td class="r"><${Money} value=${one.available} signed/></td><td class="r">${f.signedMoney(one.reserved)}</td>
      <td class="r"><${Money} value=${one.availableAfter}/></td><td class="r faint">${f.count(one.sequence)}</td>`,
    csv: [
      ["number", (o) => o.number],
      ["record", (o) => o.sequence],
      ["time", (o) => o.timestamp],
      ["cause", (o) => o.cause],
      ["order", (o) => o.orderId],
      ["market", (o) => o.marketId],
      ["available", (o) => o.available],
      ["reserved", (o) => o.reserved],
      ["available after", (o) => o.availableAfter],
      ["reserved after", (o) => o.reservedAfter],
    ],
  },
};

/** @param {{name: string, version: number}} props */
function List({ name, version }) {
  const list = LISTS[name];
  const [rows, setRows] = useState(/** @type {any[]} */ ([]));
  const [cursor, setCursor] = useState(/** @type {string | null} */ (null));
  const [state, setState] = useState(/** @type {{error?: unknown, loading: boolean}} */ ({ loading: true }));
  const body = useRef(/** @type {HTMLTableSectionElement | null} */ (null));
  const more = async (/** @type {string} */ from) => {
    setState({ loading: true });
    try {
      const page = await get(list.path, { cursor: from, limit: 50 });
      await names(page[list.field].map((/** @type {any} */ one) => one.marketId));
      setRows((before) => (from ? [...before, ...page[list.field]] : page[list.field]));
      setCursor(page.hasMore ? page.nextCursor : null);
      setState({ loading: false });
      if (from) setTimeout(() => /** @type {HTMLElement | null} */ (body.current?.children[rows.length])?.focus());
    } catch (error) {
      setState({ error, loading: false });
    }
  };
  useEffect(() => void more(""), [name, version]);
  if (state.error) return html`<${Failed} error=${state.error} onAgain=${() => more("")}/>`;
  if (!rows.length) return state.loading ? html`<${Loading}/>` : html`<${Empty} title=${t(`none.${name}`)}/>`;
  const csv = async () =>
    exportCsv(`openoutcry-${name}.csv`, [
      list.csv.map(([head]) => head),
      ...(await all(list.path, list.field, {}, 100_000)).map((one) => list.csv.map(([, cell]) => cell(one))),
    ]);
  return html`<div class="panel-foot tools"><span class="grow"></span>
    <${Button} kind="s" act=${csv}><${Icon} name="download"/>${t("export-csv")}</${Button}></div>
    <${Records} label=${t(`tab.${name}`)}>
    <table class="table"><caption class="vh">${t(`tab.${name}`)}</caption>
    <thead><tr>${list.heads.map(
      ([head, right]) => html`<th scope="col" class=${right ? "r" : ""}>${t(head)}
    </th>`,
    )}</tr></thead>
    <tbody ref=${body}>${rows.map((one, i) => html`<tr key=${i} tabindex="-1">${list.row(one)}</tr>`)}</tbody></table></${Records}>${
        cursor &&
        html`<div class="panel-foot">
      <${Button} kind="s" act=${() => more(cursor)}>${t("show-more-plain")}</${Button}></div>`
      }`;
}

/** @param {{onClose: () => void, onDone: () => void}} props */
function Deposit({ onClose, onDone }) {
  const act = async () => {
    try {
      await post("/account/faucet", {}, { tell: teller() });
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "FORBIDDEN") throw error;
      notify({ kind: "refused", title: t("play-money-enough", { money: f.money(venue.value.faucet ?? "0") }) });
      return;
    }
    notify({ kind: "done", title: t("play-money-got", { money: f.money(venue.value.faucet ?? "0") }) });
    refreshBalance();
    onDone();
  };
  return html`<${Dialog} title=${t("get-play-money")}
    text=${t("get-play-money-text", { money: f.money(venue.value.faucet ?? "0") })} safe=${t("not-now")}
    action=${t("get-play-money")} act=${act} onClose=${onClose}/>`;
}

/** Money that is to come in or go out, which the venue confirms. @param {{kind: string, onClose: () => void, onDone: () => void}} props */
function Ask({ kind, onClose, onDone }) {
  const [amount, setAmount] = useState("");
  const money = d.typed(amount, language.value);
  const act = async () => {
    await post(`/account/${kind}`, { amount: money ?? amount }, { tell: teller() });
    notify({ kind: "done", title: t("asked", { money: f.money(money ?? "0") }) });
    refreshBalance();
    onDone();
  };
  return html`<${Dialog} title=${t(`ask-for.${kind}`)} text=${t(`ask-for-text.${kind}`)} safe=${t("not-now")}
    action=${t(`ask-for.${kind}`)} act=${act} onClose=${onClose}>
    <${Field} label=${t("amount")} error=${amount && !money ? t("ticket.amount-money") : null}
      control=${(/** @type {any} */ ids) => html`<input class="input r" inputmode="decimal" ...${ids} value=${amount}
      onInput=${(/** @type {any} */ e) => setAmount(e.target.value)}/>`}/></${Dialog}>`;
}

/** What the venue has not answered yet. @param {{waiting: any[], onDone: () => void}} props */
const Waiting = ({ waiting, onDone }) =>
  waiting.length > 0 &&
  html`<section class="panel gap-t" aria-labelledby="asked-h"><div class="panel-head"><h2 id="asked-h">
  ${t("asked.transfers")}</h2></div><${Records} label=${t("asked.transfers")}><table class="table">
  <caption class="vh">${t("asked.transfers")}</caption>
  <thead><tr>${["time", "act", "amount", "answer"].map((head) => html`<th scope="col">${t(head)}</th>`)}</tr></thead>
  <tbody>${waiting.map(
    (one) => html`<tr key=${one.transfer}><td class="muted"><${Time} at=${one.requestedAt}/></td>
    <td>${t(one.direction === "deposit" ? "deposit" : "withdraw")}</td><td class="num">${f.money(one.amount)}</td>
    <td><${Button} kind="s" act=${() => remove(`/account/transfers/${one.transfer}`, { tell: teller() }).then(onDone, refused)}>
    ${t("take-back")}</${Button}></td></tr>`,
  )}</tbody></table></${Records}></section>`;

export function Page() {
  const tab = TABS.includes(route.value.query.get("tab") ?? "")
    ? /** @type {string} */ (route.value.query.get("tab"))
    : "positions";
  const [amended, setAmended] = useState(/** @type {any} */ (null));
  const [asking, setAsking] = useState("");
  const [version, setVersion] = useState(0);
  const who = session.value?.user.id;
  const ask = useAsk(
    async (stop) => {
      const [pnl, positions, { orders }, { transfers }] = await Promise.all([
        get("/account/pnl", {}, stop),
        pages("/trading/positions", "positions"),
        get("/trading/orders", { active: true }, stop),
        get("/account/transfers", {}, stop),
      ]);
      await names([...positions, ...orders].map((one) => one.marketId));
      return {
        pnl,
        positions: positions.filter((one) => !d.isZero(one.quantity) && one.resolution === null).map(valued),
        orders,
        waiting: transfers.filter((/** @type {any} */ one) => one.state === "requested"),
        ahead: await places(orders),
      };
    },
    [who],
  );
  const soon = useRef(/** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined));
  const again = () => {
    clearTimeout(soon.current);
    soon.current = setTimeout(() => {
      ask.again();
      setVersion((n) => n + 1);
    }, 250);
  };
  useFeed(["account"], (messages) => messages.some((one) => one.kind !== "balance") && again(), again);
  const head = html`<div class="page-head"><div class="grow"><h1>${t("nav.portfolio")}</h1></div>
    <div class="row">${
      session.value &&
      (venue.value.faucet
        ? html`<button type="button" class="btn primary"
    onClick=${() => setAsking("faucet")}><${Icon} name="plus"/>${t("get-play-money")}</button>`
        : ["deposits", "withdrawals"].map((kind) => html`<button type="button" key=${kind} class="btn"
    onClick=${() => setAsking(kind)}>${t(`ask-for.${kind}`)}</button>`))
    }</div></div>`;
  if (!session.value)
    return html`${head}<div class="panel">
    <${Empty} title=${t("sign-in-first")} text=${t("sign-in-first-text")}>
    <a class="btn primary" href="/sign-in?next=/portfolio">${t("sign-in")}</a></${Empty}></div>`;
  if (!ask.data)
    return html`${head}<div class="panel">
    ${ask.error ? html`<${Failed} error=${ask.error} onAgain=${ask.again}/>` : html`<${Loading} rows=${8}/>`}</div>`;
  const { pnl, positions, orders, waiting, ahead } = ask.data;
  const paidIn = d.subtract(pnl.deposits, pnl.withdrawals);
  const gain = d.add(pnl.realisedPnl, pnl.unrealisedPnl);
  const cancelAll = async () => {
    const done = await remove("/trading/orders", { tell: teller() }).catch((error) => {
      refused(error);
      throw error;
    });
    notify({
      kind: "done",
      title: t("all-cancelled", { n: f.count(done.cancelled.length), count: done.cancelled.length }),
    });
    refreshBalance();
    again();
  };
  return html`${head}<section class="panel" aria-label=${t("money")}><dl class="figs eq">
      <div class="fig"><dt>${t("equity")}</dt><dd><${Money} value=${pnl.equity}/></dd>
        <dd class="note">${t("equity-text")}</dd></div>
        <div class="fig"><dt>${t("available")}</dt><dd><${Money} value=${balance.value?.available ?? pnl.available}/>
        </dd><dd class="note">${t("available-text")}</dd></div>
      <div class="fig"><dt>${t("held")}</dt><dd><${Money} value=${balance.value?.reserved ?? pnl.reserved}/></dd>
        <dd class="note">${t("held-text")}</dd></div>
        <div class="fig"><dt>${t("positions-now")}</dt><dd><${Money} value=${pnl.holdingsValue}/></dd>
        <dd class="note">${t("cost-is", { money: f.money(pnl.holdingsCost) })}</dd></div></dl>
      <div class="panel-foot num eqline"><span>
        ${t("gain-since-start")} <b class=${f.direction(gain)}>${f.signedMoney(gain)}</b></span>
        <span class="faint">${t("made-of")}</span><span>${t("closed-positions")} ${f.signedMoney(pnl.realisedPnl)}
        </span><span>${t("open-positions")} ${f.signedMoney(pnl.unrealisedPnl)}</span><span class="grow"></span>
        <span class="faint">${t("paid-in-apart", { money: f.money(paidIn) })}</span></div></section>
    <${Waiting} waiting=${waiting} onDone=${again}/>
    <${EquityChart} pnl=${pnl} paidIn=${d.add(paidIn, pnl.feesTaken)} version=${version}/>
    <section class="panel gap-t" aria-label=${t("lists")}>
      <${Tabs} extra="pad" label=${t("lists")} value=${tab} controls="list"
      onChoose=${(/** @type {string} */ v) => choose({ tab: v === "positions" ? null : v, sort: null, side: null })}
      options=${TABS.map((one) => [one, t(`tab.${one}`), one === "positions" ? f.count(positions.length) : one === "orders" ? f.count(orders.length) : undefined])}/>
      <div id="list" role="tabpanel" aria-labelledby=${`tab-${tab}`}>
        ${
          tab === "positions"
            ? html`<${Positions} positions=${positions}/>`
            : tab === "orders"
              ? html`<${Orders} ahead=${ahead}
        orders=${orders} onAmend=${setAmended} onDone=${again}/>`
              : html`<${List} key=${tab} name=${tab}
        version=${version}/>`
        }</div></section>
    ${
      tab === "positions" &&
      html`<section class="panel gap-t" aria-labelledby="open-h">
      <div class="panel-head"><h2 id="open-h">${t("open-orders")}</h2>${
        orders.length > 0 &&
        html`<p>
      ${t("held-n", { money: f.money(pnl.reserved) })}</p>
      <${Button} kind="s" act=${() => ordersCsv(orders)}><${Icon} name="download"/>${t("export-csv")}</${Button}>
      <button type="button" class="btn s danger-line" onClick=${() => setAsking("cancel")}>
      ${t("cancel-all-n", { n: f.count(orders.length), count: orders.length })}
      </button>`
      }</div><${Orders} bare ahead=${ahead} orders=${orders} onAmend=${setAmended} onDone=${again}/></section>`
    }
    ${
      amended &&
      html`<${Amend} order=${amended} word=${word(amended.marketId, amended.outcomeId)}
      onClose=${() => setAmended(null)} onDone=${again}/>`
    }
    ${
      asking === "cancel" &&
      html`<${Dialog} danger
      title=${t("cancel-all-n", { n: f.count(orders.length), count: orders.length })}
      effects=${[t("cancel-all-effect", { money: f.money(pnl.reserved) })]} safe=${t("keep-orders")}
      action=${t("cancel-all-n", { n: f.count(orders.length), count: orders.length })} act=${cancelAll}
      onClose=${() => setAsking("")}/>`
    }
    ${["deposits", "withdrawals"].includes(asking) && html`<${Ask} kind=${asking} onClose=${() => setAsking("")} onDone=${again}/>`}
    ${asking === "faucet" && html`<${Deposit} onClose=${() => setAsking("")} onDone=${again}/>`}`;
}
