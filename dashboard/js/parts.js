// Parts that show a market: its two prices and its state.
import { html } from "./lib.js";
import { local, t } from "./i18n.js";
import * as f from "./format.js";
import { Icon } from "./icons.js";
import { venue } from "./account.js";
import { prices } from "./quotes.js";

/** The market's own word for an outcome. @param {any} market @param {"yes" | "no"} outcome */
export const wordOf = (market, outcome) =>
  local(market.outcomes?.find((/** @type {any} */ one) => one.id === outcome)?.text) || t(outcome);

/** Whether the market takes orders. @param {any} market */
export const trades = (market) =>
  market.status === "ACTIVE" && !(market.deadline && new Date(market.deadline).getTime() <= Date.now());

/** @param {{market: any, stats: any, question?: string, long?: boolean, outcome?: string}} props */
export function Pair({ market, stats, question, long }) {
  const now = prices(stats);
  const open = trades(market);
  const name = question ?? local(market.questions);
  return html`<div class="pair">${
    /** @type {const} */ (["yes", "no"]).map((outcome) => {
      const word = wordOf(market, outcome);
      const cost = now[outcome];
      if (!open || !cost)
        return html`<span class="px none"><span class="word"><bdi>${word}</bdi>
      </span> <span>${open ? (stats ? t("no-offers") : "") : t(`short.${market.status}`)}</span></span>`;
      return html`<a class=${`px ${outcome}`} href=${`/markets/${market.slug ?? market.id}?buy=${outcome}`}
      aria-label=${t("buy-on", { word: long ? t("buy-word", { word }) : word, price: f.price(cost), question: name })}>
      <span class="word">${
        long
          ? t("buy-word", { word })
          : html`<bdi>${word}
      </bdi>`
      }</span> <span>${f.price(cost)}</span></a>`;
    })
  }</div>`;
}

/** A market's state where it is not plainly trading, else when it closes. @param {{market: any}} props */
export function Closing({ market }) {
  const { status, deadline } = market;
  if (status === "SUSPENDED")
    return html`<span class="tag warn"><${Icon} name="pause"/>${t("status.SUSPENDED")}
    </span>`;
  if (status !== "ACTIVE") return html`<span class="tag line">${t(`status.${status}`)}</span>`;
  if (!deadline) return html`<span>${" "}</span>`;
  const left = new Date(deadline).getTime() - Date.now();
  if (left <= 0) return html`<span class="tag line">${t("status.CLOSED")}</span>`;
  if (left < 86_400_000)
    return html`<span class="tag line"><${Icon} name="clock"/>
    ${t("closes-in", { distance: f.distance(deadline) })}</span>`;
  return html`<time datetime=${deadline} title=${f.dateTime(deadline)}>${t("closes", { date: f.date(deadline) })}
    </time>`;
}

/**
 * Where a picture is, if the pages may show it. What the venue draws is at this venue: the demo has written its addresses
 * with the port of its first start. @param {string | null | undefined} url
 */
export function pictureAt(url) {
  const own = /^https?:\/\/[^/]+(\/pictures\/[\w-]+\/[\w-]+\.svg)$/.exec(url ?? "")?.[1];
  const origin = /^https?:\/\/[^/]+/.exec(url ?? "")?.[0] ?? "";
  return own ?? (venue.value.imageOrigins?.includes(origin) ? url : null);
}

/** A picture beside words that say the same. @param {{url: string | null | undefined}} props */
export function Picture({ url }) {
  const at = pictureAt(url);
  return at && html`<img class="pic" src=${at} alt="" width="32" height="32" loading="lazy"/>`;
}

/** The letters of a name. @param {string} name */
export const initials = (name) =>
  name
    .split(/[\s._-]+/)
    .filter(Boolean)
    .slice(0, 2)
    .map((part) => [...part][0])
    .join("")
    .toUpperCase();

/** A person's picture, or first letters. @param {{user: any, size?: string}} props */
export const Avatar = ({ user, size = "" }) =>
  html`<span class=${`avatar ${size}`} aria-hidden="true">${
    pictureAt(user.profilePic) ? html`<${Picture} url=${user.profilePic}/>` : initials(user.profileName)
  }</span>`;
