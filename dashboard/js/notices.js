// Notices: at most three, gone after six seconds unless held, focused or waiting for a decision.
import { signal } from "./lib.js";

/**
 * @typedef {object} Notice
 * @property {number} id
 * @property {"done" | "waiting" | "unknown" | "resolved" | "refused"} kind
 * @property {string} title
 * @property {string} [text]
 * @property {{label: string, href?: string, act?: () => void}} [action]
 * @property {string} [code] for those who report it
 */

export const notices = signal(/** @type {Notice[]} */ ([]));
let last = 0;
/** @type {Map<number, ReturnType<typeof setTimeout>>} */
const timers = new Map();

/** @param {Omit<Notice, "id">} notice @param {number} [replaces] @returns {number} */
export function notify(notice, replaces) {
  const id = replaces ?? ++last;
  const rest = notices.value.filter((one) => one.id !== id);
  notices.value = [...rest, { ...notice, id }].slice(-3);
  release(id);
  return id;
}

/** @param {number} id */
export function dismiss(id) {
  clearTimeout(timers.get(id));
  timers.delete(id);
  notices.value = notices.value.filter((one) => one.id !== id);
}

/** While the pointer or the focus is on it, a notice stays. @param {number} id */
export function hold(id) {
  clearTimeout(timers.get(id));
}

/** @param {number} id */
export function release(id) {
  clearTimeout(timers.get(id));
  const notice = notices.value.find((one) => one.id === id);
  if (!notice || notice.kind === "waiting" || notice.action?.act) return;
  timers.set(
    id,
    setTimeout(() => dismiss(id), 6000),
  );
}
