// The catalogue: writing a question in three languages, publishing it, and leading it to its end.
import { html, useEffect, useState } from "../lib.js";
import { categoryName, LANGUAGES, language, local, t } from "../i18n.js";
import * as f from "../format.js";
import { get, pages, patch, post } from "../api.js";
import * as d from "../decimal.js";
import { choose, route } from "../router.js";
import { isOperator } from "../account.js";
import { notify } from "../notices.js";
import { fieldSentence, sentence } from "../problem.js";
import { teller } from "../order-acts.js";
import { Operator } from "../operator.js";
import { Pair, wordOf } from "../parts.js";
import { probability } from "../quotes.js";
import { Button, Dialog, Empty, Failed, Field, Loading, Meter, Panel, Segments, useAsk } from "../ui.js";
import { Icon } from "../icons.js";

export const title = () => t("admin.catalogue");

const NAMES = { en: "English", pt: "Português", es: "Español" };
const YES = { en: "Yes", pt: "Sim", es: "Sí" };
const NO = { en: "No", pt: "Não", es: "No" };
const empty = () => ({ en: "", pt: "", es: "" });

/** @param {any} market */
const formOf = (market) => ({
  questions: market?.questions ?? empty(),
  descriptions: market?.descriptions ?? empty(),
  yes: market?.outcomes.find((/** @type {any} */ one) => one.id === "yes")?.text ?? YES,
  no: market?.outcomes.find((/** @type {any} */ one) => one.id === "no")?.text ?? NO,
  deadline: market ? asLocal(market.deadline) : "",
  window: market?.disputeWindowSeconds ?? 86_400,
  categoryIds: market?.categoryIds ?? [],
  eventId: market?.eventId ?? "",
  highlighted: market?.highlighted ?? false,
  makerFee: market?.makerFee ?? "0",
  takerFee: market?.takerFee ?? "0",
  logo: market?.logo ?? "",
});

/** A moment as the field for local times writes it. @param {string} at */
function asLocal(at) {
  const then = new Date(at);
  return new Date(then.getTime() - then.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** What still stands against publishing. @param {any} form */
export function missing(form) {
  /** @type {{done: boolean, words: string}[]} */
  const checks = [];
  for (const one of LANGUAGES)
    checks.push({
      done: Boolean(
        form.questions[one].trim() && form.descriptions[one].trim() && form.yes[one].trim() && form.no[one].trim(),
      ),
      words: t("check.words", { language: NAMES[one] }),
    });
  checks.push({ done: LANGUAGES.every((one) => /\?\s*$/.test(form.questions[one])), words: t("check.question-mark") });
  checks.push({
    done: Boolean(form.deadline) && new Date(form.deadline).getTime() > Date.now(),
    words: t("check.deadline"),
  });
  return checks;
}

/** @type {Record<string, [string, string, boolean][]>} what can be done in each state: name, icon, whether a word confirms it */
const STEPS = {
  DRAFT: [["publish", "play", false]],
  ACTIVE: [
    ["suspend", "pause", false],
    ["close", "clock", true],
    ["void", "close", true],
  ],
  SUSPENDED: [
    ["reopen", "play", false],
    ["close", "clock", true],
    ["void", "close", true],
  ],
  CLOSED: [
    ["resolve", "flag", true],
    ["reopen", "play", false],
    ["void", "close", true],
  ],
  RESOLVED: [
    ["dispute", "gavel", false],
    ["void", "close", true],
  ],
  DISPUTED: [
    ["resolve", "flag", true],
    ["void", "close", true],
  ],
};

/** @param {{market: any, step: string, word: boolean, onClose: () => void, onDone: () => void}} props */
function Step({ market, step, word, onClose, onDone }) {
  const [outcome, setOutcome] = useState("yes");
  const [price, setPrice] = useState("");
  const touched = useAsk((stop) => get(`/admin/markets/${market.id}/impact`, {}, stop), [market.id]).data;
  const act = async () => {
    const body =
      step === "resolve"
        ? { winningOutcomeId: outcome }
        : step === "void" && price
          ? { price: d.typed(price, language.value) ?? price }
          : {};
    const done = await post(`/admin/markets/${market.id}/${step}`, body, { tell: teller() });
    notify({
      kind: "done",
      title: done?.proposal ? t("proposed") : t(`done.${step}`),
      action: { label: t("see-market"), href: `/markets/${market.slug ?? market.id}` },
    });
    onDone();
  };
  const typed = price ? Number(d.typed(price, language.value) ?? Number.NaN) : 0.5;
  const paid = typed >= 0 && typed <= 1 ? typed : null;
  const effects = [t(`effect.${step}`)];
  if (step === "resolve") effects.push(t("effect.window", { time: f.duration(market.disputeWindowSeconds) }));
  if (touched && step !== "publish") {
    effects.push(t("effect.people", { n: f.count(touched.users), count: touched.users, holders: f.count(touched.holders) }));
    effects.push(t("effect.orders", { n: f.count(touched.openOrders), count: touched.openOrders }));
    if (step === "resolve") {
      const held = outcome === "yes" ? touched.yesHeld : touched.noHeld;
      effects.push(t("effect.pays", { money: f.money(held), outcome: wordOf(market, /** @type {any} */ (outcome)) }));
    }
    if (step === "void" && paid !== null)
      effects.push(
        t("effect.void-pays", {
          yes: f.money(d.worth(touched.yesHeld, paid)),
          no: f.money(d.worth(touched.noHeld, 1 - paid)),
          cost: f.money(touched.holdingsCost),
        }),
      );
  }
  return html`<${Dialog} danger=${word} title=${t(`ask.${step}`)} text=${html`<bdi>${local(market.questions)}
    </bdi>`} effects=${effects} word=${word ? t(`word.${step}`) : undefined} safe=${t("leave-as-is")}
    action=${t(`act.${step}`)} act=${act} onClose=${onClose}>
    ${
      step === "resolve" &&
      html`<${Segments} wide label=${t("result")} value=${outcome} onChoose=${setOutcome}
      options=${[
        ["yes", wordOf(market, "yes")],
        ["no", wordOf(market, "no")],
      ]}/>`
    }
    ${
      step === "void" &&
      html`<${Field} label=${t("void-price")} hint=${t("void-hint")}
      control=${(/** @type {any} */ ids) => html`<input class="input" inputmode="decimal" ...${ids} value=${price}
      onInput=${(/** @type {any} */ e) => setPrice(e.target.value)}/>`}/>`
    }</${Dialog}>`;
}

/** @param {{market: any, categories: any[], events: any[], onDone: (id: string) => void}} props */
function Editor({ market, categories, events, onDone }) {
  const [form, setForm] = useState(() => formOf(market));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const [step, setStep] = useState(/** @type {[string, boolean] | null} */ (null));
  const [seen, setSeen] = useState(language.value);
  const set = (/** @type {any} */ change) => setForm((before) => ({ ...before, ...change }));
  const text = (
    /** @type {"questions" | "descriptions" | "yes" | "no"} */ field,
    /** @type {string} */ one,
    /** @type {any} */ e,
  ) => set({ [field]: { ...form[field], [one]: e.target.value } });
  const draft = !market || market.status === "DRAFT";
  const save = async () => {
    setError(null);
    const body = {
      questions: form.questions,
      descriptions: form.descriptions,
      outcomes: [
        { id: "yes", text: form.yes },
        { id: "no", text: form.no },
      ],
      categoryIds: form.categoryIds,
      highlighted: form.highlighted,
      deadline: form.deadline ? new Date(form.deadline).toISOString() : "",
      logo: form.logo || `${location.origin}/assets/icon.svg`,
      ...(draft ? { makerFee: form.makerFee, takerFee: form.takerFee } : {}),
    };
    try {
      const done = market
        ? await patch(`/admin/markets/${market.id}`, body, { tell: teller() })
        : await post(
            "/admin/markets",
            { ...body, disputeWindowSeconds: Number(form.window), ...(form.eventId ? { eventId: form.eventId } : {}) },
            { tell: teller() },
          );
      notify({ kind: "done", title: t("saved") });
      onDone(done.id);
    } catch (failed) {
      setError(failed);
    }
  };
  const checks = missing(form);
  const ready = checks.every((one) => one.done);
  const shown = {
    ...(market ?? { id: "", status: "DRAFT" }),
    questions: form.questions,
    outcomes: [
      { id: "yes", text: form.yes, probability: market ? probability(market) : 0.5 },
      { id: "no", text: form.no },
    ],
  };
  return html`<div class="stack l"><header class="page-head">
    <div class="grow"><h1><bdi>${local(form.questions) || t("new-market")}</bdi></h1>
    <p>${market ? t(`status.${market.status}`) : t("status.DRAFT")}
    ${
      market &&
      market.status !== "DRAFT" &&
      html` · <a href=${`/markets/${market.slug ?? market.id}`}>${t("see-market")}
    </a>`
    }</p></div><div class="row"><${Button} act=${save}>${draft ? t("save-draft") : t("save")}</${Button}>
      ${
        market &&
        (STEPS[market.status] ?? []).map(
          ([name, icon, word]) => html`<button key=${name} type="button"
        class=${`btn ${name === "publish" ? "primary" : word ? "danger-line" : ""}`}
        aria-disabled=${name === "publish" && !ready ? "true" : undefined}
        onClick=${() => (name !== "publish" || ready) && setStep([name, word])}><${Icon} name=${icon}/>
        ${t(`act.${name}`)}</button>`,
        )
      }</div></header>
    ${
      error &&
      html`<p class="banner danger" role="alert"><${Icon} name="stop"/>
      <span>${sentence(error)} ${/** @type {any} */ (error).problem?.errors?.map((/** @type {any} */ one) => `${one.field}: ${fieldSentence(error, one.field)}`).join(" · ")}
      </span></p>`
    }
    <${Panel} title=${t("words")} aside=${html`<p>${t("words-text")}</p>
      <button type="button" class="btn s"
      onClick=${() => set(Object.fromEntries(/** @type {const} */ (["questions", "descriptions", "yes", "no"]).map((field) => [field, { en: form[field].en, pt: form[field].pt || form[field].en, es: form[field].es || form[field].en }])))}>
      ${t("copy-english")}</button>`}><div class="lang-cols">
      ${LANGUAGES.map(
        (one, i) => html`<div key=${one} lang=${one}>
      <div class="lang-head"><span>${NAMES[one]}</span>${
        checks[i].done
          ? html`<span class="tag ok">
      <${Icon} name="check"/>${t("complete")}
      </span>`
          : html`<span class="tag warn"><${Icon} name="warn"/>${t("incomplete")}</span>`
      }</div>
      <${Field} label=${t("question")} control=${(/** @type {any} */ ids) => html`<textarea class="textarea" rows="3"
        ...${ids} value=${form.questions[one]} onInput=${(/** @type {any} */ e) => text("questions", one, e)}>
        </textarea>`}/>
      <div class="two"><${Field} label=${t("word-for-yes")} control=${(/** @type {any} */ ids) => html`<input
        class="input" ...${ids} value=${form.yes[one]} onInput=${(/** @type {any} */ e) => text("yes", one, e)}/>`}/>
        <${Field} label=${t("word-for-no")} control=${(/** @type {any} */ ids) => html`<input class="input" ...${ids}
        value=${form.no[one]} onInput=${(/** @type {any} */ e) => text("no", one, e)}/>`}/></div>
      <${Field} label=${t("rules-head")}
        hint=${t("characters-n", { n: f.count([...form.descriptions[one]].length), count: [...form.descriptions[one]].length })}
        control=${(/** @type {any} */ ids) => html`<textarea class="textarea" rows="6" ...${ids}
        value=${form.descriptions[one]} onInput=${(/** @type {any} */ e) => text("descriptions", one, e)}>
        </textarea>`}/></div>`,
      )}</div></${Panel}>
    <div class="admin-two"><${Panel} title=${t("dates-and-place")}>
      <div class="stack"><div class="two"><${Field} label=${t("trading-closes")}
      error=${fieldSentence(error, "deadline")} hint=${form.deadline ? f.distance(form.deadline) : null}
      control=${(/** @type {any} */ ids) => html`<input class="input" type="datetime-local" ...${ids}
      value=${form.deadline} onInput=${(/** @type {any} */ e) => set({ deadline: e.target.value })}/>`}/>
        <${Field} label=${t("dispute-window")} hint=${t("dispute-hint")}
          control=${(/** @type {any} */ ids) => html`<select class="select" ...${ids} disabled=${Boolean(market)}
          onChange=${(/** @type {any} */ e) => set({ window: Number(e.target.value) })}>
          ${[...new Set([0, 3600, 86_400, 172_800, 604_800, Number(form.window)])]
            .sort((a, b) => a - b)
            .map(
              (one) => html`<option
          value=${one} selected=${one === Number(form.window)}>${f.duration(one)}</option>`,
            )}</select>`}/></div>
      <div class="two"><${Field} label=${t("taker-fee")} hint=${t("fee-hint")} error=${fieldSentence(error, "takerFee")}
        control=${(/** @type {any} */ ids) => html`<input class="input" inputmode="decimal" ...${ids} disabled=${!draft}
        value=${form.takerFee} onInput=${(/** @type {any} */ e) => set({ takerFee: e.target.value })}/>`}/>
        <${Field} label=${t("maker-fee")} error=${fieldSentence(error, "makerFee")}
        control=${(/** @type {any} */ ids) => html`<input class="input" inputmode="decimal" ...${ids} disabled=${!draft}
        value=${form.makerFee} onInput=${(/** @type {any} */ e) => set({ makerFee: e.target.value })}/>`}/></div>
      ${
        !market &&
        html`<${Field} label=${t("event")} control=${(/** @type {any} */ ids) => html`<select class="select"
        ...${ids} onChange=${(/** @type {any} */ e) => set({ eventId: e.target.value })}>
        <option value="">${t("stands-alone")}</option>
        ${events.map(
          (one) => html`<option value=${one.id} selected=${one.id === form.eventId}>${local(one.titles)}
        </option>`,
        )}</select>`}/>`
      }
      <fieldset class="field"><legend>${t("categories")}</legend>
        <div class="row tight">${categories.map(
          (one) => html`<button key=${one.id} type="button" class="chip"
        aria-pressed=${String(form.categoryIds.includes(one.id))}
        onClick=${() => set({ categoryIds: form.categoryIds.includes(one.id) ? form.categoryIds.filter((/** @type {string} */ id) => id !== one.id) : [...form.categoryIds, one.id] })}>
        <bdi>${categoryName(one)}</bdi></button>`,
        )}</div></fieldset>
      <label class="check"><input type="checkbox" checked=${form.highlighted}
        onChange=${(/** @type {any} */ e) => set({ highlighted: e.target.checked })}/>${t("highlight-it")}</label></div>
        </${Panel}>
    <div class="stack l"><${Panel} title=${t("as-traders-see")} aside=${html`<${Segments} label=${t("language")}
      value=${seen} onChoose=${setSeen} options=${LANGUAGES.map((one) => [one, one.toUpperCase()])}/>`}>
      <article class="card" lang=${seen}><h3>${form.questions[seen] || "…"}</h3>
      <div class="big">${f.percent(probability(shown))} <small>${form.yes[seen]}</small></div>
      <${Meter} yes=${probability(shown)}/><${Pair} market=${shown} stats=${null}/></article></${Panel}>
      <${Panel} title=${t("before-publishing")}>
        <ul class="checks">${checks.map(
          (one, i) => html`<li key=${i} class=${one.done ? "" : "todo"}>
        <${Icon} name=${one.done ? "done" : "stop"}/><div><b>${one.words}</b>${
          !one.done &&
          html`<span>
        ${t("still-to-do")}</span>`
        }</div></li>`,
        )}</ul></${Panel}></div></div>
    ${
      step &&
      market &&
      html`<${Step} market=${market} step=${step[0]} word=${step[1]} onClose=${() => setStep(null)}
      onDone=${() => onDone(market.id)}/>`
    }</div>`;
}

const STATES = ["DRAFT", "ACTIVE", "SUSPENDED", "CLOSED", "RESOLVED", "DISPUTED", "SETTLED", "VOIDED"];

function Catalogue() {
  const { query } = route.value;
  const chosen = query.get("market");
  const status = STATES.includes(query.get("status") ?? "") ? /** @type {string} */ (query.get("status")) : "DRAFT";
  const [version, setVersion] = useState(0);
  const base = useAsk(
    async (stop) => ({
      categories: (await get("/categories/public/list", {}, stop)).categories,
      events: await pages("/events/public/list", "events"),
    }),
    [],
  );
  const list = useAsk((stop) => get("/admin/markets", { status, limit: 200 }, stop), [status, version]);
  const market = useAsk(
    (stop) => (chosen && chosen !== "new" ? get(`/markets/${chosen}`, {}, stop) : Promise.resolve(null)),
    [chosen, version],
  );
  useEffect(() => scrollTo(0, 0), [chosen]);
  const done = (/** @type {string} */ id) => {
    setVersion((n) => n + 1);
    choose({ market: id });
  };
  if (!base.data)
    return base.error
      ? html`<h1>${t("admin.catalogue")}</h1>
    <${Failed} error=${base.error} onAgain=${base.again}/>`
      : html`<h1>${t("admin.catalogue")}</h1><${Loading}/>`;
  if (chosen)
    return html`<nav class="crumbs" aria-label=${t("path")}><a href="/admin/catalogue">${t("admin.catalogue")}
    </a></nav>${
      market.error
        ? html`<h1 class="vh">${t("market")}</h1>
    <${Failed} error=${market.error} onAgain=${market.again}/>`
        : chosen !== "new" && !market.data
          ? html`<h1
    class="vh">${t("market")}</h1><${Loading} rows=${8}/>`
          : html`<${Editor} key=${`${chosen} ${version}`}
    market=${chosen === "new" ? null : market.data} categories=${base.data.categories} events=${base.data.events}
    onDone=${done}/>`
    }`;
  return html`<div class="page-head"><div class="grow"><h1>${t("admin.catalogue")}</h1></div>
    <div class="row"><a class="btn primary" href="/admin/catalogue?market=new"><${Icon} name="plus"/>${t("new-market")}
    </a></div></div>
    <div class="chips" role="group" aria-label=${t("state")}>
      ${STATES.map(
        (one) => html`<button key=${one} type="button" class="chip" aria-pressed=${String(one === status)}
      onClick=${() => choose({ status: one === "DRAFT" ? null : one })}>${t(`status.${one}`)}</button>`,
      )}</div>
    <section class="panel cards-top" aria-label=${t("nav.markets")}>
      ${
        list.error
          ? html`<${Failed} error=${list.error}
      onAgain=${list.again}/>`
          : !list.data
            ? html`<${Loading}/>`
            : !list.data.markets.length
              ? html`<${Empty}
      title=${t("none-in-state")}/>`
              : html`<div class="scroll-x" tabindex="0" role="group" aria-label=${t("list")}>
      <table class="table"><caption class="vh">${t("nav.markets")}</caption>
      <thead><tr><th scope="col">${t("question")}</th><th class="r" scope="col">${t("chance")}</th>
      <th class="r" scope="col">${t("closes-head")}</th></tr></thead>
      <tbody>${list.data.markets.map(
        (/** @type {any} */ one) => html`<tr key=${one.id}>
      <td><a class="q" href=${`/admin/catalogue?market=${one.id}`}><bdi>${local(one.questions)}</bdi></a></td>
      <td class="r">${f.percent(probability(one))}</td><td class="r muted">${f.dateTime(one.deadline)}</td>
      </tr>`,
      )}</tbody></table></div>`
      }</section>`;
}

export const Page = () => html`<${Operator}>${isOperator.value && html`<${Catalogue}/>`}</${Operator}>`;
