// What everybody may know of a trader: how it went, and the trades that the markets' activity tells anyway.
import { html, useEffect, useState } from "../lib.js";
import { local, t } from "../i18n.js";
import * as f from "../format.js";
import { get } from "../api.js";
import * as d from "../decimal.js";
import { Avatar } from "../parts.js";
import { session } from "../account.js";
import { Button, Empty, Failed, Loading, Money, Outcome, Panel, Time, useAsk } from "../ui.js";

export const title = () => t("profile");

/** @param {{id: string}} props */
function Trades({ id }) {
  const [rows, setRows] = useState(/** @type {any[]} */ ([]));
  const [cursor, setCursor] = useState(/** @type {string | null} */ (""));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const more = async (/** @type {string} */ from) => {
    try {
      setError(null);
      const page = await get(`/profiles/${id}/trades`, { cursor: from, limit: 20 });
      setRows((before) => (from ? [...before, ...page.trades] : page.trades));
      setCursor(page.hasMore ? page.nextCursor : null);
    } catch (failed) {
      setError(failed);
    }
  };
  useEffect(() => void more(""), [id]);
  let body;
  if (error) body = html`<${Failed} error=${error} onAgain=${() => more("")}/>`;
  else if (!rows.length) body = cursor === "" ? html`<${Loading}/>` : html`<${Empty} title=${t("public-trades-none")}/>`;
  else
    body = html`<div class="scroll-x" tabindex="0" role="group" aria-label=${t("public-trades")}>
      <table class="table"><caption class="vh">${t("public-trades")}</caption>
      <thead><tr><th scope="col">${t("time")}</th><th scope="col">${t("question")}</th><th scope="col">${t("bought")}</th>
      <th class="r" scope="col">${t("contracts-head")}</th><th class="r" scope="col">${t("price")}</th>
      <th class="r" scope="col">${t("stake")}</th></tr></thead>
      <tbody>${rows.map(
        (one) => html`<tr key=${one.id}><td class="muted nowrap"><${Time} at=${one.timestamp}/></td>
        <td><a class="q" href=${`/markets/${one.marketId}`}><bdi>${local(one.questions)}</bdi></a></td>
        <td><${Outcome} outcome=${one.outcomeId} words=${t(one.outcomeId)}/></td>
        <td class="r" title=${f.quantity(one.quantity)}>${f.shortQuantity(one.quantity)}</td>
        <td class="r">${f.price(one.price)}</td><td class="r">${f.money(d.worth(one.quantity, Number(one.price)))}</td></tr>`,
      )}</tbody></table></div>`;
  return html`<${Panel} title=${t("public-trades")} flush aside=${html`<p>${t("public-trades-text")}</p>`}
    foot=${cursor && rows.length > 0 && html`<${Button} kind="s" act=${() => more(cursor)}>${t("show-more-plain")}</${Button}>`}>
    ${body}</${Panel}>`;
}

/** @param {{id: string}} props */
export function Page({ id }) {
  const ask = useAsk((stop) => get(`/profiles/${id}`, {}, stop), [id]);
  const own = session.value?.user.id === id;
  const crumbs = html`<nav class="crumbs" aria-label=${t("path")}><a href="/leaderboard">${t("nav.leaderboard")}</a>
    </nav>`;
  if (ask.error)
    return html`${crumbs}<h1 class="vh">${t("profile")}</h1>
    <div class="panel"><${Failed} error=${ask.error} onAgain=${ask.again}/></div>`;
  if (!ask.data) return html`${crumbs}<h1 class="vh">${t("profile")}</h1><div class="panel"><${Loading}/></div>`;
  const { user, createdAt, scores } = ask.data;
  const of = (/** @type {string} */ period) => scores.find((/** @type {any} */ one) => one.period === period);
  const [month, ever] = [of("month"), of("all")];
  return html`${crumbs}<header class="page-head"><${Avatar} user=${user} size="l"/><div class="grow"><h1><bdi>${user.profileName}</bdi></h1>
    <p>${t("here-since", { date: f.date(createdAt) })} ${own && t("own-profile")}</p></div>
    </header>
    <section class="panel" aria-label=${t("figures")}><dl class="figs">
      <div class="fig"><dt>${t("gain-30")}</dt><dd><${Money} value=${month.realisedPnl} signed/></dd></div>
      <div class="fig"><dt>${t("gain-ever")}</dt><dd><${Money} value=${ever.realisedPnl} signed/></dd></div>
      <div class="fig"><dt>${t("contracts-30")}</dt><dd>${f.roundQuantity(month.volume)}</dd></div>
      <div class="fig"><dt>${t("contracts-ever")}</dt><dd>${f.roundQuantity(ever.volume)}</dd></div></dl></section>
    <div class="split gap-t"><${Trades} key=${id} id=${id}/>
    <${Panel} title=${t("by-period")} flush><table class="table"><caption class="vh">${t("by-period")}</caption>
      <thead><tr><th scope="col">${t("period")}</th><th class="r" scope="col">${t("gain")}</th>
      <th class="r" scope="col">${t("contracts-head")}</th></tr></thead>
      <tbody>${scores.map(
        (/** @type {any} */ one) => html`<tr key=${one.period}><th scope="row">${t(`board.${one.period}`)}</th>
        <td class="r strong"><${Money} value=${one.realisedPnl} signed/></td>
        <td class="r" title=${f.quantity(one.volume)}>${f.roundQuantity(one.volume)}</td></tr>`,
      )}</tbody></table></${Panel}></div>`;
}
