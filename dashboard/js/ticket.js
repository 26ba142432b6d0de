// The ticket: what to buy, what would happen if it were sent now, and sending it once.
import { html, useEffect, useId, useMemo, useRef, useState } from "./lib.js";
import { language, t } from "./i18n.js";
import * as f from "./format.js";
import { dryRun } from "./api.js";
import * as d from "./decimal.js";
import { opposite } from "./ladder.js";
import { ApiError, fieldSentence, sentence } from "./problem.js";
import { placeOrder } from "./orders.js";
import { balance, mayTrade, mode, refreshBalance, session } from "./account.js";
import { notify } from "./notices.js";
import { Empty, Field, Segments, useCalm } from "./ui.js";
import { Icon } from "./icons.js";
import { trades, wordOf } from "./parts.js";

const FRESH = 3_000;

/**
 * @typedef {{side: "BUY" | "SELL", outcome: "yes" | "no", how: "limit" | "now", unit: "contracts" | "money", amount: string, price: string, keep: string, until: string, postOnly: boolean}} Form
 * @typedef {{form: any, order: any, at: number, before: string}} Preview
 */

/** The order that the form means, or what is wrong with it. @param {Form} form @param {any} market @param {import("./ladder.js").Book} book */
export function meant(form, market, book) {
  /** @type {Record<string, string>} */
  const wrong = {};
  const price = d.typed(form.price, language.value);
  if (!price || !/^0?\.\d{1,2}$/.test(price) || d.isZero(price)) wrong.price = t("field.price.OUT_OF_BOUNDS");
  const amount = d.typed(form.amount, language.value);
  if (
    form.amount &&
    (!amount || d.isZero(amount) || (amount.split(".")[1]?.length ?? 0) > (form.unit === "money" ? 8 : 6))
  )
    wrong.amount = form.unit === "money" ? t("ticket.amount-money") : t("ticket.amount-contracts");
  if (form.keep === "until" && (!form.until || new Date(form.until).getTime() <= Date.now()))
    wrong.until = t("field.NOT_IN_FUTURE");
  if (!amount || !price || Object.keys(wrong).length) return { wrong, order: null, quantity: null };
  const exact = d.text(d.units(price, 2), 2, 2);
  let quantity = amount;
  if (form.unit === "money") {
    quantity =
      form.how === "now" && form.side === "BUY"
        ? d.walk(opposite(book, form.outcome, "BUY"), amount, exact, market.takerFee)
        : d.affordable(amount, exact, market.takerFee);
    if (form.side === "SELL") quantity = d.affordable(amount, exact);
    if (d.isZero(quantity))
      return {
        wrong: { amount: form.how === "now" ? t("ticket.nothing-there") : t("ticket.too-little") },
        order: null,
        quantity: null,
      };
  }
  const order = {
    marketId: market.id,
    outcomeId: form.outcome,
    side: form.side,
    orderType: "LIMIT",
    price: exact,
    quantity,
    timeInForce: form.how === "now" || form.keep === "ioc" ? "IOC" : form.keep === "fok" ? "FOK" : "GTC",
  };
  if (form.how === "limit" && form.keep === "until")
    Object.assign(order, { expiresAt: new Date(form.until).toISOString() });
  if (form.how === "limit" && form.postOnly) Object.assign(order, { postOnly: true });
  return { wrong, order, quantity };
}

/** What the dry run means in money. @param {Preview} preview @param {any} market @param {import("./ladder.js").Book} book */
export function outcomeOf({ order, form, before }, market, book) {
  /** @type {Map<string, string>} */
  const fills = new Map();
  let fee = "0";
  for (const trade of order.trades) {
    const had = fills.get(trade.price);
    fills.set(trade.price, had ? d.text(d.units(had, 6) + d.units(trade.quantity, 6), 6) : trade.quantity);
    fee = d.add(fee, d.fee(market.takerFee ?? "0", trade.price, trade.quantity));
  }
  const rests = form.timeInForce === "GTC" ? order.remainingQuantity : "0";
  const resting = d.cost(form.price, rests);
  const spent = d.add(order.filledCost, resting);
  const bought = d.text(d.units(order.filledQuantity, 6) + d.units(rests, 6), 6);
  const buys = form.side === "BUY";
  // Compared with not sending it: a buyer pays now and gets 1.00 a contract if right, a seller the other way round.
  const right = buys ? d.subtract(bought, d.add(spent, fee)) : d.subtract(d.subtract(spent, bought), fee);
  const wrong = buys ? d.negate(d.add(spent, fee)) : d.subtract(spent, fee);
  const leaves = order.balance ? d.subtract(before, order.balance.available) : null;
  // What the lines of fills, fee and rest do not tell: pairs of both outcomes that become money, or what backs a sale.
  const direct = buys ? d.add(spent, fee) : d.subtract(fee, order.filledCost);
  const backing = leaves === null ? "0" : d.subtract(leaves, direct);
  const own = (form.outcomeId === "yes") === buys ? book.bids : book.asks;
  const row = form.outcomeId === "yes" ? form.price : d.mirror(form.price);
  const ahead = own.find((one) => one.price === row)?.quantity ?? "0";
  return {
    fills: [...fills],
    fee,
    rests,
    resting,
    spent,
    bought,
    leaves,
    backing,
    ahead,
    right,
    wrong,
    cancelled: order.cancelledQuantity,
  };
}

/**
 * @param {{market: any, book: import("./ladder.js").Book, held: {yes: string, no: string}, picked: {outcome: "yes" | "no", price?: string, n: number} | null, open: boolean, onClose: () => void, onSent: () => void}} props `open`: as a sheet, where the screen is narrow
 */
export function Ticket({ market, book, held, picked, open: shown, onClose, onSent }) {
  const [form, setForm] = useState(
    /** @type {Form} */ ({
      side: "BUY",
      outcome: picked?.outcome ?? "yes",
      how: "limit",
      unit: "contracts",
      amount: "",
      price: "",
      keep: "gtc",
      until: "",
      postOnly: false,
    }),
  );
  const [touched, setTouched] = useState(false);
  const [preview, setPreview] = useState(/** @type {Preview | null} */ (null));
  const [failed, setFailed] = useState(/** @type {unknown} */ (null));
  const [busy, setBusy] = useState(false);
  const [tried, setTried] = useState(false);
  const [, tick] = useState(0);
  const amountField = useRef(/** @type {HTMLInputElement | null} */ (null));
  const name = useId();
  const set = (/** @type {Partial<Form>} */ change) => setForm((before) => ({ ...before, ...change }));

  const best = useMemo(() => {
    const levels = opposite(book, form.outcome, form.side);
    return levels[0]?.price ?? null;
  }, [book, form.outcome, form.side]);
  useEffect(() => {
    if (!touched) set({ price: f.price(best ?? "0.50") });
  }, [best, touched, language.value]);
  useEffect(() => {
    if (!picked) return;
    set({ outcome: picked.outcome, ...(picked.price ? { price: f.price(picked.price), side: "BUY" } : {}) });
    setTouched(Boolean(picked.price));
    if (picked.n > 0) amountField.current?.focus();
  }, [picked?.n]);

  // A book that moves all the time must not put the question off for ever: it is asked again once a second.
  const pulse = useCalm(book, 1000);
  const { wrong, order, quantity } = useMemo(() => meant(form, market, book), [form, book, market.takerFee]);
  const asked = order && JSON.stringify(order);
  const open = trades(market) && mode.value === "normal";
  const ready = Boolean(session.value) && mayTrade.value && open;

  useEffect(() => {
    if (!order || !ready) {
      setPreview(null);
      setFailed(null);
      return undefined;
    }
    const stop = new AbortController();
    const timer = setTimeout(async () => {
      try {
        // What is at hand now, so that the figures of the preview add up whatever else has changed it.
        await refreshBalance();
        const before = balance.peek()?.available ?? "0";
        const answer = await dryRun("/trading/orders", order, stop.signal);
        if (stop.signal.aborted) return;
        setPreview({ form: order, order: answer, at: Date.now(), before });
        setFailed(null);
      } catch (error) {
        if (stop.signal.aborted) return;
        setPreview(null);
        setFailed(error);
      }
    }, 400);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [asked, pulse, ready, balance.value?.available]);
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, []);

  const current = preview && JSON.stringify(preview.form) === asked ? preview : null;
  const result = useMemo(() => (preview ? outcomeOf(preview, market, book) : null), [preview]);
  const word = wordOf(market, form.outcome);
  const verb = form.side === "BUY" ? "ticket.buy" : "ticket.sell";
  const label =
    quantity && order
      ? t(`${verb}-n`, { n: f.quantity(quantity), word, price: f.price(order.price) })
      : t(`${verb}-word`, { word });

  /** @param {Event} event */
  const send = async (event) => {
    event.preventDefault();
    setTried(true);
    if (busy || !order || !current) {
      if (!order) amountField.current?.focus();
      return;
    }
    setBusy(true);
    let notice = /** @type {number | undefined} */ (undefined);
    try {
      const done = await placeOrder(order, (state) => {
        if (state === "waiting")
          notice = notify({ kind: "waiting", title: t("no-answer-yet"), text: t("no-answer-yet-text") }, notice);
      });
      if ("absent" in done)
        notify(
          {
            kind: "unknown",
            title: t("did-not-arrive"),
            text: t("did-not-arrive-text"),
            action: { label: t("send-again"), act: () => amountField.current?.form?.requestSubmit() },
          },
          notice,
        );
      else {
        const { order: placed, resolved } = done;
        const filled = placed.filledQuantity;
        const rest = placed.status === "OPEN" || placed.status === "PARTIALLY_FILLED" ? placed.remainingQuantity : "0";
        const title = resolved
          ? t("did-arrive")
          : d.isZero(filled)
            ? d.isZero(rest)
              ? t("nothing-filled")
              : t("waits-n", { n: f.quantity(rest), count: Number(rest), price: f.price(order.price) })
            : t("filled-at", { n: f.quantity(filled), word, price: f.price(placed.averageFillPrice ?? order.price) });
        notify(
          {
            kind: resolved ? "resolved" : "done",
            title,
            text:
              !d.isZero(filled) && !d.isZero(rest)
                ? t("waits-n", { n: f.quantity(rest), count: Number(rest), price: f.price(order.price) })
                : undefined,
            action: { label: t("see-order"), href: `/orders/${placed.orderId}` },
          },
          notice,
        );
        set({ amount: "" });
        setTouched(false);
        setTried(false);
      }
      refreshBalance();
      onSent();
    } catch (error) {
      setFailed(error);
      notify(
        {
          kind: "refused",
          title: t("refused"),
          text: sentence(error),
          code: error instanceof ApiError ? error.code : undefined,
        },
        notice,
      );
    } finally {
      setBusy(false);
    }
  };

  /** @param {KeyboardEvent} event */
  const step = (event) => {
    const by = event.key === "ArrowUp" ? 1 : event.key === "ArrowDown" ? -1 : 0;
    if (!by) return;
    event.preventDefault();
    bump(event.shiftKey ? by * 5 : by);
  };
  const bump = (/** @type {number} */ by) => {
    const now = d.typed(form.price, language.value) ?? best ?? "0.50";
    const next = Math.max(1, Math.min(99, Math.round(Number(now) * 100) + by));
    setTouched(true);
    set({ price: f.price((next / 100).toFixed(2)) });
  };

  const close = html`<button type="button" class="btn quiet s icon-only only-narrow" aria-label=${t("close")}
    onClick=${onClose}><${Icon} name="close"/></button>`;
  const panel = `panel ticket-panel${shown ? " open" : ""}`;
  if (session.value === null)
    return html`<section class=${panel} id="ticket"
    aria-label=${t("ticket.title")}><div class="row between sheet-close">${close}</div>
    <${Empty} title=${t("ticket.sign-in")} text=${t("ticket.sign-in-text")}>
    <a class="btn primary" href=${`/sign-in?next=${encodeURIComponent(`/markets/${market.slug ?? market.id}`)}`}>${t("sign-in")}</a>
    </${Empty}></section>`;
  const why = !trades(market)
    ? t("ticket.closed", { state: t(`status.${market.status === "ACTIVE" ? "CLOSED" : market.status}`) })
    : !mayTrade.value
      ? t("ticket.read-key")
      : mode.value !== "normal"
        ? t(`ticket.${mode.value}`)
        : null;
  if (why)
    return html`<section class=${panel} id="ticket" aria-label=${t("ticket.title")}>
    <div class="row between sheet-close">${close}</div><${Empty} title=${t("ticket.none")} text=${why}/></section>`;

  const sells = preview?.form.side === "SELL";
  const amount = (/** @type {string} */ money) => (sells ? f.signedMoney(money) : f.money(money));
  const limitMoney = balance.value?.available ?? "0";
  const price = d.typed(form.price, language.value);
  const most =
    form.side === "SELL" && !d.isZero(held[form.outcome])
      ? held[form.outcome]
      : price && !wrong.price
        ? d.affordable(
            limitMoney,
            form.side === "BUY" ? d.text(d.units(price, 2), 2) : d.mirror(price),
            market.takerFee,
          )
        : null;
  const amountError =
    (tried || form.amount ? wrong.amount : null) ??
    fieldSentence(failed, "quantity") ??
    (failed instanceof ApiError && failed.code === "INSUFFICIENT_FUNDS"
      ? t("ticket.not-enough", { have: f.money(limitMoney), n: most ? f.quantity(most) : "0" })
      : tried && !form.amount
        ? t("field.REQUIRED")
        : null);
  const priceError = (form.price ? wrong.price : null) ?? fieldSentence(failed, "price");
  const other = failed && !amountError && !priceError ? sentence(failed) : null;
  const age = preview ? Date.now() - preview.at : 0;
  const stale = !current || age > FRESH + 27_000;
  const yes = form.outcome === "yes";

  return html`<section class=${panel} id="ticket" aria-label=${t("ticket.title")}>
    <form class="ticket" aria-labelledby=${`${name}-h`} onSubmit=${send} noValidate>
    <div class="row"><h2 class="grow" id=${`${name}-h`}>${t("ticket.title")}</h2>
      <${Segments} label=${t("ticket.side")} value=${form.side}
      onChoose=${(/** @type {any} */ side) => {
        set({ side });
        setTouched(false);
      }}
      options=${[
        ["BUY", t("buy")],
        ["SELL", t("sell")],
      ]}/>${close}</div>
    <fieldset class="pick"><legend class="vh">${t("outcome")}</legend>
      ${
        /** @type {const} */ (["yes", "no"]).map((one) => {
          const cost = opposite(book, one, form.side)[0]?.price;
          return html`<label class=${one} key=${one}>
        <input type="radio" name=${name} checked=${form.outcome === one}
        onChange=${() => {
          set({ outcome: one });
          setTouched(false);
        }}/>
        <span class="w"><span class="word cut"><bdi>${wordOf(market, one)}</bdi>
        </span> <span>${cost ? f.price(cost) : "–"}</span>
        </span> <small>${t(one === "yes" ? "pays-if-yes" : "pays-if-no")}</small></label>`;
        })
      }</fieldset>
    <${Segments} wide label=${t("ticket.how")} value=${form.how}
      onChoose=${(/** @type {any} */ how) => set({ how, ...(how === "now" ? { unit: "money" } : { unit: "contracts" }), amount: "" })}
      options=${[
        ["limit", t("ticket.at-my-price")],
        ["now", t("ticket.now")],
      ]}/>
    <div class="two"><${Field} label=${form.unit === "money" ? t("ticket.money") : t("ticket.contracts")}
      aside=${html`<button type="button" class="hint"
      onClick=${() => set({ unit: form.unit === "money" ? "contracts" : "money", amount: "" })}>
      ${form.unit === "money" ? t("ticket.in-contracts") : t("ticket.in-money")}</button>`}
        hint=${form.unit === "money" ? (quantity ? t("contracts", { n: f.quantity(quantity), count: Number(quantity) }) : t("up-to", { n: f.money(limitMoney) })) : most ? t("up-to", { n: f.quantity(most) }) : null}
          error=${amountError}
        control=${(/** @type {any} */ ids) => html`<input class="input" inputmode="decimal" autocomplete="off" ...${ids}
          ref=${amountField} value=${form.amount}
          onInput=${(/** @type {any} */ e) => set({ amount: e.target.value })}/>`}/>
      <${Field} label=${form.how === "now" ? t("worst-price") : t("price")} aside=${
        best &&
        html`<button type="button"
        class="hint" onClick=${() => {
          setTouched(true);
          set({ price: f.price(best) });
        }}>
        ${t("best", { price: f.price(best) })}
        </button>`
      }
        hint=${form.how === "now" ? t("stops-there") : price && !wrong.price ? t("implies", { percent: f.percent(Number(price)) }) : null}
        error=${priceError}
        control=${(/** @type {any} */ ids) => html`<div class="stepper">
          <button type="button" class="btn" tabindex="-1" aria-label=${t("ticket.less")}
          onClick=${() => bump(-1)}>−</button>
          <input class="input" inputmode="decimal" autocomplete="off" ...${ids} value=${form.price} onKeyDown=${step}
          onInput=${(/** @type {any} */ e) => {
            setTouched(true);
            set({ price: e.target.value });
          }}/>
          <button type="button" class="btn" tabindex="-1" aria-label=${t("ticket.more")}
          onClick=${() => bump(1)}>+</button></div>`}/></div>
    ${
      form.how === "limit" &&
      html`<div class="two">
      <${Field} label=${t("keep-it")} control=${(/** @type {any} */ ids) => html`<select class="select" ...${ids}
      onChange=${(/** @type {any} */ e) => set({ keep: e.target.value })}>
      ${["gtc", "until", "ioc", "fok"].map(
        (one) => html`<option value=${one} selected=${form.keep === one}>
      ${t(`keep.${one}`)}</option>`,
      )}</select>`}/>
      <div class="field" role="group" aria-labelledby=${`${name}-s`}>
        <span class="lbl" id=${`${name}-s`}>${t("ticket.book-side")}</span>
        <label class="check"><input type="checkbox" checked=${form.postOnly}
        disabled=${form.keep === "ioc" || form.keep === "fok"}
        onChange=${(/** @type {any} */ e) => set({ postOnly: e.target.checked })}/>${t("post-only")}</label></div></div>
      ${
        form.keep === "until" &&
        html`<${Field} label=${t("until")} error=${tried || form.until ? wrong.until : null}
        control=${(/** @type {any} */ ids) => html`<input class="input" type="datetime-local" ...${ids}
        value=${form.until} onInput=${(/** @type {any} */ e) => set({ until: e.target.value })}/>`}/>`
      }`
    }
    <section class=${`preview num${preview && stale ? " stale" : ""}`} aria-live="polite"
      aria-label=${t("if-you-send")}><h3>${t("if-you-send")} <span>
      ${preview ? t("dry-run-ago", { seconds: f.count(Math.floor(age / 1000)) }) : ""}</span></h3>
      ${
        !preview || !result
          ? html`<p class="faint">
        ${other ?? (form.amount && !failed ? t("ticket.asking") : t("ticket.say-how-many"))}
        </p>`
          : html`<dl class="sum">
        ${result.fills.slice(0, 4).map(
          ([at, n]) => html`<div>
          <dt>${t("fill-at-once", { n: f.quantity(n), count: Number(n), price: f.price(at) })}</dt>
          <dd>${amount(d.cost(at, n))}</dd></div>`,
        )}
        ${
          result.fills.length > 4 &&
          html`<div>
          <dt>${t("more-prices", { n: result.fills.length - 4, count: result.fills.length - 4 })}</dt>
          <dd>${amount(result.fills.slice(4).reduce((sum, [at, n]) => d.add(sum, d.cost(at, n)), "0"))}</dd></div>`
        }
        ${!d.isZero(result.fee) && html`<div><dt>${t("fee")}</dt><dd>${sells ? f.signedMoney(d.negate(result.fee)) : f.money(result.fee)}</dd></div>`}
        ${
          !d.isZero(result.rests) &&
          html`<div>
          <dt>${t("wait-at", { n: f.quantity(result.rests), count: Number(result.rests), price: f.price(preview.form.price) })}, ${d.isZero(result.ahead) ? t("first-in-line") : t("behind", { n: f.quantity(result.ahead), count: Number(result.ahead) })}
          </dt><dd>${sells ? "" : f.money(result.resting)}</dd></div>`
        }
        ${
          !d.isZero(result.backing) &&
          html`<div><dt>${t(result.backing.startsWith("-") ? "pairs-merge" : sells ? "held-behind" : "held-for-fee")}</dt>
          <dd>${sells || result.backing.startsWith("-") ? f.signedMoney(d.negate(result.backing)) : f.money(result.backing)}</dd></div>`
        }
        ${
          !d.isZero(result.cancelled) &&
          html`<div>
          <dt>${t("not-filled", { n: f.quantity(result.cancelled), count: Number(result.cancelled) })}</dt>
          <dd>${f.money("0")}</dd></div>`
        }
        ${
          result.leaves !== null &&
          html`<div class="rule total">
          <dt>${result.leaves.startsWith("-") ? t("comes-to-available") : t("leaves-available")}</dt>
          <dd title=${f.exactMoney(result.leaves)}>${f.money(result.leaves.replace("-", ""))}</dd></div>`
        }
          </dl>`
      }</section>
    ${
      preview &&
      result &&
      html`<dl class="payoff">${[yes, !yes].map(
        (right, i) => html`<div key=${i}>
      <dt>${t(i === 0 ? "payoff.yes" : "payoff.no")}</dt>
      <dd class=${f.direction(right ? result.right : result.wrong)}>
      ${f.signedMoney(right ? result.right : result.wrong)}
      <small>${form.side === "SELL" ? t("payoff.compared") : right ? t("payoff.receive", { money: f.money(result.bought) }) : t("payoff.nothing")}
      </small></dd></div>`,
      )}</dl>`
    }
    <button class=${`btn ${form.outcome} l wide${busy ? " busy" : ""}`} type="submit"
      aria-disabled=${busy ? "true" : undefined}>${
        busy &&
        html`<span class="spin" aria-hidden="true">
      </span>`
      }<span class="cut">${label}</span></button>
    <p class="small faint">${t("ticket.once")}
      ${current && result && !d.isZero(current.order.filledQuantity) ? ` ${t("ticket.average", { price: f.price(current.order.averageFillPrice) })}` : ""}
      </p></form></section>`;
}
