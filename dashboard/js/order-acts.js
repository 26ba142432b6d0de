// What can be done with an open order: amend it, cancel it; and the words for an order.
import { html, useState } from "./lib.js";
import { t } from "./i18n.js";
import * as f from "./format.js";
import { get, patch, remove } from "./api.js";
import { isZero, typed } from "./decimal.js";
import { language } from "./i18n.js";
import { fieldSentence, sentence, ApiError } from "./problem.js";
import { notify } from "./notices.js";
import { refreshBalance } from "./account.js";
import { Button, Dialog, Field } from "./ui.js";

/** "Buy Yes 100 at 0.61" @param {any} order @param {string} word @param {string} [quantity] */
export const orderWords = (order, word, quantity = order.remainingQuantity) =>
  t(order.side === "BUY" ? "order-buy" : "order-sell", { word, n: f.quantity(quantity), price: f.price(order.price) });

/** @param {unknown} error */
export const refused = (error) =>
  notify({
    kind: "refused",
    title: t("refused"),
    text: sentence(error),
    code: error instanceof ApiError ? error.code : undefined,
  });

/** Hears of a write whose answer does not come. @returns {(state: string) => void} */
export function teller() {
  let id = /** @type {number | undefined} */ (undefined);
  return (state) => {
    if (state === "waiting")
      id = notify({ kind: "waiting", title: t("no-answer-yet"), text: t("no-answer-yet-text") }, id);
    else id = notify({ kind: "resolved", title: t("did-arrive") }, id);
  };
}

/** @param {string} id */
export async function cancelOrder(id) {
  try {
    const order = await remove(`/trading/orders/${id}`, { tell: teller() });
    notify({
      kind: "done",
      title: t("cancelled-n", { n: f.quantity(order.cancelledQuantity), count: Number(order.cancelledQuantity) }),
      action: { label: t("see-order"), href: `/orders/${id}` },
    });
    refreshBalance();
    return order;
  } catch (error) {
    refused(error);
    return null;
  }
}

/** @param {{order: any, word: string, onClose: () => void, onDone: () => void}} props */
export function Amend({ order, word, onClose, onDone }) {
  const [quantity, setQuantity] = useState(f.quantity(order.originalQuantity));
  const [price, setPrice] = useState(f.price(order.price));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const act = async () => {
    const terms = {
      quantity: typed(quantity, language.value) ?? quantity,
      price: typed(price, language.value) ?? price,
    };
    try {
      await patch(`/trading/orders/${order.id}`, terms, { tell: teller() });
    } catch (failed) {
      setError(failed);
      throw failed;
    }
    notify({ kind: "done", title: t("amended"), action: { label: t("see-order"), href: `/orders/${order.id}` } });
    refreshBalance();
    onDone();
  };
  const cancel = async () => {
    if (!(await cancelOrder(order.id))) return;
    onDone();
    onClose();
  };
  return html`<${Dialog} title=${t("amend-title")} text=${orderWords(order, word)} safe=${t("keep-order")}
    action=${t("amend")} act=${act} onClose=${onClose}><div class="two">
    <${Field} label=${t("contracts-in-all")}
      hint=${t("filled-n", { n: f.quantity(order.filledQuantity), count: Number(order.filledQuantity) })}
      error=${fieldSentence(error, "quantity")} control=${(/** @type {any} */ ids) => html`<input class="input"
      inputmode="decimal" ...${ids} value=${quantity}
      onInput=${(/** @type {any} */ e) => setQuantity(e.target.value)}/>`}/>
    <${Field} label=${t("price")} hint=${t("amend-hint")} error=${fieldSentence(error, "price")}
      control=${(/** @type {any} */ ids) => html`<input class="input" inputmode="decimal" ...${ids} value=${price}
      onInput=${(/** @type {any} */ e) => setPrice(e.target.value)}/>`}/></div>
    <${Button} kind="danger-line" act=${cancel}>${t("cancel-order")}</${Button}></${Dialog}>`;
}

/** Orders whose place is asked for: each is a request of its own. */
const PLACES = 12;

/** The contracts that stand before each open order, by its id; an order whose place the venue does not tell is left out. @param {any[]} orders */
export async function places(orders) {
  /** @type {Map<string, string>} */
  const found = new Map();
  const asked = orders.slice(0, PLACES).map(async ({ id }) => {
    const { queue } = await get(`/trading/orders/${id}`, { queue: true });
    if (queue) found.set(id, queue.quantityAhead);
  });
  await Promise.allSettled(asked);
  return found;
}

/** @param {string | undefined} ahead */
export const placeWords = (ahead) =>
  ahead === undefined ? "" : isZero(ahead) ? t("first-in-line") : t("ahead-of-you", { n: f.quantity(ahead), count: Number(ahead) });
