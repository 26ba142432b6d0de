// Parts that several pages use. Each draws what it is given and keeps no data of its own.
import { html, useEffect, useId, useLayoutEffect, useRef, useState } from "./lib.js";
import { Icon, Triangle } from "./icons.js";
import { t } from "./i18n.js";
import * as f from "./format.js";
import { sentence, ApiError } from "./problem.js";

/** A moment, with UTC one hover away. @param {{at: string, as?: (moment: string) => string}} props */
export const Time = ({ at, as = f.time }) => html`<time datetime=${at} title=${new Date(at).toISOString()}>${as(at)}
  </time>`;

/** @param {{value: string, signed?: boolean}} props */
export const Money = ({ value, signed }) => html`<span class=${signed ? f.direction(value) : ""}
  title=${f.exactMoney(value)}>${signed ? f.signedMoney(value) : f.money(value)}</span>`;

/** @param {{yes: number, label?: string}} props */
export const Meter = ({ yes }) => html`<svg class="meter" role="img"
  aria-label=${t("meter", { yes: f.percent(yes), no: f.percent(1 - yes) })}>
  <rect class="hatch-bg" width="100%" height="100%"/><rect class="h" width="100%" height="100%"/>
    <rect class="y" width=${`${(yes * 100).toFixed(1)}%`} height="100%"/></svg>`;

/** A change of probability, with a shape and words. @param {{value: number | null | undefined}} props */
export function Delta({ value }) {
  if (value == null) return html`<span class="delta flat">${" "}</span>`;
  const shown = f.points(value);
  const kind = Math.round(value * 1000) > 0 ? "up" : Math.round(value * 1000) < 0 ? "down" : "flat";
  return html`<span class=${`delta ${kind}`}>${kind !== "flat" && html`<${Triangle} up=${kind === "up"}/>`}${shown}
    </span>`;
}

/** @param {{outcome: "yes" | "no", words?: string}} props */
export const Outcome = ({ outcome, words }) => html`<span class=${`tag ${outcome}`}><bdi>${words ?? t(outcome)}</bdi>
  </span>`;

/**
 * Choices of which one holds.
 * @param {{label: string, name?: string, value: string, options: [string, any][], onChoose: (value: string) => void, wide?: boolean}} props
 */
export function Segments({ label, value, options, onChoose, wide }) {
  const name = useId();
  return html`<div class=${`seg${wide ? " wide" : ""}`} role="radiogroup" aria-label=${label}>
    ${options.map(
      ([key, words]) => html`<label key=${key}>
      <input type="radio" name=${name} value=${key} checked=${key === value} onChange=${() => onChoose(key)}/>${words}
      </label>`,
    )}</div>`;
}

/** @param {{label: string, value: string, options: [string, any, (string | number)?][], onChoose: (value: string) => void, controls: string, extra?: string}} props */
export function Tabs({ label, value, options, onChoose, controls, extra = "" }) {
  /** @param {KeyboardEvent} event */
  const move = (event) => {
    const at = options.findIndex(([key]) => key === value);
    const next =
      event.key === "ArrowRight"
        ? at + 1
        : event.key === "ArrowLeft"
          ? at - 1
          : event.key === "Home"
            ? 0
            : event.key === "End"
              ? options.length - 1
              : null;
    if (next === null) return;
    event.preventDefault();
    const [key] = options[(next + options.length) % options.length];
    onChoose(key);
    const list = /** @type {HTMLElement} */ (event.currentTarget);
    setTimeout(() => /** @type {HTMLElement | null} */ (list.querySelector('[aria-selected="true"]'))?.focus());
  };
  return html`<div class=${`tabs ${extra}`} role="tablist" aria-label=${label} onKeyDown=${move}>
    ${options.map(
      ([key, words, n]) => html`<button key=${key} type="button" role="tab" id=${`tab-${key}`}
      aria-selected=${String(key === value)} aria-controls=${controls} tabindex=${key === value ? 0 : -1}
      onClick=${() => onChoose(key)}>${words}${n !== undefined && html` <span class="n">${n}</span>`}</button>`,
    )}
      </div>`;
}

/** @param {{title: any, aside?: any, children?: any, foot?: any, flush?: boolean, extra?: string, label?: string}} props */
export function Panel({ title, aside, children, foot, flush, extra = "" }) {
  const id = useId();
  return html`<section class=${`panel ${extra}`} aria-labelledby=${id}>
    <div class="panel-head"><h2 id=${id}>${title}</h2>${aside}</div>
    ${flush ? children : html`<div class="panel-body">${children}</div>`}${
      foot &&
      html`<div class="panel-foot">${foot}
      </div>`
    }</section>`;
}

const GLYPHS = {
  bars: html`<path d="M10 44h36M14 44V30h6v14M25 44V20h6v24M36 44V34h6v10"/>`,
  glass: html`<circle cx="25" cy="25" r="14"/><path d="m36 36 10 10M20 25h10"/>`,
  cut: html`<path d="M8 20a30 30 0 0 1 40 0M15 28a19 19 0 0 1 26 0M22 36a9 9 0 0 1 12 0M28 44h.1M10 48 46 8"/>`,
};

/** @param {{glyph?: "bars" | "glass" | "cut", title: string, text?: any, children?: any, level?: 2 | 3}} props */
export const Empty = ({ glyph = "bars", title, text, children }) => html`<div class="empty">
  <svg class="glyph" viewBox="0 0 56 56" fill="none" stroke="currentColor" stroke-width="2" aria-hidden="true">
  ${GLYPHS[glyph]}</svg>
  <p class="empty-title">${title}</p>${text && html`<p>${text}</p>`}<div class="row">${children}</div></div>`;

/** @param {{error: unknown, onAgain?: () => void}} props */
export function Failed({ error, onAgain }) {
  const number = error instanceof ApiError ? error.problem.requestId : null;
  if (error instanceof ApiError && error.status === 401) {
    return html`<${Empty} glyph="bars" title=${t("sign-in-first")} text=${t("sign-in-look")}>
      <a class="btn primary" href=${`/sign-in?next=${encodeURIComponent(location.pathname)}`}>${t("sign-in")}</a>
      <a class="btn" href=${`/sign-up?next=${encodeURIComponent(location.pathname)}`}>${t("new-here")}</a>
      </${Empty}>`;
  }
  return html`<${Empty} glyph="cut" title=${t("not-loaded")} text=${html`${sentence(error)}
    ${number ? ` ${t("request-number", { number })}` : ""}`}>
    ${onAgain && html`<button class="btn primary" type="button" onClick=${onAgain}>${t("try-again")}</button>`}
      </${Empty}>`;
}

/** Shapes of the right size; a screen reader hears one word. @param {{rows?: number}} props */
export const Loading = ({ rows = 4 }) => html`<div class="panel-body stack s" role="status">
  <span class="vh">${t("loading")}</span>${Array.from(
    { length: rows },
    (_, i) => html`<div key=${i}
  class=${`skel ${["w2", "w3", "w1"][i % 3]}`}></div>`,
  )}</div>`;

/**
 * A labelled control. `control` gets the ids that tie hint and error to it.
 * @param {{label: any, aside?: any, hint?: any, error?: string | null, control: (ids: {id: string, "aria-describedby"?: string, "aria-invalid"?: "true"}) => any}} props
 */
export function Field({ label, aside, hint, error, control }) {
  const id = useId();
  const described = [hint && `${id}-h`, error && `${id}-e`].filter(Boolean).join(" ");
  return html`<div class="field"><div class="lbl"><label for=${id}>${label}</label>${aside}</div>
    ${control({ id, ...(described ? { "aria-describedby": described } : {}), ...(error ? { "aria-invalid": /** @type {const} */ ("true") } : {}) })}
    ${
      error &&
      html`<span class="err" id=${`${id}-e`}><${Icon} name="stop"/>${error}
      </span>`
    }${hint && html`<span class="hint" id=${`${id}-h`}>${hint}</span>`}</div>`;
}

/** A button whose act waits for the venue: busy at once, a spinner after 400 ms. @param {any} props */
export function Button({ act, kind = "", children, disabled = false, ...rest }) {
  const [busy, setBusy] = useState(/** @type {"" | "busy" | "slow"} */ (""));
  const here = useRef(true);
  useEffect(() => () => void (here.current = false), []);
  const press = async () => {
    if (busy || disabled) return;
    setBusy("busy");
    const timer = setTimeout(() => here.current && setBusy("slow"), 400);
    try {
      await act();
    } finally {
      clearTimeout(timer);
      if (here.current) setBusy("");
    }
  };
  return html`<button type="button" ...${rest} class=${`btn ${kind}${busy ? " busy" : ""}`}
    aria-disabled=${busy || disabled ? "true" : undefined} onClick=${press}>
    ${busy === "slow" && html`<span class="spin" aria-hidden="true"></span>`}${children}</button>`;
}

/** @param {{text: string, label?: string, kind?: string}} props */
export function Copy({ text, label, kind = "s" }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setDone(true);
      setTimeout(() => setDone(false), 2000);
    } catch {
      getSelection()?.selectAllChildren(document.body);
    }
  };
  return html`<button type="button" class=${`btn ${kind}`} onClick=${copy}><${Icon} name=${done ? "check" : "copy"}/>
    <span aria-live="polite">${done ? t("copied") : (label ?? t("copy"))}</span></button>`;
}

/**
 * An act that needs a second look: says its effects first; what cannot be undone is confirmed by typing a word.
 * @param {{title: string, text?: any, effects?: any[], word?: string, safe: string, action: string, danger?: boolean, act: () => Promise<unknown>, onClose: () => void, children?: any}} props
 */
export function Dialog({ title, text, effects = [], word, safe, action, danger, act, onClose, children }) {
  const box = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const [typed, setTyped] = useState("");
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const id = useId();
  useEffect(() => {
    const opener = document.activeElement;
    box.current?.showModal();
    return () => opener instanceof HTMLElement && opener.focus();
  }, []);
  const ready = !word || typed.trim().toLowerCase() === word.toLowerCase();
  const send = async () => {
    try {
      setError(null);
      await act();
      onClose();
    } catch (failed) {
      setError(failed);
    }
  };
  return html`<dialog class="dialog" ref=${box} aria-labelledby=${id}
    onCancel=${(/** @type {Event} */ event) => {
      event.preventDefault();
      onClose();
    }}>
    <header><h2 id=${id}>${title}</h2></header>
    <div class="body">${
      text &&
      html`<p>${text}
      </p>`
    }${
      effects.length > 0 &&
      html`<ul class="effects">${effects.map(
        (one) => html`<li><${Icon} name="info"/>
      <span>${one}</span></li>`,
      )}</ul>`
    }${children}
      ${
        word &&
        html`<${Field} label=${t("type-to-confirm", { word })} control=${(/** @type {any} */ ids) => html`<input
        class="input" ...${ids} autocomplete="off" value=${typed}
        onInput=${(/** @type {any} */ e) => setTyped(e.target.value)}/>`}/>`
      }
      ${
        error &&
        html`<p class="banner danger" role="alert"><${Icon} name="stop"/><span>${sentence(error)}</span>
        </p>`
      }</div>
    <footer><button type="button" class="btn" onClick=${onClose}>${safe}</button>
      <${Button} kind=${danger ? "danger" : "primary"} disabled=${!ready} act=${send}>${action}</${Button}></footer>
      </dialog>`;
}

/** A spark line: no axes, the last point marked, a dashed line where it began. @param {{values: number[], label?: string}} props */
export function Spark({ values }) {
  if (values.length < 2) return html`<svg class="spark" viewBox="0 0 112 40" aria-hidden="true"></svg>`;
  const low = Math.min(...values);
  const high = Math.max(...values);
  const y = (/** @type {number} */ v) => (high === low ? 20 : 36 - ((v - low) / (high - low)) * 32).toFixed(1);
  const x = (/** @type {number} */ i) => (2 + (i / (values.length - 1)) * 104).toFixed(1);
  return html`<svg class="spark" viewBox="0 0 112 40" preserveAspectRatio="none" aria-hidden="true">
    <path class="base" d=${`M2 ${y(values[0])}H108`}/>
    <path d=${values.map((v, i) => `${i ? "L" : "M"}${x(i)} ${y(v)}`).join("")}/>
      <circle cx="106" cy=${y(values.at(-1) ?? 0)} r="2.5"/></svg>`;
}

/** Fetches what a page shows, again whenever `keys` change. @template T @param {(signal: AbortSignal) => Promise<T>} ask @param {unknown[]} keys */
export function useAsk(ask, keys) {
  const [state, setState] = useState(/** @type {{data?: T, error?: unknown, loading: boolean}} */ ({ loading: true }));
  const [round, setRound] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    ask(stop.signal).then(
      (data) => stop.signal.aborted || setState({ data, loading: false }),
      (error) => stop.signal.aborted || setState((before) => ({ ...before, error, loading: false })),
    );
    return () => stop.abort();
  }, [...keys, round]);
  return {
    ...state,
    again: () => setRound((n) => n + 1),
    set: (/** @type {(data: T) => T} */ change) =>
      setState((before) => (before.data ? { ...before, data: change(before.data) } : before)),
  };
}

/** Rows as a file. A leading = + - @ is a formula to a spreadsheet, so a text that begins so gets an apostrophe. @param {string} name @param {(string | number | null)[][]} rows */
export function exportCsv(name, rows) {
  const cell = (/** @type {string | number | null} */ value) => {
    let written = String(value ?? "");
    if (/^[=+@\t\r]|^-(?![\d.])/.test(written)) written = `'${written}`;
    return /[",\n\r]/.test(written) ? `"${written.replaceAll('"', '""')}"` : written;
  };
  const file = new Blob([rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n"], { type: "text/csv" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** A value that changes at most so often: the first change at once, the last one always. @template T @param {T} value @param {number} every in milliseconds @returns {T} */
export function useCalm(value, every) {
  const [shown, setShown] = useState(value);
  const latest = useRef(value);
  latest.current = value;
  const timer = useRef(/** @type {ReturnType<typeof setTimeout> | null} */ (null));
  useEffect(() => {
    if (timer.current || shown === value) return;
    setShown(() => value);
    timer.current = setTimeout(() => {
      timer.current = null;
      setShown(() => latest.current);
    }, every);
  }, [value]);
  useEffect(() => () => void (timer.current && clearTimeout(timer.current)), []);
  return shown;
}

/**
 * A table that scrolls in its own box, and on a narrow screen is a list of records, each figure below its column's name.
 * The roles are written out because a browser forgets them once a row is no longer laid out as one.
 * @param {{label: string, children?: any}} props
 */
export function Records({ label, children }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => {
    const table = box.current?.querySelector("table");
    if (!table) return;
    table.setAttribute("role", "table");
    const heads = [...(table.tHead?.rows[0]?.cells ?? [])].map((cell) => cell.textContent?.trim() ?? "");
    for (const group of [table.tHead, ...table.tBodies, table.tFoot]) group?.setAttribute("role", "rowgroup");
    for (const row of table.rows) {
      row.setAttribute("role", "row");
      let column = 0;
      for (const cell of row.cells) {
        const head = cell.tagName === "TH";
        cell.setAttribute("role", head ? (cell.scope === "row" ? "rowheader" : "columnheader") : "cell");
        if (!head) cell.setAttribute("data-label", heads[column] ?? "");
        column += cell.colSpan;
      }
    }
  });
  return html`<div class="scroll-x records" ref=${box} tabindex="0" role="group" aria-label=${label}>${children}</div>`;
}
