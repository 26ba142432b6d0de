// The life of one order, explained: what it met on arrival, who stood before it, each fill, and why it ended.
import { html, useState } from "../lib.js";
import { local, t } from "../i18n.js";
import * as f from "../format.js";
import { all, get } from "../api.js";
import * as d from "../decimal.js";
import { useFeed } from "../feed.js";
import { session } from "../account.js";
import { wordOf } from "../parts.js";
import { Amend, cancelOrder, places, placeWords } from "../order-acts.js";
import { Button, Copy, Empty, Failed, Loading, Money, Panel, useAsk } from "../ui.js";
import { Icon } from "../icons.js";

export const title = () => t("order");

/** The contracts that waited at the order's price, and the best price it could meet, just before it came. @param {any} order */
async function arrival(order, /** @type {AbortSignal} */ stop) {
  try {
    const depth = await get(
      `/trading/books/${order.marketId}/depth`,
      { outcome: order.outcomeId, levels: 50, asOf: order.sequence - 1 },
      stop,
    );
    const own = order.side === "BUY" ? depth.bids : depth.asks;
    const other = order.side === "BUY" ? depth.asks : depth.bids;
    return { ahead: own.find((/** @type {any} */ one) => one.price === order.price) ?? null, met: other[0] ?? null };
  } catch {
    return null;
  }
}

/** @param {{id: string}} props */
export function Page({ id }) {
  const [amending, setAmending] = useState(false);
  const ask = useAsk(
    async (stop) => {
      const order = await get(`/trading/orders/${id}`, {}, stop);
      const [market, fills, then] = await Promise.all([
        get(`/markets/${order.marketId}`, {}, stop),
        all("/trading/fills", "fills", { orderId: id }, 1000),
        arrival(order, stop),
      ]);
      const ahead = (await places([order])).get(id);
      return { order, market, fills: fills.reverse(), then, ahead };
    },
    [id, session.value?.user.id],
  );
  useFeed(
    session.value ? ["account"] : [],
    (messages) => messages.some((one) => one.data?.id === id || one.data?.orderId === id) && ask.again(),
    ask.again,
  );
  if (!ask.data)
    return html`<h1 class="vh">${t("order")}</h1>
    <div class="panel">${
      ask.error
        ? html`<${Failed} error=${ask.error} onAgain=${ask.again}/>`
        : html`<${Loading}
    rows=${8}/>`
    }</div>`;
  const { order, market, fills, then, ahead } = ask.data;
  const word = wordOf(market, order.outcomeId);
  const open = order.status === "OPEN" || order.status === "PARTIALLY_FILLED";
  const buys = order.side === "BUY";
  const fees = fills.reduce((sum, one) => d.add(sum, one.fee), "0");
  const joined =
    order.timeInForce === "GTC" &&
    (open || order.cancelReason !== null || fills.some((one) => one.liquidity === "MAKER"));
  const atOnce = fills.filter((one) => one.sequence === order.sequence);
  const later = fills.filter((one) => one.sequence !== order.sequence);
  const ended =
    order.status === "CANCELLED"
      ? order.cancelReason
        ? t(`ended.${order.cancelReason}`)
        : t("status-order.CANCELLED")
      : t(`status-order.${order.status}`);
  const wordsOf = t(buys ? "order-buy" : "order-sell", {
    word,
    n: f.quantity(order.originalQuantity),
    price: f.price(order.price),
  });
  /** @type {{at: string, sequence: number | null, kind: string, head: string, body: string}[]} */
  const steps = [
    {
      at: order.createdAt,
      sequence: order.sequence,
      kind: "",
      head: t("step.arrived", {
        order: wordsOf,
        keep: t(
          order.expiresAt
            ? "keep.until"
            : order.timeInForce === "IOC"
              ? "keep.ioc"
              : order.timeInForce === "FOK"
                ? "keep.fok"
                : "keep.gtc",
        ),
      }),
      body: `${order.outcomeId === "no" ? `${t("step.mirror", { price: f.price(d.mirror(order.price)) })} ` : ""}${then?.met ? t("step.met", { price: f.price(then.met.price), n: f.quantity(then.met.quantity), count: Number(then.met.quantity) }) : then ? t("step.met-none") : ""}`,
    },
  ];
  for (const one of atOnce)
    steps.push({
      at: one.timestamp,
      sequence: one.sequence,
      kind: "fill",
      head: t("step.filled", { n: f.quantity(one.quantity), price: f.price(one.price) }),
      body: t("step.filled-at-once", { money: f.money(d.cost(one.price, one.quantity)), fee: f.money(one.fee) }),
    });
  if (joined && then)
    steps.push({
      at: order.createdAt,
      sequence: order.sequence,
      kind: "quiet",
      head: then.ahead
        ? t("step.joined", {
            price: f.price(order.price),
            n: f.quantity(then.ahead.quantity),
            count: Number(then.ahead.quantity),
            orders: f.count(then.ahead.orders),
          })
        : t("step.first", { price: f.price(order.price) }),
      body: then.ahead ? t("step.joined-text") : t("step.first-text"),
    });
  for (const one of later)
    steps.push({
      at: one.timestamp,
      sequence: one.sequence,
      kind: "fill",
      head: t("step.filled", { n: f.quantity(one.quantity), price: f.price(one.price) }),
      body:
        one.liquidity === "MAKER"
          ? t("step.filled-waiting", { money: f.money(d.cost(one.price, one.quantity)), fee: f.money(one.fee) })
          : t("step.filled-at-once", { money: f.money(d.cost(one.price, one.quantity)), fee: f.money(one.fee) }),
    });
  if (!open)
    steps.push({
      at: order.updatedAt,
      sequence: null,
      kind: "end",
      head: order.status === "FILLED" ? t("step.all-filled") : ended,
      body: d.isZero(order.cancelledQuantity)
        ? t("step.nothing-left")
        : t("step.rest", {
            filled: f.quantity(order.filledQuantity),
            n: f.quantity(order.cancelledQuantity),
            count: Number(order.cancelledQuantity),
            all: f.quantity(order.originalQuantity),
          }),
    });
  else
    steps.push({
      at: order.updatedAt,
      sequence: null,
      kind: "quiet",
      head: t("step.waits", {
        n: f.quantity(order.remainingQuantity),
        count: Number(order.remainingQuantity),
        price: f.price(order.price),
      }),
      body: placeWords(ahead) || t("step.waits-text"),
    });
  return html`<nav class="crumbs" aria-label=${t("path")}><a href="/portfolio">${t("nav.portfolio")}</a>
    <${Icon} name="right"/><a href="/portfolio?tab=orders">${t("orders")}</a></nav>
    <div class="page-head"><div class="grow"><h1>${wordsOf}</h1>
      <p><a href=${`/markets/${market.slug ?? market.id}`}><bdi>${local(market.questions)}</bdi></a></p></div>
      <div class="row"><${Copy} text=${order.id} label=${t("copy-order-number")} kind=""/>
      ${
        open &&
        html`<button type="button" class="btn" onClick=${() => setAmending(true)}>${t("amend")}</button>
      <${Button} kind="danger-line" act=${() => cancelOrder(id).then(ask.again)}>${t("cancel")}</${Button}>`
      }</div>
      </div>
    <section class="panel" aria-label=${t("figures")}>
      <dl class="figs"><div class="fig"><dt>${open ? t("state") : t("ended-head")}</dt><dd class="m">${ended}</dd>
      <dd class="note">${f.time(order.updatedAt)}</dd></div>
      <div class="fig"><dt>${t("filled-head")}</dt><dd>${f.quantity(order.filledQuantity)}</dd>
      <dd class="note">
      ${t("of-n", { all: f.quantity(order.originalQuantity), n: f.quantity(open ? order.remainingQuantity : order.cancelledQuantity), state: open ? t("still-waiting") : t("cancelled-word") })}
      </dd></div>
      <div class="fig"><dt>${t("average-price")}</dt>
        <dd>${d.isZero(order.filledQuantity) ? "–" : f.price(order.averageFillPrice)}</dd>
        <dd class="note"><bdi>${word}</bdi></dd></div>
        <div class="fig"><dt>${buys ? t("paid") : t("received")}</dt><dd><${Money} value=${order.filledCost}/></dd>
        <dd class="note">${t("fee-is", { money: f.money(fees) })}</dd></div>
      ${
        buys &&
        html`<div class="fig"><dt>${t("pays-if-right")}</dt><dd>${f.money(order.filledQuantity)}</dd>
        <dd class="note">
        ${t("gain-is", { money: f.signedMoney(d.subtract(d.subtract(order.filledQuantity, order.filledCost), fees)) })}
        </dd></div>`
      }</dl></section>
    <div class="gap-t"><${Panel} title=${t("what-happened")} aside=${html`<p>${t("oldest-first")}
      </p>`}><ol class="timeline">${steps.map(
      (one, i) => html`<li key=${i} class=${one.kind}>
      <div class="when"><time datetime=${one.at} title=${one.at}>${f.precise(one.at)}</time>
      ${
        one.sequence &&
        html`<small>${t("record-n", { number: f.count(one.sequence) })}
      </small>`
      }</div><div class="knot" aria-hidden="true"></div><div><h3>${one.head}</h3><p>${one.body}</p></div>
      </li>`,
    )}</ol></${Panel}></div>
    ${
      amending &&
      html`<${Amend} order=${order} word=${word} onClose=${() => setAmending(false)}
      onDone=${ask.again}/>`
    }`;
}
