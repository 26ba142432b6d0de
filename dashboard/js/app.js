// Starts everything: words first, then the frame, then the page of the address, each page from a module of its own.
import { html, render, useEffect, useState } from "./lib.js";
import * as words from "./i18n.js";
import * as router from "./router.js";
import * as account from "./account.js";
import * as stream from "./stream.js";
import { Frame } from "./frame.js";
import { Empty, Loading } from "./ui.js";

const { t } = words;

/** @type {Record<string, () => Promise<{Page: any, title: () => string}>>} */
const PAGES = {
  markets: () => import("./pages/markets.js"),
  market: () => import("./pages/market.js"),
  event: () => import("./pages/event.js"),
  portfolio: () => import("./pages/portfolio.js"),
  order: () => import("./pages/order.js"),
  keys: () => import("./pages/keys.js"),
  account: () => import("./pages/account.js"),
  leaderboard: () => import("./pages/leaderboard.js"),
  profile: () => import("./pages/profile.js"),
  audit: () => import("./pages/audit.js"),
  "sign-in": () => import("./pages/sign-in.js"),
  invitation: () =>
    import("./pages/sign-in.js").then((found) => ({ Page: found.Invitation, title: found.invitationTitle })),
  docs: () => import("./pages/docs.js"),
  admin: () => import("./pages/admin.js"),
  catalogue: () => import("./pages/catalogue.js"),
  users: () => import("./pages/users.js"),
};

let first = true;

function App() {
  const { page, params, path } = router.route.value;
  const [found, setFound] = useState(/** @type {{page: string, Page: any, title: () => string} | null} */ (null));
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    let here = true;
    setFailed(false);
    PAGES[page]?.().then(
      (module) => here && setFound({ page, ...module }),
      () => here && setFailed(true),
    );
    return () => void (here = false);
  }, [page]);
  const ready = found?.page === page ? found : null;
  const title = ready?.title();
  useEffect(() => {
    if (title) document.title = `${title} · openoutcry`;
  }, [title, words.language.value]);
  useEffect(() => {
    // The first page keeps the browser's own focus; a later one is announced by moving it.
    if (ready && !first) document.getElementById("main")?.focus({ preventScroll: true });
    if (ready) first = false;
  }, [path, ready]);
  let body;
  if (!PAGES[page])
    body = html`<h1 class="vh">${t("no-page")}</h1>
    <${Empty} glyph="glass" title=${t("no-page")} text=${t("no-page-text")}>
    <a class="btn primary" href="/">${t("nav.markets")}</a></${Empty}>`;
  else if (failed)
    body = html`<h1 class="vh">${t("not-loaded")}</h1>
    <${Empty} glyph="cut" title=${t("not-loaded")} text=${t("problem.NO_ANSWER")}>
    <button class="btn primary" type="button" onClick=${() => location.reload()}>${t("try-again")}</button></${Empty}>`;
  else if (!ready || account.session.value === undefined) body = html`<${Loading}/>`;
  else body = html`<${ready.Page} key=${path} ...${params}/>`;
  return html`<${Frame}><main class="main" id="main" tabindex="-1">${body}</main></${Frame}>`;
}

const root = document.getElementById("app");
router.start();
account.load();
stream.start();
// The page comes while the words do.
PAGES[router.route.value.page]?.().catch(() => {});
words.load().then(() => root && render(html`<${App}/>`, root));
