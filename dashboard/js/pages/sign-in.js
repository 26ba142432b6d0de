// Coming in: with a name and password, by an invitation, or as somebody new.
import { html, useEffect, useRef, useState } from "../lib.js";
import { LANGUAGES, language, load as speak, local, t } from "../i18n.js";
import * as f from "../format.js";
import { get, write } from "../api.js";
import { ApiError, fieldSentence, sentence } from "../problem.js";
import { become, venue } from "../account.js";
import { go, route } from "../router.js";
import { probability } from "../quotes.js";
import { wordOf } from "../parts.js";
import { Button, Field, Meter, useAsk } from "../ui.js";
import { Icon } from "../icons.js";

export const title = () => t("sign-in");
export const invitationTitle = () => t("invitation");

const LEAST = 10;

/** Only a path of this venue: an address from a link must not lead elsewhere. @param {string | null} next */
export const safePath = (next) => (next && /^\/(?![/\\])/.test(next) ? next : "/");

function Pitch() {
  const ask = useAsk((stop) => get("/markets/public/list", { limit: 1 }, stop), []);
  const market = ask.data?.markets[0];
  return html`<div class="pitch"><div class="pitch-in"><h2>${t("pitch")}</h2><p>${t("pitch-text")}</p>
    ${
      market &&
      html`<div class="pitch-card"><p class="strong"><bdi>${local(market.questions)}</bdi></p>
    <${Meter} yes=${probability(market)}/><div class="row between strong">
    <span class="yes-ink"><bdi>${wordOf(market, "yes")}</bdi> ${f.percent(probability(market))}</span>
    <span class="no-ink"><bdi>${wordOf(market, "no")}</bdi> ${f.percent(1 - probability(market))}</span></div>
    </div>`
    }</div></div>`;
}

/** @param {{label: string, value: string, onInput: (value: string) => void, fresh?: boolean, error?: string | null, hint?: any}} props */
export function Password({ label, value, onInput, fresh, error, hint }) {
  const [open, setOpen] = useState(false);
  return html`<${Field} label=${label} error=${error} hint=${hint} control=${(/** @type {any} */ ids) => html`<span
    class="affix"><input class="input" ...${ids} type=${open ? "text" : "password"}
    autocomplete=${fresh ? "new-password" : "current-password"} maxlength="1000" value=${value}
    onInput=${(/** @type {any} */ e) => onInput(e.target.value)}/>
    <button type="button" class="show" aria-pressed=${String(open)} onClick=${() => setOpen(!open)}>
    ${open ? t("hide") : t("show")}</button></span>`}/>`;
}

/** @param {{value: string}} props */
export const Strength = ({ value }) => html`<svg class="meter strength" aria-hidden="true">
  <rect class="st-bg" width="100%" height="100%"/>
  <rect class="st" width=${`${Math.min(100, ([...value].length / 20) * 100)}%`} height="100%"/></svg>`;

/** @param {{error: unknown}} props */
const Trouble = ({ error }) =>
  error
    ? html`<p class="banner danger" role="alert"><${Icon} name="stop"/>
  <span>${sentence(error)}</span></p>`
    : null;

/** The way over the identity provider, with an invitation or without. @param {{token?: string, onFail: (error: unknown) => void}} props */
function Organisation({ token, onFail }) {
  const leave = async () => {
    onFail(null);
    try {
      const { url } = await write("POST", "/session/openid", token ? { token } : {}, { name: null, tries: 1 });
      location.assign(url);
    } catch (failed) {
      onFail(failed);
    }
  };
  if (!venue.value.openIdConnect) return null;
  return html`<div class="or">${t("or")}</div>
    <${Button} kind="l wide" act=${leave}><${Icon} name="shield"/>${t("with-organisation")}</${Button}>`;
}

/** A name to sign in with, from the name that others see: visible ASCII without spaces. @param {string} name */
export const signInName = (name) =>
  name
    .normalize("NFD")
    .replace(/[\u0300-\u036f]/g, "")
    .trim()
    .replace(/\s+/g, ".")
    .replace(/[^!-~]/g, "")
    .replace(/\.+$/, "");

/** A form that is sent once at a time. @param {{onSend: () => Promise<void>, children?: any, label: string, action: string}} props */
function Form({ onSend, children, label, action }) {
  const [busy, setBusy] = useState(false);
  const send = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    try {
      await onSend();
    } finally {
      setBusy(false);
    }
  };
  return html`<form class="stack" aria-label=${label} onSubmit=${send} noValidate>${children}
    <button class=${`btn primary l wide${busy ? " busy" : ""}`} type="submit"
    aria-disabled=${busy ? "true" : undefined}>${
      busy &&
      html`<span class="spin" aria-hidden="true">
    </span>`
    }${action}</button></form>`;
}

export function Page() {
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [second, setSecond] = useState(false);
  const [fresh, setFresh] = useState(route.value.path === "/sign-up");
  // Somebody whom the identity provider has sent back says why.
  const [error, setError] = useState(() => {
    const code = route.value.query.get("refused");
    return /** @type {unknown} */ (code && /^[A-Z_]+$/.test(code) ? new ApiError({ code, status: 401 }) : null);
  });
  const codeField = useRef(/** @type {HTMLInputElement | null} */ (null));
  const open = venue.value.signup === "open";
  const send = async () => {
    setError(null);
    try {
      // A sign-in is not repeated by itself: each try counts.
      const session = await write(
        "POST",
        fresh ? "/signup" : "/session",
        fresh
          ? { profileName: name, password }
          : { profileName: name, password, ...(second ? { code } : {}) },
        { name: null, tries: 1 },
      );
      become(session);
      go(safePath(route.value.query.get("next")));
    } catch (failed) {
      if (failed instanceof ApiError && failed.code === "SECOND_FACTOR_REQUIRED") {
        setSecond(true);
        setTimeout(() => codeField.current?.focus());
      } else setError(failed);
    }
  };
  return html`<div class="auth"><${Pitch}/>
    <div class="auth-form"><div class="stack">
    <div><h1>${fresh ? t("sign-up") : t("sign-in")}</h1><p class="muted">${t("to-venue", { host: location.host })}</p>
    </div>
    <${Form} label=${fresh ? t("sign-up") : t("sign-in")} action=${fresh ? t("sign-up") : t("sign-in")} onSend=${send}>
      <${Field} label=${t("sign-in-name")} hint=${fresh ? t("sign-in-name-hint") : null} error=${fieldSentence(error, "profileName")}
        control=${(/** @type {any} */ ids) => html`<input class="input" ...${ids} autocomplete="username"
        autocapitalize="none" spellcheck=${false} maxlength="64" value=${name}
        onInput=${(/** @type {any} */ e) => setName(e.target.value)}/>`}/>
      <${Password} label=${t("password")} value=${password} onInput=${setPassword} fresh=${fresh}
        hint=${fresh ? t("password-hint") : null} error=${fieldSentence(error, "password")}/>
        ${fresh && html`<${Strength} value=${password}/>`}
      ${
        second &&
        html`<${Field} label=${t("second-factor")} hint=${t("second-factor-hint")}
        control=${(/** @type {any} */ ids) => html`<input class="input" ...${ids} ref=${codeField} inputmode="numeric"
        autocomplete="one-time-code" maxlength="32" value=${code}
        onInput=${(/** @type {any} */ e) => setCode(e.target.value)}/>`}/>`
      }
        <${Trouble} error=${fieldSentence(error, "password") || fieldSentence(error, "profileName") ? null : error}/>
        </${Form}>
    <${Organisation} onFail=${setError}/>
    ${
      open &&
      html`<button type="button" class="btn quiet wide" onClick=${() => {
        setFresh(!fresh);
        setError(null);
      }}>
      ${fresh ? t("have-account") : t("new-here")}</button>`
    }
    <p class="small faint">
      ${fresh ? (venue.value.faucet ? t("starts-with", { money: f.money(venue.value.faucet) }) : t("starts-empty")) : `${t("tries-note")}${open ? "" : ` ${t("forgotten-note")}`}`}
      </p></div></div></div>`;
}

export function Invitation() {
  // The token stands behind "#", so that no server on the way writes it down; it leaves the address bar at once.
  const token = useRef(location.hash.slice(1));
  const [found, setFound] = useState(/** @type {any} */ (null));
  const [failed, setFailed] = useState(/** @type {unknown} */ (null));
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [error, setError] = useState(/** @type {unknown} */ (null));
  useEffect(() => {
    history.replaceState(null, "", "/invitations");
    write("POST", "/invitations/open", { token: token.current }, { name: null, tries: 1 }).then((answer) => {
      setFound(answer);
      setName(signInName(answer.profileName));
    }, setFailed);
  }, []);
  const send = async () => {
    setError(null);
    try {
      become(
        await write(
          "POST",
          "/invitations/accept",
          { token: token.current, profileName: name, password },
          { name: null, tries: 1 },
        ),
      );
      go("/");
    } catch (refused) {
      setError(refused);
    }
  };
  const short = password.length > 0 && [...password].length < LEAST;
  return html`<div class="auth"><${Pitch}/><div class="auth-form"><div class="stack">
    ${
      failed
        ? html`<h1>${t("invitation")}</h1><${Trouble} error=${failed}/>
      <a class="btn wide" href="/sign-in">${t("sign-in")}</a>`
        : !found
          ? html`<h1>${t("invitation")}</h1>
      <p class="muted" role="status">${t("loading")}
      </p>`
          : html`<div class="stack s"><div>
      <span class="tag"><${Icon} name="clock"/>${t("invitation-ends", { distance: f.distance(found.endsAt) })}</span>
      </div><h1>${t("welcome", { name: found.profileName })}</h1><p class="muted">${t("welcome-text")}</p></div>
      <${Form} label=${t("invitation")} action=${t("set-password")} onSend=${send}>
        <${Field} label=${t("sign-in-name")} hint=${t("sign-in-name-hint")} error=${fieldSentence(error, "profileName")}
          control=${(/** @type {any} */ ids) => html`<input class="input" ...${ids} autocomplete="username"
          maxlength="64" value=${name} onInput=${(/** @type {any} */ e) => setName(e.target.value)}/>`}/>
        <${Password} label=${t("password")} value=${password} onInput=${setPassword} fresh hint=${t("password-hint")}
          error=${fieldSentence(error, "password") ?? (short && error ? t("problem.PASSWORD_TOO_SHORT") : null)}/>
          <${Strength} value=${password}/>
        <${Field} label=${t("language")} control=${(/** @type {any} */ ids) => html`<select class="select" ...${ids}
          onChange=${(/** @type {any} */ e) => speak(e.target.value)}>
          ${LANGUAGES.map(
            (one) => html`<option value=${one} lang=${one} selected=${one === language.value}>
          ${{ en: "English", pt: "Português", es: "Español" }[one]}</option>`,
          )}
          </select>`}/><${Trouble}
          error=${fieldSentence(error, "password") || fieldSentence(error, "profileName") ? null : error}/></${Form}>
      <${Organisation} token=${token.current} onFail=${setError}/>
      <p class="small faint">${t("starts-empty")}</p>`
    }</div></div></div>`;
}
