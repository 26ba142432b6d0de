// What waits for an operator's answer: money that users asked for, acts that take two persons, disputed outcomes.
import { html } from "./lib.js";
import { local, t } from "./i18n.js";
import * as f from "./format.js";
import { get, post } from "./api.js";
import { refused, teller } from "./order-acts.js";
import { Button, Failed, Panel, Time, useAsk } from "./ui.js";

/** @param {{path: string, yes: string, no: string, onDone: () => void}} props */
const Answers = ({ path, yes, no, onDone }) => html`<span class="row">${["confirm", no].map((how) => html`<${Button}
  key=${how} kind=${how === "confirm" ? "s primary" : "s"}
  act=${() => post(`${path}/${how}`, {}, { tell: teller() }).then(onDone, refused)}>${how === "confirm" ? yes : t(`answer.${how}`)}
  </${Button}>`)}</span>`;

/** @param {{title: string, heads: string[], rows: any[]}} props */
const Rows = ({ title, heads, rows }) =>
  rows.length > 0 &&
  html`<${Panel} title=${title} flush><div class="scroll-x" tabindex="0" role="group" aria-label=${title}>
  <table class="table"><caption class="vh">${title}</caption>
  <thead><tr>${heads.map((head) => html`<th scope="col">${t(head)}</th>`)}</tr></thead>
  <tbody>${rows}</tbody></table></div></${Panel}>`;

/** What users and markets are called, by their ids. @type {Map<string, string>} */
const named = new Map();
/** @param {string} path @param {(string | null)[]} ids @param {(found: any) => string} name */
const names = (path, ids, name) =>
  Promise.all([...new Set(ids)].map((id) => id && !named.has(id) && get(`${path}/${id}`).then((found) => named.set(id, name(found)), () => null)));
const user = (/** @type {string | null} */ id) => id && html`<a class="q" href=${`/admin/users?user=${id}`}><bdi>${named.get(id) ?? id}</bdi></a>`;
const market = (/** @type {string | null} */ id) => id && html`<a class="q" href=${`/markets/${id}`}><bdi>${named.get(id) ?? id}</bdi></a>`;

/** What brought those of these markets in dispute that are in it, by their ids. @param {Set<string>} ids @param {AbortSignal} stop */
async function disputed(ids, stop) {
  if (!ids.size) return new Map();
  const { markets } = await get("/admin/markets", { status: "DISPUTED", limit: 1000 }, stop);
  const look = async (/** @type {any} */ { id }) => {
    const { activities } = await get(`/markets/${id}/activity`, {}, stop);
    return [id, activities.find((/** @type {any} */ one) => one.type === "MARKET_DISPUTED")];
  };
  return new Map(await Promise.all(markets.filter((/** @type {any} */ one) => ids.has(one.id)).map(look)));
}

/** All that waits; nothing where nothing does. */
export function Asked() {
  const ask = useAsk(async (stop) => {
    const [money, acts, doubts] = await Promise.all([
      get("/admin/transfers", { state: "requested", limit: 50 }, stop),
      get("/admin/proposals", {}, stop),
      get("/admin/disputes", {}, stop),
    ]);
    const all = [...money.transfers, ...acts.proposals, ...doubts.disputes];
    await names("/admin/users", all.map((one) => one.userId), (found) => found.profileName);
    await names("/markets", all.map((one) => one.marketId), (found) => local(found.questions));
    const since = await disputed(new Set(acts.proposals.map((/** @type {any} */ one) => one.marketId)), stop);
    const later = (/** @type {any} */ { marketId, proposal }) => (since.get(marketId)?.sequence > proposal ? since.get(marketId).createdAt : null);
    const proposals = acts.proposals.map((/** @type {any} */ one) => ({ ...one, doubted: later(one) }));
    return { ...money, proposals, disputes: doubts.disputes.filter((/** @type {any} */ one) => one.state === "open") };
  }, []);
  if (!ask.data) return ask.error ? html`<${Failed} error=${ask.error} onAgain=${ask.again}/>` : null;
  const { transfers, proposals, disputes } = ask.data;
  return html`<${Rows} title=${t("asked.transfers")} heads=${["time", "act", "about", "amount", "reference", "answer"]}
    rows=${transfers.map((/** @type {any} */ one) => html`<tr key=${one.transfer}><td class="muted"><${Time} at=${one.requestedAt}/></td>
      <td>${t(one.direction === "deposit" ? "deposit" : "withdraw")}</td><td>${user(one.userId)}</td>
      <td class="num">${f.money(one.amount)}</td><td>${one.reference ?? ""}</td>
      <td><${Answers} path=${`/admin/transfers/${one.transfer}`} yes=${t(`answer.${one.direction}`)} no="refuse"
        onDone=${ask.again}/></td></tr>`)}/>
    <${Rows} title=${t("asked.proposals")} heads=${["time", "act", "about", "amount", "answer"]}
    rows=${proposals.map((/** @type {any} */ one) => html`<tr key=${one.proposal}><td class="muted"><${Time} at=${one.proposedAt}/></td>
      <td>${t(`proposed.${one.action}`)} ${one.winningOutcomeId ? t(one.winningOutcomeId) : one.price ? f.price(one.price) : ""}</td>
      <td>${market(one.marketId) ?? user(one.userId)}${one.doubted && html`<br/><span class="muted">${t("asked.before-the-dispute")}
      ${" "}<${Time} at=${one.doubted}/></span>`}</td><td class="num">${one.amount ? f.money(one.amount) : ""}</td>
      <td><${Answers} path=${`/admin/proposals/${one.proposal}`} yes=${t("answer.confirm")} no="reject" onDone=${ask.again}/>
      </td></tr>`)}/>
    <${Rows} title=${t("asked.disputes")} heads=${["time", "about", "reason", "bond"]}
    rows=${disputes.map((/** @type {any} */ one) => html`<tr key=${one.sequence}><td class="muted"><${Time} at=${one.filedAt}/></td>
      <td>${market(one.marketId)}</td><td><bdi>${one.reason}</bdi></td><td class="num">${f.money(one.bond)}</td></tr>`)}/>`;
}
