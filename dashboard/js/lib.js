// The libraries that pages use, under one name, so that a page needs one import.
import { h, render, Fragment } from "../vendor/preact.js";
import htm from "../vendor/htm.js";

export { h, render, Fragment };
export { useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback, useId } from "../vendor/preact-hooks.js";
export { signal, computed, effect, batch, useSignal, useComputed, useSignalEffect } from "../vendor/signals.js";

/** Markup as a tagged template. Values are text, never markup. */
export const html = htm.bind(h);
