// Who gained most, and who traded most.
import { html, useEffect, useState } from "../lib.js";
import { t } from "../i18n.js";
import * as f from "../format.js";
import { get } from "../api.js";
import { choose, route } from "../router.js";
import { session } from "../account.js";
import { Avatar } from "../parts.js";
import { Button, Empty, Failed, Loading, Money, Segments, useAsk } from "../ui.js";

export const title = () => t("nav.leaderboard");
export const PERIODS = ["day", "week", "month", "all"];

export function Page() {
  const { query } = route.value;
  const period = PERIODS.includes(query.get("period") ?? "") ? /** @type {string} */ (query.get("period")) : "month";
  const by = query.get("by") === "volume" ? "volume" : "pnl";
  const [more, setMore] = useState(/** @type {any[]} */ ([]));
  const ask = useAsk((stop) => get("/leaderboard", { by, period, limit: 25 }, stop), [by, period]);
  useEffect(() => setMore([]), [by, period]);
  const places = [...(ask.data?.places ?? []), ...more];
  const next = async () =>
    setMore([...more, ...(await get("/leaderboard", { by, period, limit: 25, offset: places.length })).places]);
  return html`<div class="page-head"><div class="grow"><h1>${t("nav.leaderboard")}</h1><p>${t("leaderboard-text")}</p>
    </div><div class="row"><${Segments} label=${t("period")} value=${period}
    onChoose=${(/** @type {string} */ v) => choose({ period: v === "month" ? null : v })}
    options=${PERIODS.map((one) => [one, t(`board.${one}`)])}/>
    <${Segments} label=${t("rank-by")} value=${by}
    onChoose=${(/** @type {string} */ v) => choose({ by: v === "pnl" ? null : v })}
    options=${[
      ["pnl", t("gain")],
      ["volume", t("contracts-traded")],
    ]}/></div></div>
    <section class="panel" aria-label=${t("nav.leaderboard")}>
      ${
        ask.error
          ? html`<${Failed} error=${ask.error} onAgain=${ask.again}/>`
          : !ask.data
            ? html`<${Loading}
      rows=${10}/>`
            : places.length === 0
              ? html`<${Empty} title=${t("board-none")}/>`
              : html`<div class="scroll-x"
      tabindex="0" role="group" aria-label=${t("places")}>
      <table class="table"><caption class="vh">${t("nav.leaderboard")}</caption>
      <thead><tr><th class="r rank" scope="col">${t("place")}</th><th scope="col">${t("trader")}</th>
      <th class="r" scope="col" aria-sort=${by === "pnl" ? "descending" : undefined}>${t("gain")}</th>
      <th class="r" scope="col" aria-sort=${by === "volume" ? "descending" : undefined}>${t("contracts-traded")}</th>
      </tr></thead>
      <tbody>${places.map(
        (one) => html`<tr key=${one.user.id}
        class=${one.user.id === session.value?.user.id ? "me" : ""}><td class="r rank muted">${f.count(one.rank)}</td>
        <td><span class="row"><${Avatar} user=${one.user} size="s"/>
        <a class="q" href=${`/profiles/${one.user.id}`}><bdi>${one.user.profileName}</bdi></a>
        ${
          one.user.id === session.value?.user.id &&
          html`<span class="tag line">${t("you")}
        </span>`
        }</span></td><td class="r strong"><${Money} value=${one.realisedPnl} signed/></td>
        <td class="r">${f.quantity(one.volume)}</td></tr>`,
      )}</tbody></table></div>
      <div class="panel-foot"><span class="grow">
        ${t("of-traders", { shown: f.count(places.length), n: f.count(ask.data.total), count: ask.data.total })}</span>
        ${places.length < ask.data.total && html`<${Button} kind="s" act=${next}>${t("show-more-plain")}</${Button}>`}
        </div>`
      }</section>`;
}
