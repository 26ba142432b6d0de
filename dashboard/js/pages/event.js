// Several questions of one event side by side, what the whole field costs, and turning No into money.
import { html, useEffect, useMemo, useState } from "../lib.js";
import { categoryName, language, local, t } from "../i18n.js";
import * as f from "../format.js";
import { get, pages, post } from "../api.js";
import * as d from "../decimal.js";
import { choose, route } from "../router.js";
import { useFeed } from "../feed.js";
import { mayTrade, refreshBalance, session } from "../account.js";
import { carried, parse } from "../candles.js";
import { askQuotes, change, found, hear, probability, quote, shape } from "../quotes.js";
import { notify } from "../notices.js";
import { refused, teller } from "../order-acts.js";
import { Pair, Picture, wordOf } from "../parts.js";
import { Button, Delta, Failed, Field, Loading, Meter, Outcome, Panel, Segments, useAsk } from "../ui.js";
import { Icon } from "../icons.js";

export const title = () => t("event");

/** What the questions of an event have in common adds nothing beside each other: its start and end are left off. @param {string[]} names */
export function shortNames(names) {
  if (names.length < 2) return names;
  const words = names.map((one) => one.split(" "));
  const least = Math.min(...words.map((one) => one.length));
  let start = 0;
  while (start < least - 1 && words.every((one) => one[start] === words[0][start])) start += 1;
  let end = 0;
  while (end < least - start - 1 && words.every((one) => one.at(-1 - end) === words[0].at(-1 - end))) end += 1;
  if (start + end < 3) return names;
  return words.map((one) => {
    const rest = one.slice(start, one.length - end).join(" ");
    return rest.charAt(0).toUpperCase() + rest.slice(1);
  });
}

const WIDE = 760;
const HIGH = 250;

/** @param {{markets: any[], names: Map<string, string>}} props */
function Lines({ markets, names }) {
  const period = route.value.query.get("period") === "1d" ? "1d" : "1w";
  const shown = markets.slice(0, 4);
  const [lines, setLines] = useState(/** @type {{id: string, points: [number, number | null][]}[] | null} */ (null));
  useEffect(() => {
    const stop = new AbortController();
    const seconds = period === "1d" ? 300 : 3600;
    const from = new Date(Date.now() - (period === "1d" ? 1 : 7) * 86_400_000).toISOString();
    Promise.all(
      shown.map(async ({ id }) => {
        const buckets = parse(
          (await get(`/markets/${id}/candles`, { interval: period === "1d" ? "5m" : "1h", from }, stop.signal)).candles,
        );
        const values = carried(buckets, seconds, []);
        return {
          id,
          points: buckets.map((one, i) => /** @type {[number, number | null]} */ ([one.start + seconds, values[i]])),
        };
      }),
    ).then(setLines, () => {});
    return () => stop.abort();
  }, [period, shown.map((one) => one.id).join()]);
  const control = html`<${Segments} label=${t("period")} value=${period}
    onChoose=${(/** @type {string} */ v) => choose({ period: v === "1w" ? null : v })}
    options=${[
      ["1d", t("period.1d")],
      ["1w", t("period.1w")],
    ]}/>`;
  const known = (lines ?? []).flatMap((one) => one.points).filter((one) => one[1] !== null);
  let body = html`<p class="chart-empty h236">${lines ? t("chart.none-then") : ""}</p>`;
  if (known.length) {
    const since = Math.min(...(lines ?? []).map((one) => one.points[0]?.[0] ?? Infinity));
    const until = Date.now() / 1000;
    const most = Math.min(
      1,
      Math.ceil(
        Math.max(...known.map((one) => Number(one[1])), ...shown.map((one) => probability(found(one).value.market))) *
          10 +
          0.3,
      ) / 10,
    );
    const x = (/** @type {number} */ at) => 40 + ((Math.min(at, until) - since) / (until - since)) * (WIDE - 220);
    const y = (/** @type {number} */ value) => 12 + (1 - value / most) * (HIGH - 40);
    const steps = Array.from({ length: Math.round(most * 10) + 1 }, (_, i) => i / 10).filter(
      (_, i, all) => all.length < 7 || i % 2 === 0,
    );
    const ends = shown
      .map((one) => ({ id: one.id, value: probability(found(one).value.market) }))
      .sort((a, b) => b.value - a.value);
    // Labels that would lie on each other move apart; the lines stay where they are.
    let last = -Infinity;
    const places = new Map(ends.map((one) => [one.id, (last = Math.max(y(one.value), last + 14))]));
    const marks = Array.from({ length: 6 }, (_, i) => since + ((i + 0.5) / 6) * (until - since));
    body = html`<svg class="chart" viewBox=${`0 0 ${WIDE} ${HIGH}`} role="img"
      aria-label=${ends.map((one) => `${names.get(one.id)} ${f.percent(one.value)}`).join(", ")}>
      ${steps.map(
        (at) => html`<line class="grid" x1="40" x2=${WIDE - 180} y1=${y(at)} y2=${y(at)}/>
        <text x="32" y=${y(at) + 4} text-anchor="end">${f.percent(at)}
        </text>`,
      )}${marks.map(
        (at) => html`<text x=${x(at)} y=${HIGH - 8} text-anchor="middle">
        ${f.axis(at * 1000, period === "1d" ? "time" : "weekday")}</text>`,
      )}
      ${(lines ?? []).map((one, i) => {
        let path = "";
        let before = /** @type {number | null} */ (null);
        for (const [at, value] of one.points) {
          if (value !== null)
            path +=
              before === null
                ? `M${x(at).toFixed(1)} ${y(value).toFixed(1)}`
                : `H${x(at).toFixed(1)}V${y(value).toFixed(1)}`;
          before = value;
        }
        return html`<path class=${`s${i + 1}`} d=${path}/>`;
      })}
      ${ends.map(
        (one) => html`<text class="t-ink" x=${WIDE - 172} y=${(places.get(one.id) ?? 0) + 4}>
        ${(names.get(one.id) ?? "").slice(0, 20)}${(names.get(one.id) ?? "").length > 20 ? "…" : ""}</text>
        <text class="t-strong" x=${WIDE} y=${(places.get(one.id) ?? 0) + 4} text-anchor="end">${f.percent(one.value)}
        </text>`,
      )}</svg>`;
  }
  return html`<section class="panel" aria-label=${t("price-history")}><div class="chart-bar">${control}</div>
    <div class="chart-box">${body}</div></section>`;
}

/** @param {{event: any}} props */
function WholeField({ event }) {
  const n = event.markets.length;
  const { bestAsk, bestBid } = event.field ?? {};
  const rows = [];
  if (bestAsk) rows.push([t("all-yes", { n, count: n }), bestAsk, "1.00"]);
  if (bestBid) rows.push([t("all-no", { n, count: n }), d.subtract(String(n), bestBid), String(n - 1)]);
  return html`<${Panel} title=${t("whole-field")}>
    <div class="stack"><p class="muted">${t("whole-field-text", { money: f.money(1), more: f.money(n - 1) })}</p>
    ${
      rows.length === 0
        ? html`<p class="faint">${t("field-none")}
      </p>`
        : html`<table class="table plain-table"><caption class="vh">${t("whole-field")}</caption>
      <thead><tr><th scope="col">${t("one-of-each")}</th><th class="r" scope="col">${t("costs-now")}</th>
      <th class="r" scope="col">${t("brings")}</th><th class="r" scope="col">${t("result")}</th></tr></thead>
      <tbody>${rows.map(
        ([name, costs, brings]) => html`<tr><th scope="row">${name}</th><td class="r">${f.money(costs)}
        </td><td class="r">${f.money(brings)}</td>
        <td class=${`r ${f.direction(d.subtract(brings, costs))}`}>${f.signedMoney(d.subtract(brings, costs))}</td>
        </tr>`,
      )}</tbody></table><p class="small faint">${t("field-note")}</p>`
    }</div></${Panel}>`;
}

/** @param {{event: any, held: Map<string, any>, names: Map<string, string>, onDone: () => void}} props */
function Convert({ event, held, names, onDone }) {
  const mine = event.markets.filter((/** @type {any} */ one) => held.get(`${one.id} no`));
  const [left, setLeft] = useState(/** @type {Set<string>} */ (new Set()));
  const [amount, setAmount] = useState("");
  const chosen = mine.filter((/** @type {any} */ one) => !left.has(one.id));
  const most = chosen.length
    ? chosen
        .map((/** @type {any} */ one) => held.get(`${one.id} no`).quantity)
        .reduce((/** @type {string} */ a, /** @type {string} */ b) => (d.compare(a, b) < 0 ? a : b))
    : "0";
  const sets = amount ? d.typed(amount, language.value) : most;
  const wrong =
    !sets || d.isZero(sets) || d.compare(sets, most) > 0 ? t("convert-most", { n: f.quantity(most) }) : null;
  const cash = sets && chosen.length ? d.text(BigInt(chosen.length - 1) * d.units(sets, 6), 6, 2) : "0";
  const others = event.markets.length - chosen.length;
  const act = async () => {
    if (wrong || !sets) return;
    try {
      const done = await post(
        `/trading/events/${event.id}/convert`,
        { marketIds: chosen.map((/** @type {any} */ one) => one.id), quantity: sets },
        { tell: teller() },
      );
      notify({
        kind: "done",
        title: t("converted", {
          n: f.quantity(done.quantity),
          count: Number(done.quantity),
          money: f.money(done.cash),
        }),
      });
      setAmount("");
      refreshBalance();
      onDone();
    } catch (error) {
      refused(error);
    }
  };
  if (!mine.length) return html`<${Panel} title=${t("convert")}><p class="muted">${t("convert-none")}</p></${Panel}>`;
  return html`<${Panel} title=${t("convert")}><div class="stack"><p class="muted">${t("convert-text")}</p>
    <fieldset class="field"><legend>${t("you-give")}</legend>
      ${mine.map(
        (/** @type {any} */ one) => html`<label class="check" key=${one.id}>
      <input type="checkbox" checked=${!left.has(one.id)}
      onChange=${() =>
        setLeft((before) => {
          const next = new Set(before);
          if (!next.delete(one.id)) next.add(one.id);
          return next;
        })}/>
      <span><bdi>${names.get(one.id)}</bdi> <span class="faint num">${f.quantity(held.get(`${one.id} no`).quantity)}
      </span></span></label>`,
      )}</fieldset>
    <${Field} label=${t("sets-to-convert")} aside=${html`<span class="hint">
      ${t("you-hold-each", { n: f.quantity(most) })}
      </span>`} error=${amount ? wrong : null} control=${(/** @type {any} */ ids) => html`<input class="input"
      inputmode="decimal" ...${ids} value=${amount || f.quantity(most)}
      onInput=${(/** @type {any} */ e) => setAmount(e.target.value)}/>`}/>
    <section class="preview num" aria-live="polite" aria-label=${t("if-you-convert")}><h3>${t("if-you-convert")}</h3>
      <dl class="sum"><div><dt>${t("you-give-no", { n: chosen.length, count: chosen.length })}</dt>
      <dd>${sets ? t("each", { n: f.quantity(sets) }) : ""}</dd></div>
      <div><dt>${t("receive-at-once")}</dt><dd class="strong">${f.money(cash)}</dd></div>${
        others > 0 &&
        html`<div>
      <dt>${t("and-yes-on", { n: others, count: others })}</dt><dd>${sets ? t("each", { n: f.quantity(sets) }) : ""}
      </dd></div>`
      }<div class="rule"><dt>${t("same-worth")}</dt>
      <dd><span class="row tight"><${Icon} name="check"/>${t("checked")}</span></dd></div></dl></section>
    <${Button} kind="primary wide" disabled=${Boolean(wrong) || !chosen.length || !mayTrade.value} act=${act}>
      ${t("convert-n", { n: sets ? f.quantity(sets) : "0", count: Number(sets ?? 0) })}</${Button}></div></${Panel}>`;
}

/** @param {{id: string}} props */
export function Page({ id }) {
  const ask = useAsk(
    async (stop) => {
      const event = await get(`/events/${id}`, {}, stop);
      for (const market of event.markets) quote(market);
      document.title = `${local(event.titles)} · openoutcry`;
      return event;
    },
    [id],
  );
  const event = ask.data;
  const [positions, setPositions] = useState(/** @type {any[]} */ ([]));
  const load = () => session.value && pages("/trading/positions", "positions").then(setPositions, () => {});
  useEffect(() => void load(), [session.value]);
  useEffect(() => {
    if (!event) return;
    askQuotes(event.markets);
    const from = new Date(Date.now() - 26 * 3_600_000).toISOString();
    for (const market of event.markets.slice(0, 30))
      get(`/markets/${market.id}/candles`, { interval: "1h", from }).then(
        ({ candles }) => {
          const one = found(market);
          one.value = { ...one.peek(), before: shape(candles).before };
        },
        () => {},
      );
  }, [event]);
  useFeed(
    [
      ...(event?.markets ?? []).slice(0, 50).map((/** @type {any} */ one) => `market:${one.id}`),
      ...(session.value ? ["account"] : []),
    ],
    (messages, channel) => {
      if (channel === "account") load();
      else for (const message of messages) hear({ id: channel.slice(7), ...message.data });
    },
    () => {
      if (event) askQuotes(event.markets, true);
      load();
    },
  );
  const held = useMemo(
    () =>
      new Map(
        positions.filter((one) => !d.isZero(one.quantity)).map((one) => [`${one.marketId} ${one.outcomeId}`, one]),
      ),
    [positions],
  );
  if (!event)
    return html`<h1 class="vh">${t("event")}</h1>
    <div class="panel">${
      ask.error
        ? html`<${Failed} error=${ask.error} onAgain=${ask.again}/>`
        : html`<${Loading}
    rows=${9}/>`
    }</div>`;
  const ordered = [...event.markets].sort((a, b) => probability(b) - probability(a));
  const short = shortNames(event.markets.map((/** @type {any} */ one) => local(one.questions)));
  const names = new Map(event.markets.map((/** @type {any} */ one, /** @type {number} */ i) => [one.id, short[i]]));
  const sum = event.markets.reduce(
    (/** @type {number} */ total, /** @type {any} */ one) => total + probability(found(one).value.market),
    0,
  );
  const category = event.categories?.[0];
  return html`<nav class="crumbs" aria-label=${t("path")}><a href="/">${t("nav.markets")}</a>
    ${
      category &&
      html`<${Icon} name="right"/>
    <a href=${`/?category=${category.slug}`}><bdi>${categoryName(category)}</bdi></a>`
    }</nav>
    <header class="page-head"><div class="grow"><h1><${Picture} url=${event.images?.[0]}/><bdi>${local(event.titles)}</bdi></h1>
      <div class="mkt-meta">${
        event.mutuallyExclusive &&
        html`<span class="tag line">${t("at-most-one")}
      </span>`
      }<span><bdi>${local(event.subTitles)}</bdi></span></div></div></header>
    <div class="split"><div class="stack l"><${Lines} markets=${ordered} names=${names}/>
      <${Panel} title=${t("markets-n", { n: event.markets.length, count: event.markets.length })} flush
        aside=${
          event.mutuallyExclusive &&
          html`<p class="num">${t("midpoints-sum", { percent: f.percent(sum) })}
        </p>`
        }><div class="scroll-x" tabindex="0" role="group" aria-label=${t("nav.markets")}>
        <table class="table"><caption class="vh">${t("nav.markets")}</caption>
        <thead><tr><th scope="col">${t("answer")}</th>
        <th class="only-wide" scope="col"><span class="vh">${t("chance")}</span></th>
        <th class="r" scope="col">${t("chance")}</th><th class="r only-wide" scope="col">${t("24h")}</th>
        <th class="r only-wide" scope="col">${t("contracts-head")}</th>${
          session.value &&
          html`<th scope="col">
        ${t("you-hold")}</th>`
        }<th class="r only-wide" scope="col">${t("buy-at-best")}</th></tr></thead>
        <tbody>${ordered.map((given) => {
          const one = found(given).value;
          const mine = /** @type {const} */ (["yes", "no"])
            .map((outcome) => held.get(`${given.id} ${outcome}`))
            .filter(Boolean);
          return html`<tr key=${given.id}><td>
            <a class="q" href=${`/markets/${given.slug ?? given.id}`}><bdi>${names.get(given.id)}</bdi></a></td>
            <td class="only-wide meter-cell"><${Meter} yes=${probability(one.market)}/></td>
            <td class="r strong">${f.percent(probability(one.market))}</td>
            <td class="r only-wide"><${Delta} value=${change(one)}/></td>
            <td class="r only-wide">${one.stats ? f.roundQuantity(one.stats.volume) : ""}</td>
            ${
              session.value &&
              html`<td class="nowrap">
              ${
                mine.length
                  ? mine.map(
                      (p) => html`<${Outcome} outcome=${p.outcomeId}
              words=${wordOf(one.market, p.outcomeId)}/> ${f.quantity(p.quantity)} `,
                    )
                  : html`<span class="faint">
              ${t("nothing")}</span>`
              }</td>`
            }
              <td class="only-wide"><${Pair} market=${one.market} stats=${one.stats} question=${names.get(given.id)}/>
              </td></tr>`;
        })}</tbody></table></div></${Panel}>
      <${Panel} title=${t("about-event")}><div class="prose s">
        ${local(event.descriptions)
          .split(/\n+/)
          .map(
            (text, i) => html`<p key=${i}><bdi>${text}</bdi>
        </p>`,
          )}</div></${Panel}></div>
    <div class="stack">${event.mutuallyExclusive && event.field && html`<${WholeField} event=${event}/>`}
      ${
        event.mutuallyExclusive &&
        session.value &&
        html`<${Convert} event=${event} held=${held} names=${names}
      onDone=${() => {
        load();
        ask.again();
      }}/>`
      }
      ${
        !event.mutuallyExclusive &&
        html`<${Panel} title=${t("whole-field")}><p class="muted">${t("not-exclusive")}</p>
        </${Panel}>`
      }</div></div>`;
}
