// Own drawings on a grid of 16, always beside a word, except where the button has a name.
import { html } from "./lib.js";

/** @type {Record<string, import("../vendor/preact.js").ComponentChild>} */
const DRAWN = {
  search: html`<circle cx="7" cy="7" r="4.5"/><path d="m10.5 10.5 3 3"/>`,
  info: html`<circle cx="8" cy="8" r="6.25"/><path d="M8 7.4v3.6M8 5.1v.1"/>`,
  cards: html`<rect x="2" y="2" width="5" height="5" rx="1"/><rect x="9" y="2" width="5" height="5" rx="1"/>
    <rect x="2" y="9" width="5" height="5" rx="1"/><rect x="9" y="9" width="5" height="5" rx="1"/>`,
  cup: html`<path d="M5 2.5h6v4a3 3 0 0 1-6 0zM8 9.5v3M5.5 13.5h5M5 4H2.8c0 2 .9 3 2.2 3M11 4h2.2c0 2-.9 3-2.2 3"/>`,
  more: html`<circle cx="3" cy="8" r=".6"/><circle cx="8" cy="8" r=".6"/><circle cx="13" cy="8" r=".6"/>`,
  warn: html`<path d="M8 2.2 14.4 13.4H1.6z"/><path d="M8 6.4v3.2M8 11.4v.1"/>`,
  pause: html`<path d="M5 3v10M11 3v10"/>`,
  lock: html`<rect x="3" y="7" width="10" height="7" rx="1.5"/><path d="M5.2 7V5a2.8 2.8 0 0 1 5.6 0v2"/>`,
  done: html`<circle cx="8" cy="8" r="6.25"/><path d="m5.2 8.2 2 2 3.6-4"/>`,
  clock: html`<circle cx="8" cy="8" r="6.25"/><path d="M8 4.6V8l2.3 1.6"/>`,
  flag: html`<path d="M3.5 14V2.5h8l-1.5 3 1.5 3h-8"/>`,
  gavel: html`<path d="m5.5 6.5 4 4M7 2.5 12.5 8M4.5 5 10 10.5M4 7.5l2-2M9.5 12l2-2M7 9l-4.8 4.8"/>`,
  close: html`<path d="m4 4 8 8M12 4l-8 8"/>`,
  stop: html`<path d="M5.4 1.8h5.2l3.6 3.6v5.2l-3.6 3.6H5.4l-3.6-3.6V5.4z"/><path d="M8 4.8v4M8 10.9v.1"/>`,
  people: html`<circle cx="6" cy="5.5" r="2.5"/>
    <path d="M1.5 13.5c0-2.6 2-4.2 4.5-4.2s4.5 1.6 4.5 4.2M10.5 3.3a2.4 2.4 0 0 1 0 4.5M12 9.6c1.5.5 2.5 1.9 2.5 3.9"/>`,
  book: html`<path d="M3 2.5h8.5A1.5 1.5 0 0 1 13 4v9.5H4.5A1.5 1.5 0 0 1 3 12zM3 12a1.5 1.5 0 0 1 1.5-1.5H13"/>`,
  check: html`<path d="m3 8.5 3.2 3.2L13 4.8"/>`,
  pulse: html`<path d="M1.5 8.5h3l2-5.5 3 10 2-4.5h3"/>`,
  scales: html`<path d="M8 2v12M4 14h8M2.5 4.5h11M4 4.5 2 9.5h4zM12 4.5l-2 5h4z"/>`,
  wallet: html`<path d="M2 5.5h10.5a1.5 1.5 0 0 1 1.5 1.5v5a1.5 1.5 0 0 1-1.5 1.5h-9A1.5 1.5 0 0 1 2 12z"/>
    <path d="M2 5.5v-1A1.5 1.5 0 0 1 3.5 3H11M11 9.5h.1"/>`,
  link: html`<path
    d="M6.5 9.5 9.5 6.5M7 4.5 8.6 2.9a3.1 3.1 0 0 1 4.4 4.4L11.5 9M9 11.5l-1.6 1.6A3.1 3.1 0 0 1 3 8.7L4.6 7"/>`,
  file: html`<path d="M4 1.8h5.5L12.5 5v9.2H4zM9.2 2v3.2h3.2M6 8.2h4M6 11h4"/>`,
  key: html`<circle cx="5" cy="11" r="2.8"/><path d="m7 9 6-6M11 5l1.8 1.8M9.3 6.7l1.4 1.4"/>`,
  bolt: html`<path d="M9 1.8 3.5 9H8l-1 5.2L12.5 7H8z"/>`,
  right: html`<path d="m6 3.5 4.5 4.5L6 12.5"/>`,
  down: html`<path d="m4.5 6.5 3.5 3.5 3.5-3.5"/>`,
  up: html`<path d="m4.5 9.5 3.5-3.5 3.5 3.5"/>`,
  list: html`<path d="M2 3.5h12M2 8h12M2 12.5h12"/>`,
  shield: html`<path d="M8 1.8 13 3.6v4.2c0 3-2.1 5.2-5 6.4-2.9-1.2-5-3.4-5-6.4V3.6z"/>
    <path d="m5.8 8 1.6 1.6 2.8-3.2"/>`,
  plus: html`<path d="M8 3v10M3 8h10"/>`,
  copy: html`<rect x="5.5" y="5.5" width="8" height="8" rx="1.5"/><path d="M3.5 10.5h-1v-8h8v1"/>`,
  download: html`<path d="M8 2.5v8M4.8 7.6 8 10.8l3.2-3.2M2.8 13.5h10.4"/>`,
  back: html`<path d="M12.5 3 5 8l7.5 5zM3.5 3v10"/>`,
  forward: html`<path d="M3.5 3 11 8l-7.5 5zM12.5 3v10"/>`,
  play: html`<path d="M4.5 2.8v10.4L13 8z"/>`,
  past: html`<path d="M2.5 3v3.5H6"/><path d="M2.7 6.3A5.8 5.8 0 1 1 2.2 9"/><path d="M8 5.2V8l2 1.4"/>`,
};

/** @param {{name: string}} props */
export const Icon = ({ name }) => html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true">${DRAWN[name]}</svg>`;
export const Diamond = () => html`<svg class="icon fill" viewBox="0 0 10 10" aria-hidden="true">
  <path d="M5 0 10 5 5 10 0 5z"/></svg>`;
/** @param {{up: boolean}} props */
export const Triangle = ({ up }) => html`<svg class="tri" viewBox="0 0 8 7" aria-hidden="true">
  <path d=${up ? "M4 0 8 7H0z" : "M4 7 0 0h8z"}/></svg>`;
