// Keys for programs: make, rotate, revoke, and how to use one.
import { html, useState } from "../lib.js";
import { t } from "../i18n.js";
import * as f from "../format.js";
import { get, newName, post, remove, write } from "../api.js";
import { session } from "../account.js";
import { notify } from "../notices.js";
import { fieldSentence, sentence } from "../problem.js";
import { Button, Copy, Dialog, Empty, Failed, Field, Loading, Panel, Segments, Records, useAsk } from "../ui.js";
import { Icon } from "../icons.js";
import { teller } from "../order-acts.js";

export const title = () => t("keys");

const DAY_MS = 24 * 60 * 60 * 1000;
/** How long a key may last, in days; 0 for as long as it is not revoked. */
const LASTS = [0, 7, 30, 90, 365];

/** @param {string} language @param {string} label */
function snippet(language, label) {
  const home = location.origin;
  if (language === "curl") {
    return `# ${label}
export OPENOUTCRY_KEY="..."

curl -sS ${home}/api/v1/markets/public/list?limit=3 \\
  -H "X-API-Key: $OPENOUTCRY_KEY"

curl -sS ${home}/api/v1/trading/orders?dryRun=true \\
  -H "X-API-Key: $OPENOUTCRY_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"marketId": "...", "outcomeId": "yes", "side": "BUY",
       "orderType": "LIMIT", "price": "0.60", "quantity": "10"}'`;
  }
  if (language === "python") {
    return `# ${label}
import json, os, urllib.request

def call(path, body=None):
    request = urllib.request.Request(
        "${home}/api/v1" + path,
        data=None if body is None else json.dumps(body).encode(),
        headers={"X-API-Key": os.environ["OPENOUTCRY_KEY"],
                 "Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)

market = call("/markets/public/list?limit=1")["markets"][0]
print(call("/trading/orders?dryRun=true", {
    "marketId": market["id"], "outcomeId": "yes", "side": "BUY",
    "orderType": "LIMIT", "price": "0.60", "quantity": "10"}))`;
  }
  return `// ${label}
async function call(path: string, body?: unknown) {
  const answer = await fetch("${home}/api/v1" + path, {
    method: body === undefined ? "GET" : "POST",
    headers: { "X-API-Key": process.env.OPENOUTCRY_KEY!, "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (!answer.ok) throw new Error((await answer.json()).code);
  return answer.json();
}

const { markets } = await call("/markets/public/list?limit=1");
console.log(await call("/trading/orders?dryRun=true", {
  marketId: markets[0].id, outcomeId: "yes", side: "BUY",
  orderType: "LIMIT", price: "0.60", quantity: "10",
}));`;
}

/** @param {{made: any, onStored: () => void}} props */
function Made({ made, onStored }) {
  return html`<${Panel} extra="new-key" title=${t("new-key", { label: made.label })} aside=${html`<span
    class="tag warn"><${Icon} name="warn"/>${t("shown-only-now")}</span>`}><div class="stack">
    ${
      made.key
        ? html`<div class="secret"><code>${made.key}</code><${Copy} text=${made.key} kind="primary"/>
      </div>`
        : html`<p class="banner warn"><${Icon} name="warn"/><span>${t("key-lost")}</span></p>`
    }
    <p class="muted">${t("new-key-text")}</p>
      <label class="check"><input type="checkbox" onChange=${onStored}/>${t("stored-it")}</label></div></${Panel}>`;
}

export function Page() {
  const [label, setLabel] = useState("");
  const [scope, setScope] = useState("trade");
  const [days, setDays] = useState(0);
  const [made, setMade] = useState(/** @type {any} */ (null));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const [asking, setAsking] = useState(/** @type {{what: "rotate" | "revoke", key: any} | null} */ (null));
  const [language, setLanguage] = useState("curl");
  const ask = useAsk((stop) => get("/account/keys", {}, stop), [session.value?.user.id]);
  const head = html`<div class="page-head"><div class="grow"><h1>${t("keys")}</h1><p>${t("keys-text")}</p></div></div>`;
  if (!session.value)
    return html`${head}<div class="panel">
    <${Empty} title=${t("sign-in-first")} text=${t("sign-in-first-text")}>
    <a class="btn primary" href="/sign-in?next=/keys">${t("sign-in")}</a></${Empty}></div>`;
  const make = async () => {
    setError(null);
    try {
      const ends = days ? { expiresAt: new Date(Date.now() + days * DAY_MS).toISOString() } : {};
      setMade(await post("/account/keys", { label, scope, ...ends }, { name: newName("key"), tell: teller() }));
      setLabel("");
      ask.again();
    } catch (failed) {
      setError(failed);
    }
  };
  const act = async () => {
    if (!asking) return;
    if (asking.what === "rotate")
      setMade(await write("POST", `/account/keys/${asking.key.keyId}/rotate`, {}, { name: null }));
    else {
      await remove(`/account/keys/${asking.key.keyId}`, { tell: teller() });
      notify({ kind: "done", title: t("key-revoked", { label: asking.key.label }) });
    }
    ask.again();
  };
  const others = async () => {
    const sessions = keys.filter((/** @type {any} */ one) => one.session && !one.current);
    for (const one of sessions) await remove(`/account/keys/${one.keyId}`, { tell: teller() });
    ask.again();
  };
  const keys = (ask.data?.keys ?? []).filter((/** @type {any} */ one) => !one.revokedAt);
  const scopes = session.value.scope === "operator"
    ? ["read", "trade", "operator", "auditor", "metrics", "cashier", "catalogue"]
    : ["read", "trade"];
  return html`${head}<div class="split"><div class="stack l">
    ${made && html`<${Made} made=${made} onStored=${() => setMade(null)}/>`}
    <${Panel} title=${t("keys-and-sessions")} flush
      aside=${
        keys.some((/** @type {any} */ one) => one.session && !one.current) &&
        html`<${Button} kind="s" act=${others}>
      ${t("sign-out-elsewhere")}</${Button}>`
      }>
      ${
        ask.error
          ? html`<${Failed} error=${ask.error}
        onAgain=${ask.again}/>`
          : !ask.data
            ? html`<${Loading}/>`
            : html`<${Records} label=${t("keys-and-sessions")}>
        <table class="table"><caption class="vh">${t("keys-and-sessions")}</caption>
        <thead><tr><th scope="col">${t("name")}</th><th scope="col">${t("may")}</th><th scope="col">${t("made")}</th>
        <th scope="col">${t("last-used")}</th><th scope="col">${t("ends")}</th>
        <th scope="col"><span class="vh">${t("acts")}</span></th></tr></thead>
        <tbody>${keys.map(
          (/** @type {any} */ one) => html`<tr key=${one.keyId}>
          <td><span class="q"><bdi>${one.label}</bdi></span><code class="sub">${one.keyId.slice(-12)}</code></td>
          <td>${
            one.session
              ? html`<span class="tag line">${t("session")}
          </span>`
              : html`<span class=${`tag ${one.scope === "read" ? "line" : "ink"}`}>${t(`scope.${one.scope}`)}
          </span>`
          }</td><td class="muted">${f.date(one.createdAt)}</td>
          <td>${one.lastUsedAt ? f.distance(one.lastUsedAt) : t("never-used")}</td>
          <td>${one.expiresAt ? f.distance(one.expiresAt) : t("never")}</td>
          <td class="r nowrap">${
            one.current
              ? html`<span class="faint">${t("this-browser")}
            </span>`
              : html`${
                  !one.session &&
                  html`<button type="button" class="btn s"
            onClick=${() => setAsking({ what: "rotate", key: one })}>${t("key-act.rotate")}</button> `
                }
            <button type="button" class="btn s danger-line" onClick=${() => setAsking({ what: "revoke", key: one })}>
            ${one.session ? t("sign-out") : t("key-act.revoke")}</button>`
          }</td></tr>`,
        )}</tbody></table></${Records}>`
      }</${Panel}>
    <${Panel} title=${t("use-it")} aside=${html`<${Segments} label=${t("programming-language")} value=${language}
      onChoose=${setLanguage} options=${[
        ["curl", "curl"],
        ["python", "Python"],
        ["typescript", "TypeScript"],
      ]}/>
      <${Copy} text=${snippet(language, keys[0]?.label ?? t("my-program"))}/>`}>
      <pre class="code" tabindex="0">${snippet(language, keys[0]?.label ?? t("my-program"))}</pre></${Panel}></div>
    <${Panel} title=${t("make-key")}><form class="stack" onSubmit=${(/** @type {Event} */ e) => e.preventDefault()}>
      <${Field} label=${t("name")} hint=${t("key-name-hint")} error=${fieldSentence(error, "label")}
        control=${(/** @type {any} */ ids) => html`<input class="input" ...${ids} maxlength="64" value=${label}
        onInput=${(/** @type {any} */ e) => setLabel(e.target.value)}/>`}/>
      <fieldset class="field"><legend>${t("it-may")}</legend>
        <div class="modes">${scopes.map(
          (one) => html`<label class="mode" key=${one}>
        <input type="radio" name="scope" checked=${scope === one} onChange=${() => setScope(one)}/>
        <span><b>${t(`scope.${one}`)}</b><span>${t(`scope-text.${one}`)}</span></span></label>`,
        )}</div></fieldset>
      <${Field} label=${t("ends")} error=${fieldSentence(error, "expiresAt")}
        control=${(/** @type {any} */ ids) => html`<select class="select" ...${ids}
        onChange=${(/** @type {any} */ e) => setDays(Number(e.target.value))}>${LASTS.map(
          (one) => html`<option key=${one} value=${one} selected=${one === days}>
        ${one ? t("after-days", { n: f.count(one), count: one }) : t("never")}</option>`,
        )}</select>`}/>
      ${
        error &&
        !fieldSentence(error, "label") &&
        html`<p class="banner danger" role="alert"><${Icon} name="stop"/>
        <span>${sentence(error)}</span></p>`
      }<${Button} kind="primary wide" act=${make}>${t("make-the-key")}</${Button}>
        </form></${Panel}></div>
    ${
      asking &&
      html`<${Dialog} danger=${asking.what === "revoke"}
      title=${t(`key-title.${asking.what}`, { label: asking.key.label })} effects=${[t(`key-effect.${asking.what}`)]}
      safe=${t("keep-key")} action=${t(`key-act.${asking.what}`)} act=${act} onClose=${() => setAsking(null)}/>`
    }`;
}
