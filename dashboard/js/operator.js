// What the operator's pages share: the rail, and the refusal for everybody else.
import { html } from "./lib.js";
import { t } from "./i18n.js";
import { route } from "./router.js";
import { isOperator, session } from "./account.js";
import { Empty } from "./ui.js";
import { Icon } from "./icons.js";

/** @type {[string, string, string][]} */
const PLACES = [
  ["/admin", "admin.overview", "pulse"],
  ["/admin/catalogue", "admin.catalogue", "book"],
  ["/admin/users", "admin.users", "people"],
];

/** @param {{children?: any}} props */
export function Operator({ children }) {
  if (!isOperator.value)
    return html`<h1 class="vh">${t("nav.operator")}</h1>
    <div class="panel"><${Empty} title=${t("operators-only")} text=${t("operators-only-text")}>
    <a class="btn primary" href="/">${t("nav.markets")}</a></${Empty}></div>`;
  return html`<div class="split l admin"><nav class="rail" aria-label=${t("nav.operator")}>
    ${PLACES.map(
      ([path, words, icon]) => html`<a key=${path} href=${path}
    aria-current=${route.value.path === path ? "page" : undefined}><${Icon} name=${icon}/>${t(words)}
    </a>`,
    )}</nav><div>${
      session.value?.signInName && !session.value.secondFactor && !session.value.identityProvider &&
      html`<p class="banner warn"><${Icon} name="warn"/><span>${t("operator-no-factor")}
      <a href="/account">${t("factor-on")}</a></span></p>`
    }${children}</div></div>`;
}
