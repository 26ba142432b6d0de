// What everybody may know of a trader: the places on the board.
import { html } from "../lib.js";
import { t } from "../i18n.js";
import * as f from "../format.js";
import { get } from "../api.js";
import { initials } from "../frame.js";
import { session } from "../account.js";
import { Empty, Failed, Loading, Money, useAsk } from "../ui.js";
import { PERIODS } from "./leaderboard.js";

export const title = () => t("profile");

/** @param {string} id @param {string} period @param {AbortSignal} stop */
async function placeOf(id, period, stop) {
  for (let offset = 0; offset < 2000; offset += 100) {
    const page = await get("/leaderboard", { by: "pnl", period, limit: 100, offset }, stop);
    const found = page.places.find((/** @type {any} */ one) => one.user.id === id);
    if (found) return { ...found, total: page.total, period };
    if (offset + 100 >= page.total) return null;
  }
  return null;
}

/** @param {{id: string}} props */
export function Page({ id }) {
  const ask = useAsk((stop) => Promise.all(PERIODS.map((period) => placeOf(id, period, stop))), [id]);
  const own = session.value?.user.id === id;
  const places = (ask.data ?? []).filter(Boolean);
  const name = places.at(-1)?.user.profileName ?? (own ? session.value?.user.profileName : "");
  const crumbs = html`<nav class="crumbs" aria-label=${t("path")}><a href="/leaderboard">${t("nav.leaderboard")}</a>
    </nav>`;
  if (ask.error)
    return html`${crumbs}<h1 class="vh">${t("profile")}</h1>
    <div class="panel"><${Failed} error=${ask.error} onAgain=${ask.again}/></div>`;
  if (!ask.data) return html`${crumbs}<h1 class="vh">${t("profile")}</h1><div class="panel"><${Loading}/></div>`;
  return html`${crumbs}<header class="page-head"><span class="avatar l" aria-hidden="true">${initials(name ?? "")}
    </span><div class="grow"><h1><bdi>${name || t("profile")}</bdi></h1>${own && html`<p>${t("own-profile")}</p>`}</div>
    </header>
    <section class="panel" aria-label=${t("figures")}>
      ${
        places.length === 0
          ? html`<${Empty} title=${t("not-on-board")} text=${t("not-on-board-text")}/>`
          : html`<div class="scroll-x" tabindex="0" role="group" aria-label=${t("places")}>
      <table class="table"><caption class="vh">${t("places")}</caption>
      <thead><tr><th scope="col">${t("period")}</th><th class="r" scope="col">${t("place")}</th>
      <th class="r" scope="col">${t("gain")}</th><th class="r" scope="col">${t("contracts-traded")}</th></tr></thead>
      <tbody>${places.map(
        (one) => html`<tr key=${one.period}><th scope="row">${t(`board.${one.period}`)}</th>
        <td class="r">${t("place-of", { rank: f.count(one.rank), total: f.count(one.total) })}</td>
        <td class="r strong"><${Money} value=${one.realisedPnl} signed/></td><td class="r">${f.quantity(one.volume)}
        </td></tr>`,
      )}</tbody></table></div>`
      }</section>`;
}
