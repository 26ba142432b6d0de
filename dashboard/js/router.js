// Every page, and what is chosen on it, has an address. Links stay plain links; a click on one of ours changes the page.
import { signal } from "./lib.js";

/** @typedef {{page: string, params: Record<string, string>, query: URLSearchParams, path: string, hash: string}} Route */

/** @type {[RegExp, string, string[]][]} */
const PATHS = [
  [/^\/$/, "markets", []],
  [/^\/markets\/([0-9a-z-]+)$/i, "market", ["id"]],
  [/^\/events\/([0-9a-z-]+)$/i, "event", ["id"]],
  [/^\/portfolio$/, "portfolio", []],
  [/^\/orders\/([0-9a-f-]{36})$/i, "order", ["id"]],
  [/^\/keys$/, "keys", []],
  [/^\/account$/, "account", []],
  [/^\/leaderboard$/, "leaderboard", []],
  [/^\/profiles\/([0-9a-f-]{36})$/i, "profile", ["id"]],
  [/^\/audit$/, "audit", []],
  [/^\/sign-(?:in|up)$/, "sign-in", []],
  [/^\/invitations$/, "invitation", []],
  [/^\/docs$/, "docs", []],
  [/^\/admin$/, "admin", []],
  [/^\/admin\/catalogue$/, "catalogue", []],
  [/^\/admin\/users$/, "users", []],
];

/** Whether an address has an id, not a slug. @param {string} name */
export const isId = (name) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(name);

/** @param {string} path @returns {Pick<Route, "page" | "params">} */
export function match(path) {
  const bare = path.length > 1 ? path.replace(/\/+$/, "") : path;
  for (const [pattern, page, names] of PATHS) {
    const found = pattern.exec(bare);
    if (found) return { page, params: Object.fromEntries(names.map((name, i) => [name, found[i + 1]])) };
  }
  return { page: "missing", params: {} };
}

/** @returns {Route} */
const here = () => ({
  ...match(location.pathname),
  query: new URLSearchParams(location.search),
  path: location.pathname,
  hash: location.hash,
});
export const route = signal(
  /** @type {Route} */ ({ page: "missing", params: {}, query: new URLSearchParams(), path: "/", hash: "" }),
);

/** @param {string} to @param {{replace?: boolean, stay?: boolean}} [how] `stay` keeps the scroll position */
export function go(to, { replace = false, stay = false } = {}) {
  const before = location.pathname;
  history[replace ? "replaceState" : "pushState"](null, "", to);
  route.value = here();
  if (!stay && location.pathname !== before) scrollTo(0, 0);
}

/** Changes what is chosen on this page. @param {Record<string, string | null>} changes @param {boolean} [replace] */
export function choose(changes, replace = true) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") query.delete(name);
    else query.set(name, value);
  }
  const written = query.toString();
  go(location.pathname + (written ? `?${written}` : ""), { replace, stay: true });
}

export function start() {
  route.value = here();
  addEventListener("popstate", () => (route.value = here()));
  document.addEventListener("click", (event) => {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return;
    const link = /** @type {Element} */ (event.target).closest?.("a[href]");
    if (
      !(link instanceof HTMLAnchorElement) ||
      link.target ||
      link.hasAttribute("download") ||
      link.origin !== location.origin
    )
      return;
    if (link.hash && link.pathname === location.pathname && link.search === location.search) return;
    if (match(link.pathname).page === "missing") return;
    event.preventDefault();
    go(link.pathname + link.search + link.hash);
  });
}
