// The reader's own sign-in: password, second factor, sessions, and keys of one letter.
import { html, useState } from "../lib.js";
import { keep, t } from "../i18n.js";
import * as f from "../format.js";
import { get, post } from "../api.js";
import { session } from "../account.js";
import { fieldSentence, sentence } from "../problem.js";
import { notify } from "../notices.js";
import { keysOn } from "../frame.js";
import { Button, Copy, Empty, Field, Panel, useAsk } from "../ui.js";
import { Icon } from "../icons.js";
import { Password, Strength } from "./sign-in.js";

export const title = () => t("account");

function ChangePassword() {
  const [current, setCurrent] = useState("");
  const [next, setNext] = useState("");
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const act = async () => {
    setError(null);
    try {
      await post("/account/password", { current, password: next }, { name: null });
      notify({ kind: "done", title: t("password-changed"), text: t("password-changed-text") });
      setCurrent("");
      setNext("");
    } catch (failed) {
      setError(failed);
    }
  };
  return html`<${Panel} title=${t("change-password")}>
    <form class="stack" onSubmit=${(/** @type {Event} */ e) => e.preventDefault()}>
    <input class="vh" type="text" autocomplete="username" value=${session.value?.user.profileName} readonly
    tabindex="-1" aria-hidden="true"/>
    <${Password} label=${t("password-now")} value=${current} onInput=${setCurrent}
      error=${fieldSentence(error, "current")}/>
      <${Password} label=${t("password-new")} value=${next} onInput=${setNext} fresh hint=${t("password-hint")}
      error=${fieldSentence(error, "password")}/><${Strength} value=${next}/>
    ${
      error &&
      !fieldSentence(error, "current") &&
      !fieldSentence(error, "password") &&
      html`<p class="banner danger"
      role="alert"><${Icon} name="stop"/><span>${sentence(error)}</span>
      </p>`
    }<${Button} kind="primary" act=${act}>${t("change-password")}</${Button}></form></${Panel}>`;
}

function SecondFactor() {
  const ask = useAsk((stop) => get("/account/second-factor", {}, stop), []);
  const [begun, setBegun] = useState(/** @type {any} */ (null));
  const [asked, setAsked] = useState(false);
  const [current, setCurrent] = useState("");
  const [code, setCode] = useState("");
  const [codes, setCodes] = useState(/** @type {string[] | null} */ (null));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const tell = (/** @type {boolean} */ on) => {
    if (session.value) session.value = { ...session.value, secondFactor: on };
    ask.again();
  };
  const begin = async () => {
    setError(null);
    try {
      setBegun(await post("/account/second-factor", { current }, { name: null }));
      setAsked(false);
      setCurrent("");
    } catch (failed) {
      setError(failed);
    }
  };
  const confirm = async () => {
    setError(null);
    try {
      const answer = await post("/account/second-factor/confirm", { code }, { name: null });
      setCodes(answer.recoveryCodes);
      setBegun(null);
      setCode("");
      tell(true);
    } catch (failed) {
      setError(failed);
    }
  };
  const off = async () => {
    setError(null);
    try {
      await post("/account/second-factor/end", { current, code }, { name: null });
      setAsked(false);
      setCurrent("");
      setCode("");
      tell(false);
    } catch (failed) {
      setError(failed);
    }
  };
  if (ask.error) return null;
  const codeField = (/** @type {string} */ label, /** @type {string | undefined} */ hint = undefined) => html`<${Field}
    label=${label} hint=${hint} control=${(/** @type {any} */ ids) => html`<input class="input" ...${ids}
    inputmode=${hint ? undefined : "numeric"} autocomplete="one-time-code" maxlength="32" value=${code}
    onInput=${(/** @type {any} */ e) => setCode(e.target.value)}/>`}/>`;
  return html`<${Panel} title=${t("second-factor")} aside=${
    ask.data?.on &&
    html`<span class="tag ok">
    <${Icon} name="check"/>${t("on")}</span>`
  }><div class="stack"><p class="muted">${t("second-factor-text")}</p>
    ${
      codes &&
      html`<p class="banner warn"><${Icon} name="warn"/><span>${t("recovery-text")}</span></p>
      <pre class="code" tabindex="0">${codes.join("\n")}</pre><${Copy} text=${codes.join("\n")}/>`
    }
    ${
      // A camera needs dark on light, in both themes.
      begun &&
      html`<p>${t("factor-secret")}</p>
      <svg class="qr" role="img" aria-label=${t("factor-qr")} viewBox=${`0 0 ${begun.qr.size} ${begun.qr.size}`}
        shape-rendering="crispEdges"><path d=${begun.qr.path}/></svg>
      <div class="secret"><code>${begun.secret}</code><${Copy} text=${begun.secret}/></div>
      <p><a href=${begun.uri}>${t("factor-link")}</a></p>${codeField(t("factor-code"))}
      <${Button} kind="primary" act=${confirm}>${t("factor-confirm")}</${Button}>`
    }
    ${
      error &&
      html`<p class="banner danger" role="alert"><${Icon} name="stop"/><span>${sentence(error)}</span>
      </p>`
    }${
      ask.data?.on && html`<p class="small faint">${t("recovery-left", { n: ask.data.recoveryCodesLeft })}</p>`
    }${
      asked &&
      html`<form class="stack" onSubmit=${(/** @type {Event} */ e) => e.preventDefault()}>
      <${Password} label=${t("password-now")} value=${current} onInput=${setCurrent}/>
      ${
        ask.data?.on
          ? html`${codeField(t("second-factor"), t("second-factor-hint"))}
      <${Button} act=${off}>${t("factor-off")}</${Button}>`
          : html`<${Button} kind="primary" act=${begin}>${t("factor-on")}</${Button}>`
      }</form>`
    }${
      !begun &&
      !asked &&
      ask.data &&
      (ask.data.on
        ? html`<${Button} act=${async () => setAsked(true)}>${t("factor-off")}
      </${Button}>`
        : html`<${Button} kind="primary" act=${async () => setAsked(true)}>${t("factor-on")}</${Button}>`)
    }</div></${Panel}>`;
}

export function Page() {
  const ask = useAsk((stop) => get("/account/limits", {}, stop), [session.value?.user.id]);
  const head = html`<div class="page-head"><div class="grow"><h1>${t("account")}</h1></div></div>`;
  if (!session.value)
    return html`${head}<div class="panel">
    <${Empty} title=${t("sign-in-first")} text=${t("sign-in-first-text")}>
    <a class="btn primary" href="/sign-in?next=/account">${t("sign-in")}</a></${Empty}></div>`;
  const limits = ask.data;
  return html`${head}<div class="cols-2"><div class="stack l">${
    session.value.identityProvider
      ? html`<${Panel} title=${t("sign-in")}><p>${t("by-organisation")}</p></${Panel}>`
      : html`<${ChangePassword}/><${SecondFactor}/>`
  }</div>
    <div class="stack l"><${Panel} title=${t("sessions")} >
    <div class="stack"><p class="muted">${t("sessions-text")}</p><a class="btn" href="/keys">${t("keys-and-sessions")}
    </a></div></${Panel}>
    <${Panel} title=${t("shortcuts")}><label class="check">
      <input type="checkbox" checked=${keysOn.value}
      onChange=${(/** @type {any} */ e) => {
        keysOn.value = e.target.checked;
        keep("keys", e.target.checked ? "on" : "off");
      }}/>
      ${t("single-keys")}</label></${Panel}>
    ${
      limits &&
      html`<${Panel} title=${t("limits")}>
      <dl class="sum">${["reads", "writes", "cancels"].map(
        (one) => html`<div key=${one}><dt>${t(`limit.${one}`)}</dt>
      <dd>${limits[one] ? t("a-second", { n: f.count(limits[one].perSecond) }) : t("no-limit")}</dd>
      </div>`,
      )}<div><dt>${t("exposure")}</dt>
      <dd>${f.money(limits.exposure.open)}${limits.exposure.limit ? ` / ${f.money(limits.exposure.limit)}` : ""}</dd>
      </div></dl></${Panel}>`
    }</div></div>`;
}
