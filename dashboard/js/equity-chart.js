// What the account was worth as time passed, and what was paid into it: what lies between the lines is gain.
import uPlot from "../vendor/uplot.js";
import { html, useEffect, useRef, useState } from "./lib.js";
import { language, t } from "./i18n.js";
import * as f from "./format.js";
import { all, get } from "./api.js";
import { choose, route } from "./router.js";
import { Button, exportCsv, Segments } from "./ui.js";
import { Icon } from "./icons.js";

const FONT = '11.5px "Inter Variable", "Inter Fallback", sans-serif';
const HEIGHT = 214;
const DAY = 86_400_000;
/** @type {Record<string, number>} days of a period */
const PERIODS = { "1w": 7, "1m": 30, "3m": 91, all: Infinity };
const MOST = 5000;
const css = (/** @type {string} */ name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** The points of a period, oldest first. @param {string} period @param {AbortSignal} [stop] */
async function ask(period, stop) {
  const since = PERIODS[period] === Infinity ? new Date(0) : new Date(Date.now() - PERIODS[period] * DAY);
  const points = [];
  let page = await get("/account/equity", { since: since.toISOString(), limit: 1000 }, stop);
  points.push(...page.points);
  while (page.hasMore && points.length < MOST) {
    page = await get("/account/equity", { cursor: page.nextCursor, limit: 1000 }, stop);
    points.push(...page.points);
  }
  return points;
}

/** The columns of the chart: times in seconds, equity, paid in. @param {any[]} points @param {{at: number, equity: number, paidIn: number}} now @returns {[number[], number[], number[]]} */
export function columns(points, now) {
  const rows = points.map((one) => ({
    at: new Date(one.timestamp).getTime() / 1000,
    equity: Number(one.equity),
    paidIn: Number(one.paidIn),
  }));
  if (!rows.length || rows[rows.length - 1].at < now.at) rows.push(now);
  return [rows.map((one) => one.at), rows.map((one) => one.equity), rows.map((one) => one.paidIn)];
}

/** @param {number} width @param {(index: number | null) => void} hover @returns {import("../vendor/uplot.js").Options} */
function options(width, hover) {
  const axis = { font: FONT, stroke: () => css("--ink-3"), ticks: { show: false }, border: { show: false } };
  return /** @type {any} */ ({
    width,
    height: HEIGHT,
    legend: { show: false },
    padding: [10, 0, 0, 2],
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 8, width: 2, stroke: () => css("--ink"), fill: () => css("--surface") } },
    scales: {
      x: { time: true },
      y: {
        range: (/** @type {any} */ _u, /** @type {number} */ low, /** @type {number} */ high) => {
          const room = Math.max((high - low) * 0.08, high * 0.01, 1);
          return [Math.max(0, low - room), high + room];
        },
      },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        border: { show: true, stroke: () => css("--line-control"), width: 1 },
        size: 26,
        gap: 4,
        space: 90,
        values: (/** @type {any} */ u, /** @type {number[]} */ splits) =>
          splits.map((at) => (u.valToPos(at, "x") < 22 ? null : f.axis(at * 1000, u.scales.x.max - u.scales.x.min < 2 * 86_400 ? "time" : "day"))),
      },
      {
        ...axis,
        side: 1,
        size: 66,
        gap: 8,
        space: 40,
        grid: { stroke: () => css("--line"), width: 1 },
        values: (/** @type {any} */ _u, /** @type {number[]} */ splits) => splits.map((at) => f.roundMoney(at)),
      },
    ],
    series: [
      {},
      { stroke: () => css("--ink"), width: 2, points: { show: false } },
      { stroke: () => css("--ink-3"), width: 1.5, dash: [4, 3], points: { show: false }, paths: uPlot.paths.stepped?.({ align: 1 }) },
    ],
    bands: [{ series: [1, 2], fill: () => css("--ink") + "10" }],
    hooks: { setCursor: [(/** @type {any} */ u) => hover(u.cursor.idx ?? null)] },
  });
}

/** @param {{pnl: any, paidIn: string, version: number}} props */
export function EquityChart({ pnl, paidIn, version }) {
  const period = PERIODS[route.value.query.get("equity") ?? ""] ? /** @type {string} */ (route.value.query.get("equity")) : "1m";
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [points, setPoints] = useState(/** @type {any[] | null} */ (null));
  const [failed, setFailed] = useState(false);
  const [at, setAt] = useState(/** @type {number | null} */ (null));
  useEffect(() => {
    const stop = new AbortController();
    ask(period, stop.signal).then(
      (found) => stop.signal.aborted || (setPoints(found), setFailed(false)),
      () => stop.signal.aborted || setFailed(true),
    );
    return () => stop.abort();
  }, [period, version]);
  const data = points && columns(points, { at: Date.now() / 1000, equity: Number(pnl.equity), paidIn: Number(paidIn) });
  const enough = (data?.[0].length ?? 0) > 1;
  const key = data ? `${data[0].length} ${data[0].at(-2)} ${pnl.equity} ${paidIn}` : "";
  useEffect(() => {
    if (!data || !enough || !box.current) return undefined;
    const host = box.current;
    const width = () => Math.max(120, host.clientWidth);
    const plot = new uPlot(options(width(), setAt), data, host);
    const watch = new ResizeObserver(() => plot.setSize({ width: width(), height: HEIGHT }));
    watch.observe(host);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const again = () => plot.redraw(false);
    dark.addEventListener("change", again);
    document.fonts?.ready.then(again);
    /** @param {KeyboardEvent} event */
    const move = (event) => {
      const end = plot.data[0].length - 1;
      const from = plot.cursor.idx ?? end;
      const step = event.shiftKey ? 10 : 1;
      /** @type {Record<string, number>} */
      const places = { ArrowLeft: from - step, ArrowRight: from + step, Home: 0, End: end };
      const to = places[event.key];
      if (to === undefined) return;
      event.preventDefault();
      plot.setCursor({ left: plot.valToPos(plot.data[0][Math.max(0, Math.min(end, to))], "x"), top: 10 });
    };
    host.parentElement?.addEventListener("keydown", move);
    return () => {
      host.parentElement?.removeEventListener("keydown", move);
      dark.removeEventListener("change", again);
      watch.disconnect();
      plot.destroy();
    };
  }, [key, language.value]);
  const read = data && at !== null && data[0][at] !== undefined
    ? t("equity-read", { when: f.dateTime(data[0][at] * 1000), equity: f.money(data[1][at]), paid: f.money(data[2][at]) })
    : "";
  const csv = async () =>
    exportCsv("openoutcry-equity.csv", [
      ["time", "record", "equity", "paid in"],
      ...(await all("/account/equity", "points", {}, 100_000)).map((one) => [one.timestamp, one.sequence, one.equity, one.paidIn]),
    ]);
  return html`<section class="panel gap-t" aria-labelledby="equity-h"><div class="panel-head"><h2 id="equity-h">${t("equity")}</h2>
    <p class="keys"><span><i class="line-key"></i>${t("equity-line")}</span> <span><i class="line-key dashed"></i>${t("paid-in-line")}</span></p>
    <${Button} kind="quiet s" act=${csv}><${Icon} name="download"/>${t("export-csv")}</${Button}>
    <${Segments} label=${t("period")} value=${period}
      onChoose=${(/** @type {string} */ v) => choose({ equity: v === "1m" ? null : v })}
      options=${Object.keys(PERIODS).map((one) => [one, t(`equity.${one}`)])}/></div>
    <div class="panel-body">${
      failed
        ? html`<p class="chart-empty h214">${t("chart.failed")}</p>`
        : !data
          ? html`<div class="chart-empty h214"></div>`
          : !enough
            ? html`<p class="chart-empty h214">${t("equity-none")}</p>`
            : html`<div class="plot h214" role="img" tabindex="0" aria-label=${t("equity-label", {
                first: f.money(data[1][0]),
                last: f.money(pnl.equity),
                paid: f.money(paidIn),
              })}><div ref=${box} class="plot-box"></div></div>`
    }<p class="small faint num" aria-live="polite">${read || t("equity-how")}</p></div></section>`;
}
