// The interface, from the venue's own description of it: what to send, what comes back, what can go wrong, and a place
// to try it with the reader's session, one key, or in a demo the public keys of its people.
import { html, signal, useEffect, useMemo, useState } from "../lib.js";
import { t } from "../i18n.js";
import { newName } from "../api.js";
import { addressOf, operations, withKnown } from "../describe.js";
import { choose, route } from "../router.js";
import { session, venue } from "../account.js";
import { Button, Copy, Failed, Field, Loading, Panel, useAsk } from "../ui.js";

export const title = () => t("nav.docs");

/** The demo's public keys, by what they may do. */
const DEMO = { reader: "demo-ana-trader-on-a-local-venue-1", trader: "demo-ana-trader-on-a-local-venue-1", operator: "demo-olga-operator-of-a-local-venue-5" };

/** The key that was typed: forgotten with the page. */
const typed = signal("");

/** What a request shows: the typed key, else the session, else in a demo a key that may ask this. @param {import("../describe.js").Operation["role"]} role @returns {{key: string, credentials: RequestCredentials}} */
function shown(role) {
  if (typed.value) return { key: typed.value, credentials: "omit" };
  const enough = session.value && (role !== "operator" || session.value.scope === "operator");
  return venue.value.demo && role && !enough ? { key: DEMO[role], credentials: "omit" } : { key: "", credentials: "same-origin" };
}

/** @param {string} path @param {"trader" | "operator"} role */
async function read(path, role = "trader") {
  const { key, credentials } = shown(role);
  const answer = await fetch(`/api/v1${path}`, { credentials, headers: key ? { "X-API-Key": key } : {} });
  return answer.ok ? answer.json() : null;
}

/** Ids that exist here and that the reader may ask for, by the names that parameters have. */
async function known() {
  const [markets, events, categories, who, orders, keys] = await Promise.all(
    ["/markets/public/list?limit=100", "/events/public/list?limit=1", "/categories/public/list", "/session", "/trading/orders?cursor=&limit=100", "/account/keys"].map((path) => read(path)),
  );
  const open = markets?.markets.find((/** @type {any} */ one) => one.status === "ACTIVE") ?? markets?.markets[0];
  const named = orders?.orders.find((/** @type {any} */ one) => one.clientOrderId);
  const found = {
    marketId: open?.id,
    eventId: events?.events[0]?.id,
    categoryId: categories?.categories[0]?.id,
    userId: who?.user.id,
    orderId: orders?.orders[0]?.id,
    clientOrderId: named?.clientOrderId,
    keyId: keys?.keys[0]?.keyId,
  };
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value));
}

/** @param {{all: import("../describe.js").Operation[], chosen: string}} props */
function Rail({ all, chosen }) {
  const tags = [...new Set(all.map((one) => one.tag))];
  return html`<nav class="rail docs-rail" aria-label=${t("docs-operations")}>${tags.map(
    (tag) => html`<details key=${tag} open=${all.some((one) => one.tag === tag && one.id === chosen)}>
    <summary lang="en">${tag}</summary>${all
      .filter((one) => one.tag === tag)
      .map(
        (one) => html`<a key=${one.id} href=${`/docs?op=${one.id}`} target="_self" lang="en"
        aria-current=${one.id === chosen ? "page" : undefined}
        onClick=${(/** @type {Event} */ event) => {
          event.preventDefault();
          choose({ op: one.id }, false);
        }}>${one.summary}</a>`,
      )}</details>`,
  )}</nav>`;
}

/** @param {{title: string, heads: string[], rows: any[][]}} props */
const Table = ({ title, heads, rows }) => html`<h2>${title}</h2><div class="panel scroll-x" tabindex="0" role="group"
  aria-label=${title}><table class="table dense docs-table"><caption class="vh">${title}</caption>
  <thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
  <tbody lang="en">${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody></table></div>`;

/** @param {{one: import("../describe.js").Operation, general: Set<string>}} props */
function Description({ one, general }) {
  const rows = (/** @type {boolean} */ own) => one.refusals.filter((each) => own !== general.has(each.code)).map((each) => [each.status, html`<code>${each.code}</code>`, each.meaning]);
  const heads = [t("docs.status"), t("docs.code"), t("docs.when")];
  const sent = [...one.parameters.map((each) => ({ ...each, where: t(`docs.${each.place}`) })), ...one.parts.map((each) => ({ ...each, where: t("docs.body") }))];
  return html`<div class="docs-text"><h1 lang="en">${one.summary}</h1><p lang="en">${one.text}</p>
    <p class="docs-line"><code><b>${one.method}</b> ${one.path}</code></p>
    <p class="faint small">${t(`docs.role.${one.role || "nobody"}`)}</p>
    ${
      sent.length > 0 &&
      html`<${Table} title=${t("docs.send")} heads=${[t("docs.name"), t("docs.where"), t("docs.kind"), t("docs.needed"), t("docs.meaning")]}
      rows=${sent.map((each) => [html`<code>${each.name}</code>`, each.where, html`<code>${each.kind}</code>`, each.needed ? t("docs.yes") : t("docs.no"), each.meaning])}/>`
    }
    ${one.answer && html`<h2>${t("docs.back")} <span class="tag ok">${one.status}</span></h2><pre class="docs-pre" tabindex="0">${one.answer}</pre>`}
    ${rows(true).length > 0 && html`<${Table} title=${t("docs.wrong")} heads=${heads} rows=${rows(true)}/>`}
    <details class="docs-more"><summary>${t("docs.wrong-any")}</summary><${Table} title=${t("docs.wrong-any")} heads=${heads} rows=${rows(false)}/></details></div>`;
}

/** @param {{one: import("../describe.js").Operation, ids: Record<string, string>}} props */
function Try({ one, ids }) {
  // Ids of things that a try would end stay those of the example: what is the reader's own is not ended by a click.
  const spared = one.method === "DELETE" || one.path.endsWith("/rotate") ? { ...ids, keyId: "" } : ids;
  const usable = Object.fromEntries(Object.entries(spared).filter(([, value]) => value));
  const idOf = (/** @type {string} */ name) => usable[name === "marketIds" ? "marketId" : name];
  const first = () => Object.fromEntries(one.parameters.map((each) => [each.name, each.example || each.needed ? (idOf(each.name) ?? each.example) : ""]));
  const [values, setValues] = useState(first);
  // A name of the caller's own is used once: what is placed gets a fresh one.
  const [body, setBody] = useState(() => one.body && JSON.stringify(withKnown(JSON.parse(one.body), { ...usable, clientOrderId: newName("docs").slice(0, 16) }), null, 2));
  const [answer, setAnswer] = useState(/** @type {{status: number, ms: number, text: string} | null} */ (null));
  const { key, credentials } = shown(one.role);
  const address = addressOf(one, values);
  const writes = one.method !== "GET";
  const send = async () => {
    const began = performance.now();
    /** @type {Record<string, string>} */
    const headers = {};
    if (key) headers["X-API-Key"] = key;
    if (writes) headers["X-Requested-By"] = "openoutcry";
    if (body !== null) headers["Content-Type"] = "application/json";
    try {
      const got = await fetch(address, { method: one.method, headers, credentials, body: body ?? undefined });
      const text = await got.text();
      let pretty = text;
      try {
        pretty = JSON.stringify(JSON.parse(text), null, 2);
      } catch {
        // Not JSON: shown as it is.
      }
      setAnswer({ status: got.status, ms: performance.now() - began, text: pretty.length > 20_000 ? `${pretty.slice(0, 20_000)}\n…` : pretty });
    } catch {
      setAnswer({ status: 0, ms: performance.now() - began, text: t("problem.NO_ANSWER") });
    }
  };
  const quoted = (/** @type {string} */ text) => `'${text.replaceAll("'", "'\\''")}'`;
  const curl = ["curl -sS", writes ? `-X ${one.method}` : "", one.role ? `-H "X-API-Key: $KEY"` : "", body === null ? "" : `-H 'Content-Type: application/json' -d ${quoted(body.replace(/\n\s*/g, " "))}`, quoted(location.origin + address)].filter(Boolean).join(" ");
  const hint = typed.value ? t("docs.key-typed") : key ? t("docs.key-demo", { name: one.role === "operator" ? "Olga" : "Ana" }) : session.value ? t("docs.key-session") : t("docs.key-none");
  return html`<div class="stack l"><${Panel} title=${t("docs.try")}><div class="stack">
    ${
      one.role &&
      html`<${Field} label=${t("docs.key")} hint=${hint} control=${(/** @type {any} */ more) => html`<input class="input mono" ...${more}
      type="text" autocomplete="off" spellcheck="false" value=${typed.value} onInput=${(/** @type {any} */ e) => (typed.value = e.target.value.trim())}/>`}/>`
    }
    ${one.parameters.map(
      (each) => html`<${Field} key=${each.name} label=${html`<code>${each.name}</code>`} aside=${!each.needed && html`<span class="faint">${t("docs.optional")}</span>`}
      control=${(/** @type {any} */ more) =>
        each.choices.length
          ? html`<select class="select" ...${more} onChange=${(/** @type {any} */ e) => setValues({ ...values, [each.name]: e.target.value })}>
          ${(each.needed ? each.choices : ["", ...each.choices]).map((choice) => html`<option value=${choice} selected=${choice === values[each.name]}>${choice}</option>`)}</select>`
          : html`<input class="input mono" ...${more} value=${values[each.name]} onInput=${(/** @type {any} */ e) => setValues({ ...values, [each.name]: e.target.value })}/>`}/>`,
    )}
    ${
      body !== null &&
      html`<${Field} label=${t("docs.body")} control=${(/** @type {any} */ more) => html`<textarea class="textarea mono" rows=${Math.min(18, body.split("\n").length + 1)}
      spellcheck="false" ...${more} value=${body} onInput=${(/** @type {any} */ e) => setBody(e.target.value)}></textarea>`}/>`
    }
    <${Button} kind="primary wide" act=${send}>${t("docs.send-it")}</${Button}></div></${Panel}>
    ${
      answer &&
      html`<section class="panel" aria-label=${t("docs.answer")} aria-live="polite"><div class="panel-head"><h2>${t("docs.answer")}</h2>
      <span class=${`tag ${answer.status >= 200 && answer.status < 300 ? "ok" : "danger"}`}>${answer.status || "–"} · ${answer.ms.toFixed(1)} ms</span></div>
      <pre class="docs-pre" tabindex="0">${answer.text || t("docs.empty")}</pre></section>`
    }
    <${Panel} title="curl" aside=${html`<${Copy} text=${curl}/>`}><pre class="docs-pre wrap" tabindex="0">${curl}</pre></${Panel}></div>`;
}

/** @param {{about: string}} props */
function Start({ about }) {
  return html`<div class="docs-text"><h1>${t("docs.start")}</h1><div lang="en" class="prose">${about.split("\n\n").map((/** @type {string} */ text) => html`<p>${text.split("`").map((part, place) => (place % 2 ? html`<code>${part}</code>` : part))}</p>`)}</div>
    <h2>${t("docs.for-programs")}</h2><div class="prose s"><ul>
    <li><a href="/api/v1/openapi.json" target="_self">OpenAPI</a>: ${t("docs.openapi")}</li>
    <li><a href="/api/v1/asyncapi.json" target="_self">AsyncAPI</a>: ${t("docs.asyncapi")}</li></ul></div></div>`;
}

export function Page() {
  const ask = useAsk(async () => (await fetch("/api/v1/openapi.json")).json(), []);
  const all = useMemo(() => (ask.data ? operations(ask.data) : []), [ask.data]);
  const general = useMemo(() => {
    /** @type {Map<string, number>} */
    const times = new Map();
    for (const { refusals } of all) for (const { code } of refusals) times.set(code, (times.get(code) ?? 0) + 1);
    return new Set([...times].filter(([, n]) => n > all.length / 3).map(([code]) => code));
  }, [all]);
  const [ids, setIds] = useState(/** @type {Record<string, string> | null} */ (null));
  useEffect(() => {
    if (session.value === undefined) return;
    known().then(setIds, () => setIds({}));
  }, [session.value, venue.value.demo, typed.value]);
  if (ask.error) return html`<h1 class="vh">${t("nav.docs")}</h1><div class="panel"><${Failed} error=${ask.error} onAgain=${ask.again}/></div>`;
  if (!ask.data || !ids) return html`<h1 class="vh">${t("nav.docs")}</h1><div class="panel"><${Loading} rows=${8}/></div>`;
  const chosen = route.value.query.get("op") ?? "";
  const one = all.find((each) => each.id === chosen);
  return html`<div class="docs"><${Rail} all=${all} chosen=${chosen}/>${
    one ? html`<${Description} key=${one.id} one=${one} general=${general}/><${Try} key=${`${one.id} ${JSON.stringify(ids)}`} one=${one} ids=${ids}/>` : html`<${Start} about=${ask.data.info.description}/>`
  }</div>`;
}
