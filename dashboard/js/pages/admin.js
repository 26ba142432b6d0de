// How the venue is: its figures now, what waits for the operator, the trading mode, who did what.
import { html, useEffect, useRef, useState } from "../lib.js";
import { has, local, t } from "../i18n.js";
import * as f from "../format.js";
import { get, post, sequence } from "../api.js";
import { isOperator, refreshLimits } from "../account.js";
import { notify } from "../notices.js";
import { teller } from "../order-acts.js";
import { parse, quantile, rate } from "../metrics.js";
import { Operator } from "../operator.js";
import { Asked } from "../asked.js";
import { Button, Dialog, Empty, Failed, Loading, Panel, Time, useAsk } from "../ui.js";
import { Icon } from "../icons.js";

export const title = () => t("admin.overview");

const EVERY = 5_000;
const KEPT = 720;

/** @param {{name: string, value: string, unit: string, points: (number | null)[], limit?: number, limitWords?: string}} props */
function Figure({ name, value, unit, points, limit, limitWords }) {
  const known = /** @type {number[]} */ (points.filter((one) => one !== null));
  const top = Math.max(...known, limit ? limit * 1.3 : 0, 1e-9) * 1.1;
  const x = (/** @type {number} */ i) => (points.length < 2 ? 0 : (i / (points.length - 1)) * 250);
  const y = (/** @type {number} */ at) => 70 - (at / top) * 62;
  let path = "";
  let open = false;
  points.forEach((one, i) => {
    if (one === null) open = false;
    else {
      path += `${open ? "L" : "M"}${x(i).toFixed(1)} ${y(one).toFixed(1)}`;
      open = true;
    }
  });
  return html`<section class="panel kpi" aria-label=${name}><div class="kpi-top"><h2 class="kpi-h">${name}</h2></div>
    <div class="kpi-val"><b>${value}</b><span>${unit}</span></div>
    <svg class="chart" viewBox="0 0 300 78" role="img" aria-label=${`${name}: ${value} ${unit}`}>
      <line class="grid" x1="0" x2="250" y1=${y(top / 1.1)} y2=${y(top / 1.1)}/>
      <text x="256" y=${y(top / 1.1) + 4}>
      ${f.shortQuantity((top / 1.1).toPrecision(2).includes("e") ? Math.round(top / 1.1) : (top / 1.1).toPrecision(2))}
      </text><line class="axis" x1="0" x2="250" y1="70" y2="70"/>
      ${
        limit !== undefined &&
        html`<line class="warn-line" x1="0" x2="250" y1=${y(limit)} y2=${y(limit)}/>
        <text class="t-warn" x="2" y=${y(limit) - 4}>${limitWords}
        </text>`
      }${
        known.length === 0
          ? html`<text x="125" y="44" text-anchor="middle">${t("no-samples")}
        </text>`
          : html`<path class="ink-line" d=${path}/>`
      }</svg></section>`;
}

function Figures() {
  const [samples, setSamples] = useState(/** @type {import("../metrics.js").Sample[]} */ ([]));
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    let here = true;
    const ask = async () => {
      if (document.hidden) return;
      try {
        const answer = await fetch("/metrics", { credentials: "same-origin", signal: AbortSignal.timeout(4000) });
        if (!answer.ok) throw new Error(String(answer.status));
        const sample = { at: Date.now(), values: parse(await answer.text()) };
        if (here) setSamples((before) => [...before, sample].slice(-KEPT));
        setFailed(false);
      } catch {
        if (here) setFailed(true);
      }
    };
    ask();
    const timer = setInterval(ask, EVERY);
    return () => {
      here = false;
      clearInterval(timer);
    };
  }, []);
  const pairs = samples.slice(1).map((one, i) => /** @type {const} */ ([samples[i], one]));
  const last = samples.at(-1)?.values;
  const line = (/** @type {(a: any, b: any) => number | null} */ of) => pairs.map(([a, b]) => of(a, b));
  const orders = line((a, b) => rate(a, b, "openoutcry_commands_total"));
  const p99 = line((a, b) => {
    const found = quantile(a, b, "openoutcry_http_request_seconds", 0.99);
    return found === null || !Number.isFinite(found) ? null : found * 1000;
  });
  const journal = line((a, b) => {
    const found = quantile(a, b, "openoutcry_journal_append_seconds", 0.99);
    return found === null || !Number.isFinite(found) ? null : found * 1000;
  });
  const of = (/** @type {string} */ name, /** @type {number} */ scale = 1) =>
    samples.map((one) => {
      const value = one.values.get(name);
      return value === undefined ? null : value / scale;
    });
  const shown = (/** @type {(number | null)[]} */ points, /** @type {number} */ digits = 0) => {
    const value = points.at(-1);
    return value == null ? "–" : f.shortQuantity(value.toFixed(digits));
  };
  const lag = of("openoutcry_read_lag_records");
  const connections = of("openoutcry_connections");
  const memory = of("process_resident_memory_bytes", 1_048_576);
  return html`${
    failed &&
    html`<p class="banner warn" role="status"><${Icon} name="warn"/><span>${t("figures-old")}
    </span></p>`
  }<div class="cols-3">
    <${Figure} name=${t("kpi.commands")} value=${shown(orders)} unit=${t("a-second-unit")} points=${orders}/>
      <${Figure} name=${t("kpi.answer")} value=${shown(p99, 1)} unit="ms" points=${p99} limit=${5}
      limitWords=${t("goal", { value: "5 ms" })}/>
      <${Figure} name=${t("kpi.journal")} value=${shown(journal, 1)} unit="ms" points=${journal}/>
    <${Figure} name=${t("kpi.lag")} value=${shown(lag)} unit=${t("records-unit")} points=${lag}/>
      <${Figure} name=${t("kpi.connections")} value=${shown(connections)} unit="" points=${connections}/>
      <${Figure} name=${t("kpi.memory")} value=${shown(memory)} unit="MiB" points=${memory}/></div>
    ${
      last &&
      html`<p class="small faint gap-t2 num">
      ${t("open-orders")} ${f.count(last.get("openoutcry_open_orders") ?? 0)} · ${t("people-n", { n: f.count(last.get("openoutcry_users") ?? 0), count: last.get("openoutcry_users") ?? 0 })} · ${t("last-snapshot", { number: f.count(last.get("openoutcry_snapshot_sequence") ?? 0) })}
      </p>`
    }`;
}

const MODES = ["normal", "cancel-only", "read-only"];

function Mode() {
  const ask = useAsk((stop) => get("/admin/venue/mode", {}, stop), []);
  const [next, setNext] = useState("");
  const now = ask.data?.mode;
  const act = async () => {
    await post("/admin/venue/mode", { mode: next }, { tell: teller() });
    notify({ kind: "done", title: t("mode-set", { mode: t(`mode.${next}`) }) });
    refreshLimits();
    ask.again();
  };
  return html`<${Panel} title=${t("trading-mode")} aside=${
    now &&
    html`<span
    class=${`tag ${now === "normal" ? "ok" : "warn"}`}><${Icon} name=${now === "normal" ? "check" : "pause"}/>
    ${t(`mode.${now}`)}</span>`
  }>${
    ask.error
      ? html`<${Failed} error=${ask.error}
    onAgain=${ask.again}/>`
      : !now
        ? html`<${Loading}/>`
        : html`<div class="stack">
    <fieldset class="modes"><legend class="vh">${t("trading-mode")}</legend>
    ${MODES.map(
      (one) => html`<label class="mode" key=${one}>
    <input type="radio" name="mode" checked=${(next || now) === one} onChange=${() => setNext(one)}/>
    <span><b>${t(`mode.${one}`)}</b><span>${t(`mode-text.${one}`)}</span></span></label>`,
    )}</fieldset>
    ${next && next !== now && html`<${Confirmed} mode=${next} act=${act} onClose=${() => setNext("")}/>`}</div>`
  }
      </${Panel}>`;
}

/** @param {{mode: string, act: () => Promise<void>, onClose: () => void}} props */
function Confirmed({ mode, act, onClose }) {
  const touched = useAsk((stop) => get("/admin/venue/impact", {}, stop), []).data;
  const effects = [t(`mode-effect.${mode}`), t("mode-banner")];
  if (touched)
    effects.push(
      t("mode-people", { n: f.count(touched.users), count: touched.users }),
      t("mode-orders", { n: f.count(touched.openOrders), count: touched.openOrders }),
      t("mode-keys", { n: f.count(touched.tradingKeys), count: touched.tradingKeys }),
    );
  return html`<${Dialog} danger=${mode !== "normal"}
  title=${t("switch-to", { mode: t(`mode.${mode}`) })} effects=${effects}
  word=${mode === "normal" ? undefined : mode} safe=${t("leave-mode")}
  action=${t("switch-to", { mode: t(`mode.${mode}`) })} act=${act} onClose=${onClose}/>`;
}

/** Records that traders make in numbers are left out: what is asked here is what people did. */
const LOUD = new Set(["PLACE_ORDER", "CANCEL_ORDER", "CANCEL_ORDERS", "AMEND_ORDER", "REPLACE_ORDER", "CONVERT", "HEARTBEAT", "ADVANCE_CLOCK", "SIGN_IN", "EXTEND_SESSION", "SIGN_OUT"]);

/** What records name only by number. @type {Map<string, any>} */
const named = new Map();

/** @param {string} id @param {string} path */
async function nameOf(id, path) {
  if (!named.has(id)) named.set(id, await get(path).catch(() => null));
}

/** What a record is about, in words. @param {any} one */
const about = (one) =>
  [
    one.profileName ?? named.get(one.userId)?.profileName,
    local(one.questions ?? one.titles ?? named.get(one.marketId)?.questions),
    one.amount && f.money(one.amount),
    one.limit && f.money(one.limit),
    one.mode && t(`mode.${one.mode}`),
    one.label,
    one.winningOutcomeId && t(one.winningOutcomeId),
  ]
    .filter(Boolean)
    .join(" · ");

/** What became of a record, where that is not what it asked for. @param {any} one */
const became = ({ result }) =>
  result &&
  result !== "ACCEPTED" &&
  html` <span class="muted" title=${result}>(${t(has(`became.${result}`) ? `became.${result}` : "became.refused")})</span>`;

function Journal() {
  const ask = useAsk(async (stop) => {
    const head = (await get("/admin/audit/head", {}, stop)).sequence;
    const records = [];
    for (
      let from = Math.max(1, head - 999), looked = 0;
      looked < 4 && records.length < 12 && from >= 1;
      from -= 1000, looked += 1
    ) {
      const page = await get("/admin/journal", { from: Math.max(1, from), limit: 1000 }, stop);
      records.push(...page.records.filter((/** @type {any} */ one) => !LOUD.has(one.kind)).reverse());
      if (from <= 1) break;
    }
    const shown = records.slice(0, 12);
    await Promise.all(
      shown.flatMap((one) => [
        one.userId && nameOf(one.userId, `/admin/users/${one.userId}`),
        one.marketId && nameOf(one.marketId, `/markets/${one.marketId}`),
      ]),
    );
    return shown;
  }, []);
  return html`<${Panel} title=${t("who-did-what")} flush aside=${html`<button type="button" class="btn quiet s"
    onClick=${ask.again}>${t("look-again")}
    </button>`}>${
    ask.error
      ? html`<${Failed} error=${ask.error}
    onAgain=${ask.again}/>`
      : !ask.data
        ? html`<${Loading}/>`
        : !ask.data.length
          ? html`<${Empty}
    title=${t("nothing-done")}/>`
          : html`<div class="scroll-x" tabindex="0" role="group"
    aria-label=${t("who-did-what")}><table class="table dense"><caption class="vh">${t("who-did-what")}</caption>
    <thead><tr><th scope="col">${t("time")}</th><th scope="col">${t("act")}</th><th scope="col">${t("about")}</th>
    <th class="r" scope="col">${t("record-head")}</th></tr></thead>
    <tbody>${ask.data.map(
      (one) => html`<tr key=${one.sequence}><td class="muted"><${Time} at=${one.time}/></td>
      <td title=${one.kind}>${has(`did.${one.kind}`) ? t(`did.${one.kind}`) : html`<code>${one.kind}</code>`}${became(one)}</td>
      <td><bdi>${about(one)}</bdi></td><td class="r faint">${f.count(one.sequence)}</td></tr>`,
    )}</tbody></table></div>`
  }</${Panel}>`;
}

function Waiting() {
  const ask = useAsk(async (stop) => {
    const pages = await Promise.all(
      ["DISPUTED", "CLOSED", "SUSPENDED"].map((status) => get("/admin/markets", { status, limit: 20 }, stop)),
    );
    const markets = pages.flatMap((page) => page.markets);
    const figures = await Promise.all(markets.slice(0, 20).map((one) => get(`/markets/${one.id}/stats`, {}, stop).catch(() => null)));
    return markets.map((one, at) => ({ ...one, stats: figures[at] }));
  }, []);
  return html`<${Panel} title=${t("markets-waiting")} flush aside=${html`<p>${t("markets-waiting-text")}
    </p>`}>${
    ask.error
      ? html`<${Failed} error=${ask.error}
    onAgain=${ask.again}/>`
      : !ask.data
        ? html`<${Loading}/>`
        : !ask.data.length
          ? html`<${Empty}
    title=${t("nothing-waits")}/>`
          : html`<div class="scroll-x" tabindex="0" role="group" aria-label=${t("markets-waiting")}>
    <table class="table"><caption class="vh">${t("markets-waiting")}</caption>
    <thead><tr><th scope="col">${t("question")}</th><th scope="col">${t("state")}</th>
    <th class="r" scope="col">${t("holders")}</th><th class="r" scope="col">${t("at-stake")}</th>
    <th class="r" scope="col">${t("closes-head")}</th></tr></thead>
    <tbody>${ask.data.map(
      (/** @type {any} */ one) => html`<tr key=${one.id}>
      <td><a class="q" href=${`/admin/catalogue?market=${one.id}`}><bdi>${local(one.questions)}</bdi></a></td>
      <td><span class=${`tag ${one.status === "DISPUTED" ? "danger" : "warn"}`}>${t(`status.${one.status}`)}</span></td>
      <td class="r">${one.stats ? f.count(one.stats.holders ?? 0) : "–"}</td>
      <td class="r">${one.stats ? f.money(one.stats.openInterest) : "–"}</td>
      <td class="r muted"><${Time} at=${one.deadline}/></td></tr>`,
    )}</tbody></table></div>`
  }</${Panel}>`;
}

function Fees() {
  const ask = useAsk((stop) => get("/admin/fees", {}, stop), []);
  if (!ask.data) return null;
  return html`<${Panel} title=${t("fees")}>
    <dl class="sum"><div><dt>${t("fees-collected")}</dt><dd>${f.money(ask.data.collected)}</dd></div>
    <div><dt>${t("fees-taken")}</dt><dd>${f.money(ask.data.taken)}</dd></div>
    <div class="rule total"><dt>${t("fees-kept")}</dt><dd>${f.money(ask.data.balance)}</dd></div></dl></${Panel}>`;
}

export function Page() {
  return html`<${Operator}><div class="page-head">
    <div class="grow"><h1>${t("admin.overview")}</h1>
    <p class="num">${location.host} · ${t("record", { number: f.count(sequence.value) })}</p></div></div>
    ${
      isOperator.value &&
      html`<${Figures}/>
    <div class="admin-two gap-t"><div class="stack l"><${Asked}/><${Waiting}/><${Journal}/></div>
    <div class="stack l"><${Mode}/><${Fees}/></div></div>`
    }</${Operator}>`;
}
