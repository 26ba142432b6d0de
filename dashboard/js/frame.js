// The frame around every page: bar, banners, notices, foot, tab bar and keys.
import { html, signal, useEffect, useRef, useState } from "./lib.js";
import { LANGUAGES, keep, language, load, read, t } from "./i18n.js";
import * as f from "./format.js";
import { sequence } from "./api.js";
import { balance, isOperator, mode, session, signOut, venue } from "./account.js";
import { alarm, caughtUp, heardAt, state, tryNow } from "./stream.js";
import { dismiss, hold, notices, release } from "./notices.js";
import { choose, go, route } from "./router.js";
import { initials } from "./parts.js";
import { Icon } from "./icons.js";

const Mark = () => html`<svg viewBox="0 0 24 24" aria-hidden="true">
  <circle cx="9.5" cy="12" r="7" fill="none" stroke="currentColor" stroke-width="3.4"/>
  <path d="M18.6 5.2a9.6 9.6 0 0 1 0 13.6" fill="none" stroke="currentColor" stroke-width="2.4" stroke-linecap="round"/>
  <circle cx="9.5" cy="12" r="1.9" fill="currentColor"/></svg>`;

/** Which part of the bar a page belongs to. @type {Record<string, string>} */
const PART = {
  markets: "/",
  market: "/",
  event: "/",
  portfolio: "/portfolio",
  order: "/portfolio",
  keys: "",
  leaderboard: "/leaderboard",
  profile: "/leaderboard",
  audit: "/audit",
  docs: "/docs",
  admin: "/admin",
  catalogue: "/admin",
  users: "/admin",
};

const places = () => [
  ["/", t("nav.markets"), "cards"],
  ["/portfolio", t("nav.portfolio"), "wallet"],
  ["/leaderboard", t("nav.leaderboard"), "cup"],
  ["/audit", t("nav.audit"), "past"],
];

function Nav() {
  const part = PART[route.value.page];
  const links = places().filter(([path]) => path !== "/portfolio" || session.value);
  if (isOperator.value) links.push(["/admin", t("nav.operator"), "pulse"]);
  return html`<nav class="nav" aria-label=${t("main-navigation")}>
    ${links.slice(0, 4).map(
      ([path, words]) => html`<a class="plain" href=${path}
    aria-current=${part === path ? "page" : undefined}>${words}</a>`,
    )}
    <a class="plain" href="/docs" aria-current=${part === "/docs" ? "page" : undefined}>${t("nav.docs")}</a>
      ${links.slice(4).map(
        ([path, words]) => html`<a class="plain" href=${path}
      aria-current=${part === path ? "page" : undefined}>${words}</a>`,
      )}</nav>`;
}

function Search() {
  const asked = route.value.page === "markets" ? (route.value.query.get("q") ?? "") : "";
  const [typed, setTyped] = useState(asked);
  useEffect(() => setTyped(asked), [asked]);
  const timer = useRef(/** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined));
  const search = (/** @type {string} */ value) => {
    if (route.value.page === "markets") choose({ q: value });
    else if (value) go(`/?q=${encodeURIComponent(value)}`);
  };
  /** @param {any} event */
  const type = (event) => {
    setTyped(event.target.value);
    clearTimeout(timer.current);
    if (route.value.page === "markets") timer.current = setTimeout(() => search(event.target.value), 200);
  };
  return html`<form class="top-search" role="search"
    onSubmit=${(/** @type {Event} */ event) => {
      event.preventDefault();
      clearTimeout(timer.current);
      search(typed);
    }}>
    <${Icon} name="search"/>
    <input type="search" id="search" aria-label=${t("search")} placeholder=${t("search")} autocomplete="off"
      value=${typed} onInput=${type}/><kbd aria-hidden="true">/</kbd></form>`;
}

function Menu() {
  const [open, setOpen] = useState(false);
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (!open) return undefined;
    const leave = (/** @type {Event} */ event) => {
      if (
        event instanceof KeyboardEvent
          ? event.key === "Escape"
          : !box.current?.contains(/** @type {Node} */ (event.target))
      )
        setOpen(false);
    };
    addEventListener("pointerdown", leave);
    addEventListener("keydown", leave);
    return () => {
      removeEventListener("pointerdown", leave);
      removeEventListener("keydown", leave);
    };
  }, [open]);
  useEffect(() => setOpen(false), [route.value.path]);
  const name = session.value?.user.profileName ?? "";
  return html`<div class="menu-box" ref=${box}>
    <button class="avatar" type="button" aria-expanded=${String(open)} aria-controls="account-menu"
    aria-label=${t("account-menu", { name: initials(name) })} onClick=${() => setOpen(!open)}>${initials(name)}</button>
    ${
      open &&
      html`<div class="menu" id="account-menu"><p class="strong"><bdi>${name}</bdi></p>
      <a class="plain" href=${`/profiles/${session.value?.user.id}`}>${t("profile")}</a>
        <a class="plain" href="/account">${t("account")}</a><a class="plain" href="/keys">${t("keys")}</a>
      <button type="button" onClick=${() => {
        setOpen(false);
        helpOpen.value = true;
      }}>${t("shortcuts")}</button>
        <button type="button" onClick=${() => signOut().then(() => go("/"))}>${t("sign-out")}</button></div>`
    }</div>`;
}

function Top() {
  return html`<header class="top"><div class="top-in"><a class="brand plain" href="/"><${Mark}/><span>openoutcry</span>
    </a><${Nav}/><${Search}/>
    <div class="top-right">${session.value === null && html`<a class="btn primary" href="/sign-in">${t("sign-in")}</a>`}
      ${
        session.value &&
        html`<a class="purse num" href="/portfolio"><small>${t("available")}</small>
        <b>${balance.value ? f.money(balance.value.available) : " "}</b></a><${Menu}/>`
      }</div></div></header>`;
}

function Banner() {
  const silent = Math.max(0, Math.round((Date.now() - heardAt.value) / 1000));
  const [, tick] = useState(0);
  useEffect(() => {
    if (!alarm.value) return undefined;
    const timer = setInterval(() => tick((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, [alarm.value]);
  let shown = null;
  if (mode.value === "read-only")
    shown = html`<div class="banner venue danger"><${Icon} name="lock"/>
    <div><b>${t("read-only")}</b> ${t("read-only-text")}</div></div>`;
  else if (mode.value === "cancel-only")
    shown = html`<div class="banner venue warn"><${Icon} name="pause"/>
    <div><b>${t("cancel-only")}</b> ${t("cancel-only-text")}</div></div>`;
  else if (alarm.value)
    shown = html`<div class="banner venue warn"><${Icon} name="warn"/>
    <div><b>${t("prices-may-be-old")}
    </b> ${t("silent-for", { seconds: silent, time: f.time(heardAt.value), number: f.count(sequence.value) })}</div>
    <button class="btn s" type="button" onClick=${tryNow}>${t("try-now")}</button></div>`;
  else if (caughtUp.value)
    shown = html`<div class="banner venue ok"><${Icon} name="done"/>
    <div><b>${t("live-again")}
    </b> ${t("caught-up", { n: f.count(caughtUp.value.records), count: caughtUp.value.records, seconds: f.odds(caughtUp.value.seconds) })}
    </div></div>`;
  return html`<div role="status">${shown}</div>`;
}

const KINDS = { done: "done", waiting: "info", unknown: "info", resolved: "done", refused: "stop" };

function Notices() {
  return html`<div class="notices" role="region" aria-label=${t("notices")}>
    ${notices.value.map(
      (one) => html`<div key=${one.id} class="toast"
    role=${one.kind === "refused" ? "alert" : "status"} onMouseEnter=${() => hold(one.id)}
    onMouseLeave=${() => release(one.id)} onFocusCapture=${() => hold(one.id)} onBlurCapture=${() => release(one.id)}>
    ${
      one.kind === "waiting"
        ? html`<span class="spin" aria-hidden="true">
      </span>`
        : html`<${Icon} name=${KINDS[one.kind]}/>`
    }
      <div class="grow"><b class="strong">${one.title}</b>${one.text && html`<br/>${one.text}`}${
        one.code &&
        html`<br/>
      <code class="faint">${one.code}</code>`
      }</div>
    ${
      one.action &&
      (one.action.href
        ? html`<a href=${one.action.href}>${one.action.label}
      </a>`
        : html`<button class="btn s" type="button" onClick=${() => {
            dismiss(one.id);
            one.action?.act?.();
          }}>
      ${one.action.label}</button>`)
    }
    <button class="btn quiet s icon-only" type="button" aria-label=${t("close")} onClick=${() => dismiss(one.id)}>
      <${Icon} name="close"/></button></div>`,
    )}</div>`;
}

function Foot() {
  const words = { connecting: t("feed.connecting"), live: t("feed.live"), late: t("feed.late") };
  return html`<footer class="foot"><div class="foot-in num">
    ${session.value && html`<span class=${`live ${state.value === "live" ? "" : "late"}`}>${words[state.value]}</span>`}
    ${
      sequence.value > 0 &&
      html`<span>${t("record", { number: f.count(sequence.value) })}
      </span>`
    }${
      venue.value.demo &&
      html`<span>${t("play-money")}
      </span>`
    }<span class="sp"></span><span>${t("times-in", { zone: f.zone() })}</span>
    <span class="langs" role="group" aria-label=${t("language")}>
      ${["pt", "en", "es"].map(
        (one) => html`<a href=${`#${one}`} role="button" lang=${one}
      aria-current=${language.value === one ? "true" : undefined}
      onClick=${(/** @type {Event} */ event) => {
        event.preventDefault();
        load(/** @type {any} */ (one));
      }}>
      ${one.toUpperCase()}<span class="vh"> ${{ en: "English", pt: "Português", es: "Español" }[one]}</span>
      </a>`,
      )}</span></div></footer>`;
}

function TabBar() {
  const part = PART[route.value.page];
  const links = [
    ["/", t("nav.markets"), "cards"],
    ["/portfolio", t("nav.portfolio"), "wallet"],
    ["/leaderboard", t("nav.leaderboard-short"), "cup"],
    ["/audit", t("nav.audit-short"), "past"],
    session.value ? ["/keys", t("nav.more"), "more"] : ["/sign-in", t("sign-in"), "key"],
  ];
  return html`<nav class="tabbar" aria-label=${t("main-navigation-narrow")}>
    ${links.map(
      ([path, words, icon]) => html`<a href=${path}
    aria-current=${part === path || route.value.path === path ? "page" : undefined}><${Icon} name=${icon}/>${words}
    </a>`,
    )}</nav>`;
}

export const helpOpen = signal(false);
export const keysOn = signal(read("keys") !== "off");

function Help() {
  const box = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => box.current?.showModal(), []);
  const rows = [
    ["/", "key.search"],
    ["g m", "key.markets"],
    ["g p", "key.portfolio"],
    ["b", "key.buy-yes"],
    ["s", "key.buy-no"],
    ["Esc", "key.close"],
    ["?", "key.help"],
  ];
  return html`<dialog class="dialog" ref=${box} aria-labelledby="help-h" onClose=${() => (helpOpen.value = false)}>
    <header><h2 id="help-h">${t("shortcuts")}</h2></header>
    <div class="body"><table class="table plain-table"><caption class="vh">${t("shortcuts")}</caption>
      <tbody>${rows.map(
        ([key, words]) => html`<tr><th scope="row"><kbd>${key}</kbd></th><td>${t(words)}</td>
      </tr>`,
      )}</tbody></table>
      <label class="check"><input type="checkbox" checked=${keysOn.value}
        onChange=${(/** @type {any} */ e) => {
          keysOn.value = e.target.checked;
          keep("keys", e.target.checked ? "on" : "off");
        }}/>
        ${t("single-keys")}</label></div>
    <footer><button class="btn primary" type="button" onClick=${() => box.current?.close()}>${t("close")}</button>
      </footer></dialog>`;
}

let pressed = "";

/** Keys of one letter: off while a field has the focus, and where the reader turned them off. @param {KeyboardEvent} event */
function onKey(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  if (
    event.ctrlKey ||
    event.metaKey ||
    event.altKey ||
    target.closest("input:not([type=radio]):not([type=checkbox]), select, textarea, dialog, [contenteditable]")
  )
    return;
  if (!keysOn.value) return;
  const before = pressed;
  pressed = event.key;
  setTimeout(() => (pressed = ""), 1200);
  if (event.key === "/") document.getElementById("search")?.focus();
  else if (event.key === "?") helpOpen.value = true;
  else if (before === "g" && event.key === "m") go("/");
  else if (before === "g" && event.key === "p") go("/portfolio");
  else if (event.key === "b" || event.key === "s")
    dispatchEvent(new CustomEvent("openoutcry:ticket", { detail: { outcome: event.key === "b" ? "yes" : "no" } }));
  else return;
  event.preventDefault();
}

/** @param {{children?: any}} props */
export function Frame({ children }) {
  useEffect(() => {
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return html`<a class="skip" href="#main">${t("skip")}</a><${Top}/><${Banner}/>${children}<${Foot}/><${TabBar}/>
    <${Notices}/>${helpOpen.value && html`<${Help}/>`}`;
}
