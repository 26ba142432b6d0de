// People: who there is, what they have, money in and out, invitations, limits and modes.
import { html, useState } from "../lib.js";
import { language, t } from "../i18n.js";
import * as f from "../format.js";
import { get, newName, pages, post, remove } from "../api.js";
import * as d from "../decimal.js";
import { choose, route } from "../router.js";
import { isOperator } from "../account.js";
import { notify } from "../notices.js";
import { fieldSentence, sentence } from "../problem.js";
import { teller } from "../order-acts.js";
import { Avatar } from "../parts.js";
import { Operator } from "../operator.js";
import { Button, Copy, Dialog, Empty, Failed, Field, Loading, Money, Panel, Segments, Time, useAsk } from "../ui.js";
import { Icon } from "../icons.js";

export const title = () => t("admin.users");

const SHOWN = 15;

/** @param {{error: unknown}} props */
const Trouble = ({ error }) =>
  error
    ? html`<p class="banner danger" role="alert"><${Icon} name="stop"/>
  <span>${sentence(error)}</span></p>`
    : null;

/** @param {{user: any, onDone: () => void}} props */
function Transfer({ user, onDone }) {
  const [kind, setKind] = useState(/** @type {"deposits" | "withdrawals"} */ ("deposits"));
  const [amount, setAmount] = useState("");
  const [reference, setReference] = useState("");
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const money = d.typed(amount, language.value);
  const after = money
    ? kind === "deposits"
      ? d.add(user.available, money)
      : d.subtract(user.available, money)
    : user.available;
  const act = async () => {
    setError(null);
    try {
      // The reference is the name of the write: one reference is booked once, however often it is sent.
      const done = await post(
        `/admin/users/${user.id}/${kind}`,
        { amount: money ?? amount },
        { name: reference.trim() ? `${kind}-${reference.trim()}` : newName(kind), tell: teller() },
      );
      notify({
        kind: "done",
        title: done?.proposal
          ? t("proposed")
          : t(`transfer-done.${kind}`, { money: f.money(money ?? "0"), name: user.profileName }),
      });
      setAmount("");
      setReference("");
      onDone();
    } catch (failed) {
      setError(failed);
    }
  };
  return html`<div class="stack"><${Segments} wide label=${t("money-in-or-out")} value=${kind} onChoose=${setKind}
    options=${[
      ["deposits", t("deposit")],
      ["withdrawals", t("withdraw")],
    ]}/>
    <div class="two"><${Field} label=${t("amount")}
      error=${fieldSentence(error, "amount") ?? (amount && !money ? t("ticket.amount-money") : null)}
      control=${(/** @type {any} */ ids) => html`<input class="input r" inputmode="decimal" ...${ids} value=${amount}
      onInput=${(/** @type {any} */ e) => setAmount(e.target.value)}/>`}/>
      <${Field} label=${t("reference")} control=${(/** @type {any} */ ids) => html`<input class="input" ...${ids}
      maxlength="40" pattern="[!-~]*" value=${reference}
      onInput=${(/** @type {any} */ e) => setReference(e.target.value.replace(/[^!-~]/g, ""))}/>`}/></div>
    <section class="preview num" aria-label=${t("if-you-send-it")}><h3>${t("if-you-send-it")}</h3>
      <dl class="sum"><div><dt>${t("available-now")}</dt><dd>${f.money(user.available)}</dd></div>
      <div class="rule total"><dt>${t("available-after")}</dt>
      <dd class=${after.startsWith("-") ? "loss" : ""}>${f.money(after)}</dd></div></dl></section>
    <${Trouble} error=${fieldSentence(error, "amount") ? null : error}/>
      <${Button} kind="primary wide" disabled=${!money} act=${act}>
      ${t(`transfer-act.${kind}`, { money: f.money(money ?? "0") })}</${Button}>
      <p class="small faint">${t("reference-note")}</p></div>`;
}

/** @param {{user: any, onDone: () => void}} props */
function Chosen({ user, onDone }) {
  const [tab, setTab] = useState("money");
  const [asking, setAsking] = useState("");
  const [link, setLink] = useState("");
  const [limit, setLimit] = useState(user.exposureLimit ?? "");
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const keys = useAsk(
    (stop) => (tab === "keys" ? get(`/admin/users/${user.id}/keys`, {}, stop) : Promise.resolve(null)),
    [user.id, tab],
  );
  const mode = async () => {
    await post(`/admin/users/${user.id}/mode`, { mode: asking }, { tell: teller() });
    onDone();
  };
  const invite = async () => {
    setError(null);
    try {
      const made = await post(`/admin/users/${user.id}/invitations`, {}, { name: null });
      setLink(`${location.origin}/invitations#${made.token}`);
    } catch (failed) {
      setError(failed);
    }
  };
  const noFactor = async () => {
    setError(null);
    try {
      await remove(`/admin/users/${user.id}/second-factor`);
      notify({ kind: "done", title: t("factor-lost-done", { name: user.profileName }) });
    } catch (failed) {
      setError(failed);
    }
  };
  const setExposure = async () => {
    setError(null);
    try {
      if (limit.trim())
        await post(
          `/admin/users/${user.id}/exposure-limit`,
          { limit: d.typed(limit, language.value) ?? limit },
          { tell: teller() },
        );
      else await remove(`/admin/users/${user.id}/exposure-limit`);
      onDone();
    } catch (failed) {
      setError(failed);
    }
  };
  const modes = ["normal", "cancel-only", "read-only"];
  return html`<${Panel} title=${html`<span class="row">
    <${Avatar} user=${user}/><bdi>${user.profileName}</bdi>
    </span>`} aside=${
    user.mode !== "normal" &&
    html`<span class="tag danger">${t(`mode.${user.mode}`)}
    </span>`
  }><div class="stack">
    <${Segments} wide label=${t("admin.users")} value=${tab} onChoose=${setTab}
      options=${[
        ["money", t("money")],
        ["rights", t("rights")],
        ["keys", t("keys")],
      ]}/>
    ${tab === "money" && html`<${Transfer} key=${user.id} user=${user} onDone=${onDone}/>`}
    ${
      tab === "rights" &&
      html`<div class="stack">
      <fieldset class="modes"><legend class="kpi-h">${t("trading-mode")}</legend>
      ${modes.map(
        (one) => html`<label class="mode" key=${one}>
      <input type="radio" name="user-mode" checked=${user.mode === one} onChange=${() => setAsking(one)}/>
      <span><b>${t(`mode.${one}`)}</b><span>${t(`mode-text.${one}`)}</span></span></label>`,
      )}</fieldset>
      <${Field} label=${t("exposure-limit")} hint=${t("exposure-hint")} error=${fieldSentence(error, "limit")}
        control=${(/** @type {any} */ ids) => html`<input class="input r" inputmode="decimal" ...${ids} value=${limit}
        onInput=${(/** @type {any} */ e) => setLimit(e.target.value)}/>`}/>
        <${Button} act=${setExposure}>${t("set-limit")}</${Button}>
        <${Trouble} error=${fieldSentence(error, "limit") ? null : error}/></div>`
    }
    ${
      tab === "keys" &&
      html`<div class="stack">
      ${
        keys.error
          ? html`<${Failed} error=${keys.error} onAgain=${keys.again}/>`
          : html`<ul class="feed-list">
      ${(keys.data?.keys ?? [])
        .filter((/** @type {any} */ one) => !one.revokedAt)
        .map(
          (/** @type {any} */ one) => html`<li
      key=${one.keyId}><${Icon} name="key"/><span><bdi>${one.label}</bdi><small>${one.role}</small></span>
      <${Button} kind="s danger-line" act=${() => remove(`/admin/users/${user.id}/keys/${one.keyId}`).then(keys.again)}>
      ${t("key-act.revoke")}</${Button}></li>`,
        )}</ul>`
      }<${Button} act=${noFactor}>${t("factor-lost")}</${Button}></div>`
    }
    ${
      link
        ? html`<div class="secret"><code>${link}</code><${Copy} text=${link}/></div>
      <p class="small faint">${t("invite-note")}
      </p>`
        : html`<${Button} act=${invite}><${Icon} name="link"/>${t("make-invitation")}
      </${Button}>`
    }${tab !== "rights" && html`<${Trouble} error=${error}/>`}</div>
    ${
      asking &&
      asking !== user.mode &&
      html`<${Dialog} danger=${asking !== "normal"}
      title=${t("user-mode-title", { name: user.profileName, mode: t(`mode.${asking}`) })}
      effects=${[t(`mode-effect.${asking}`)]} safe=${t("leave-mode")}
      action=${t("switch-to", { mode: t(`mode.${asking}`) })} act=${mode} onClose=${() => setAsking("")}/>`
    }
      </${Panel}>`;
}

/** @param {{onClose: () => void, onDone: (id: string) => void}} props */
function NewUser({ onClose, onDone }) {
  const [name, setName] = useState("");
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const act = async () => {
    try {
      onDone(
        (
          await post(
            "/admin/users",
            { profileName: name, profilePic: `${location.origin}/assets/icon.svg` },
            { tell: teller() },
          )
        ).id,
      );
    } catch (failed) {
      setError(failed);
      throw failed;
    }
  };
  return html`<${Dialog} title=${t("new-user")} safe=${t("not-now")} action=${t("make-user")} act=${act}
    onClose=${onClose}><${Field} label=${t("name-others-see")} error=${fieldSentence(error, "profileName")}
    control=${(/** @type {any} */ ids) => html`<input class="input" ...${ids} maxlength="64" value=${name}
    onInput=${(/** @type {any} */ e) => setName(e.target.value)}/>`}/></${Dialog}>`;
}

function Users() {
  const [filter, setFilter] = useState("");
  const [which, setWhich] = useState("all");
  const [shown, setShown] = useState(SHOWN);
  const [making, setMaking] = useState(false);
  const ask = useAsk(() => pages("/admin/users", "users", {}, 5000), []);
  const chosen = route.value.query.get("user");
  const users = ask.data ?? [];
  const rows = users.filter(
    (one) =>
      (which === "all" || one.mode !== "normal") &&
      (one.profileName.toLowerCase().includes(filter.trim().toLowerCase()) || one.id.endsWith(filter.trim())),
  );
  const user = users.find((one) => one.id === chosen);
  return html`<div class="page-head"><div class="grow"><h1>${t("admin.users")}</h1></div>
    <div class="row"><button type="button" class="btn primary" onClick=${() => setMaking(true)}><${Icon} name="plus"/>
    ${t("new-user")}</button></div></div>
    <div class="admin-two wide"><section class="panel" aria-label=${t("admin.users")}>
      <div class="panel-head"><input class="input s grow" type="search" aria-label=${t("filter-users")}
      placeholder=${t("filter-users")} value=${filter} onInput=${(/** @type {any} */ e) => setFilter(e.target.value)}/>
      <${Segments} label=${t("show-which")} value=${which} onChoose=${setWhich}
      options=${[
        ["all", `${t("all")} ${f.count(users.length)}`],
        ["limited", `${t("limited")} ${f.count(users.filter((one) => one.mode !== "normal").length)}`],
      ]}/>
      </div>
      ${
        ask.error
          ? html`<${Failed} error=${ask.error} onAgain=${ask.again}/>`
          : !ask.data
            ? html`<${Loading}
        rows=${10}/>`
            : html`<div class="scroll-x" tabindex="0" role="group" aria-label=${t("list")}>
        <table class="table"><caption class="vh">${t("admin.users")}</caption>
        <thead><tr><th scope="col">${t("name")}</th><th class="r" scope="col">${t("available")}</th>
        <th class="r" scope="col">${t("held-short")}</th><th class="r" scope="col">${t("made")}</th>
        <th scope="col">${t("state")}</th></tr></thead>
        <tbody>${rows.slice(0, shown).map(
          (one) => html`<tr key=${one.id} class=${one.id === chosen ? "me" : ""}>
          <td><span class="row"><${Avatar} user=${one} size="s"/>
          <a class="q" href=${`/admin/users?user=${one.id}`} aria-current=${one.id === chosen ? "true" : undefined}>
          <bdi>${one.profileName}</bdi></a></span></td><td class="r"><${Money} value=${one.available}/></td>
          <td class="r"><${Money} value=${one.reserved}/></td>
          <td class="r muted"><${Time} at=${one.createdAt} as=${(/** @type {string} */ at) => f.date(at)}/></td>
          <td>${
            one.mode !== "normal"
              ? html`<span class="tag danger">${t(`mode.${one.mode}`)}
          </span>`
              : one.exposureLimit
                ? html`<span class="tag line">
          ${t("limit-is", { money: f.money(one.exposureLimit) })}</span>`
                : ""
          }</td></tr>`,
        )}</tbody></table></div>
      <div class="panel-foot"><span class="grow">
        ${t("shown-of", { shown: f.count(Math.min(shown, rows.length)), total: f.count(rows.length) })}</span>
        ${
          rows.length > shown &&
          html`<button type="button" class="btn s" onClick=${() => setShown(shown + 50)}>
        ${t("show-more-plain")}</button>`
        }</div>`
      }</section>
    ${
      user
        ? html`<${Chosen} key=${user.id} user=${user} onDone=${ask.again}/>`
        : html`<section class="panel"
      aria-label=${t("choose-user")}><${Empty} title=${t("choose-user")} text=${t("choose-user-text")}/></section>`
    }
      </div>
    ${
      making &&
      html`<${NewUser} onClose=${() => setMaking(false)}
      onDone=${(/** @type {string} */ id) => {
        ask.again();
        choose({ user: id });
      }}/>`
    }`;
}

export const Page = () => html`<${Operator}>${isOperator.value && html`<${Users}/>`}</${Operator}>`;
