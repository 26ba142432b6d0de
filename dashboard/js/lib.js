// The libraries that pages use, under one name, so that a page needs one import.
import { h, render, Fragment } from "../vendor/preact.js";
import htm from "../vendor/htm.js";

export { h, render, Fragment };
export { useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback, useId } from "../vendor/preact-hooks.js";
export { signal, computed, effect, batch, useSignal, useComputed, useSignalEffect } from "../vendor/signals.js";

/** Markup as a tagged template. Values are text, never markup. */
export const html = htm.bind(h);

/**
 * A part that is drawn again only when what it is given differs. Functions do not count: those that pages give read the
 * latest state when they are called.
 * @param {(props: any) => any} Part
 */
export function still(Part) {
  /** @this {any} @param {any} props */
  function Still(props) {
    this.shouldComponentUpdate = (/** @type {any} */ next) => {
      for (const key in next) if (typeof next[key] !== "function" && next[key] !== this.props[key]) return true;
      for (const key in this.props) if (!(key in next)) return true;
      return false;
    };
    return h(Part, props);
  }
  return Still;
}
