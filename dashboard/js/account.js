// Who reads: the session, the money at hand and the modes that bind.
import { signal, computed, effect } from "./lib.js";
import { get, remove, unknownAt } from "./api.js";
import { ApiError } from "./problem.js";
import { listen, restart } from "./stream.js";

/**
 * @typedef {{user: {id: string, profileName: string}, scope: "read" | "trade" | "operator" | "auditor" | "metrics" | "cashier" | "catalogue", signInName?: string | null, secondFactor?: boolean, identityProvider?: boolean}} Session
 * @typedef {{name?: string, signup?: "invite" | "open" | "off", faucet?: string | null, disputeBond?: string | null, demo?: boolean, imageOrigins?: string[], openIdConnect?: boolean}} Venue
 */

/** undefined: not known yet; null: nobody. */
export const session = signal(/** @type {Session | null | undefined} */ (undefined));
export const balance = signal(/** @type {{available: string, reserved: string} | null} */ (null));
export const limits = signal(/** @type {any} */ (null));
export const venue = signal(/** @type {Venue} */ ({}));

export const mayTrade = computed(() => session.value?.scope === "trade" || session.value?.scope === "operator");
export const isOperator = computed(() => session.value?.scope === "operator");
/** The stricter of the venue's and the reader's trading modes. */
export const mode = computed(() => {
  const modes = [limits.value?.venueMode, limits.value?.mode];
  return modes.includes("read-only") ? "read-only" : modes.includes("cancel-only") ? "cancel-only" : "normal";
});

export async function refreshBalance() {
  if (!session.value) return;
  try {
    balance.value = await get("/trading/balance");
  } catch {
    // The figure keeps its place; the foot tells that the venue is not heard.
  }
}

export async function refreshLimits() {
  if (!session.value) return;
  try {
    limits.value = await get("/account/limits");
  } catch {
    // As above.
  }
}

/** @type {(() => void) | undefined} */
let quiet;

/** @param {Session | null} next */
export function become(next) {
  const before = session.value;
  session.value = next;
  quiet?.();
  quiet = undefined;
  if (!next) balance.value = null;
  else {
    refreshBalance();
    refreshLimits();
    quiet = listen("account", (messages) => {
      for (const { kind, data } of messages) {
        const told = kind === "balance" ? data : kind === "account" ? data.balance : null;
        if (told) balance.value = { ...balance.value, ...told };
      }
    });
  }
  if (before !== undefined && before?.user.id !== next?.user.id) restart();
}

/** Asks who this browser is. Without an answer nobody is assumed, and pages that need somebody say so. */
export async function load() {
  get("/venue")
    .then((found) => (venue.value = found))
    .catch(() => {});
  try {
    become(await get("/session"));
  } catch (error) {
    if (!(error instanceof ApiError)) return;
    become(null);
    // Without an answer, or from a venue that starts or stops, nothing is known: it is asked again.
    if (error.status === 0 || error.status >= 500) setTimeout(load, 3000);
  }
}

// A session that ends elsewhere, by a new password or an operator, shows at the next request.
effect(() => {
  if (unknownAt.value && session.peek()) load();
});

export async function signOut() {
  await remove("/session");
  become(null);
}
