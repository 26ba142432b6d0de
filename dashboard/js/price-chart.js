// The history of a market's price: line or candles, volume on the same axis, pauses as holes.
import uPlot from "../vendor/uplot.js";
import { html, useEffect, useRef, useState } from "./lib.js";
import { language, t } from "./i18n.js";
import * as f from "./format.js";
import { get } from "./api.js";
import { addTrade, carried, gather, parse, plan, range } from "./candles.js";
import { probability } from "./quotes.js";

const FONT = '11.5px "Inter Variable", "Inter Fallback", sans-serif';
const css = (/** @type {string} */ name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** @param {number} span in seconds */
const labels = (span) => (span <= 2 * 86_400 ? "time" : span <= 10 * 86_400 ? "weekday" : "day");

/**
 * @typedef {object} Drawing
 * @property {import("./candles.js").Bucket[]} buckets
 * @property {number} seconds
 * @property {import("./candles.js").Gap[]} gaps
 * @property {number | null} earlier
 * @property {boolean} candles
 * @property {number} last
 * @property {[number, number]} range
 */

/** @param {Drawing} d @returns {[number[], (number | null)[], number[]]} */
function columns(d) {
  // A line's point stands at its bucket's end, the last one perhaps ahead of now: the axis ends at now.
  const x = d.buckets.map((one) => one.start + (d.candles ? d.seconds / 2 : d.seconds));
  return [x, carried(d.buckets, d.seconds, d.gaps, d.earlier), d.buckets.map((one) => Number(one.volume))];
}

/** @param {Drawing} d */
function fitted(d) {
  const values = d.buckets
    .flatMap((one) => (d.candles ? [one.high, one.low] : [one.close]))
    .concat(d.earlier ?? [], d.last);
  const [low, high] = d.range;
  // The axis stays until a value leaves it, so that a live line moves and its labels do not.
  if (high > low && values.every((one) => one === null || (one >= low && one <= high))) return;
  d.range = range(values);
}

/** @param {uPlot} u @param {Drawing} d */
function behind(u, d) {
  const { ctx, bbox } = u;
  const dot = devicePixelRatio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  for (const gap of d.gaps) {
    const from = u.valToPos(gap.from, "x", true);
    const to = u.valToPos(gap.to, "x", true);
    if (to < bbox.left || from > bbox.left + bbox.width) continue;
    ctx.fillStyle = css("--surface-2");
    ctx.fillRect(from, bbox.top, to - from, bbox.height);
    ctx.strokeStyle = css("--line-control");
    ctx.setLineDash([3 * dot, 3 * dot]);
    ctx.lineWidth = dot;
    for (const x of [from, to]) {
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.setLineDash([]);
    ctx.fillStyle = css("--ink-3");
    ctx.font = FONT.replace("11.5", String(11.5 * dot));
    ctx.textAlign = "center";
    ctx.fillText(t("chart.paused"), (from + to) / 2, bbox.top + 12 * dot);
  }
  ctx.restore();
}

/** @param {uPlot} u @param {Drawing} d */
function before(u, d) {
  const { ctx, bbox } = u;
  const dot = devicePixelRatio;
  ctx.save();
  if (d.candles) {
    const width = Math.max(
      3 * dot,
      Math.min(12 * dot, (u.valToPos(d.seconds, "x", true) - u.valToPos(0, "x", true)) * 0.62),
    );
    ctx.lineWidth = 1.25 * dot;
    ctx.strokeStyle = css("--ink");
    for (const one of d.buckets) {
      if (one.open === null || one.close === null || one.high === null || one.low === null) continue;
      const x = Math.round(u.valToPos(one.start + d.seconds / 2, "x", true));
      const [open, close, high, low] = [one.open, one.close, one.high, one.low].map((value) =>
        u.valToPos(value, "y", true),
      );
      ctx.beginPath();
      ctx.moveTo(x, high);
      ctx.lineTo(x, low);
      ctx.stroke();
      ctx.fillStyle = one.close > one.open ? css("--surface") : css("--ink");
      const top = Math.min(open, close);
      const height = Math.max(dot, Math.abs(open - close));
      ctx.fillRect(x - width / 2, top, width, height);
      ctx.strokeRect(x - width / 2, top, width, height);
    }
  }
  const y = u.valToPos(d.last, "y", true);
  ctx.strokeStyle = css("--ink-3");
  ctx.lineWidth = dot;
  ctx.setLineDash([3 * dot, 3 * dot]);
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.setLineDash([]);
  ctx.fillStyle = css("--ink");
  ctx.beginPath();
  ctx.roundRect(bbox.left + bbox.width + 4 * dot, y - 10 * dot, 40 * dot, 20 * dot, 3 * dot);
  ctx.fill();
  ctx.fillStyle = css("--on-ink");
  ctx.font = `620 ${FONT.replace("11.5", String(11.5 * dot))}`;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.fillText(f.percent(d.last), bbox.left + bbox.width + 24 * dot, y + 0.5 * dot);
  ctx.textAlign = "left";
  ctx.textBaseline = "alphabetic";
  ctx.font = FONT.replace("11.5", String(11.5 * dot));
  ctx.fillStyle = css("--ink-3");
  ctx.fillText(t("volume"), bbox.left + 2 * dot, bbox.top + bbox.height * 0.84);
  ctx.restore();
}

/** @param {Drawing} d @param {number} width @param {number} height @param {(at: number | null | undefined, left: number) => void} hover */
function options(d, width, height, hover) {
  const axis = { font: FONT, stroke: () => css("--ink-3"), ticks: { show: false }, border: { show: false } };
  return /** @type {import("../vendor/uplot.js").Options} */ ({
    width,
    height,
    legend: { show: false },
    padding: [8, 0, 0, 2],
    cursor: {
      y: false,
      drag: { x: false, y: false },
      points: { show: !d.candles, size: 9, width: 2, stroke: () => css("--ink"), fill: () => css("--surface") },
    },
    scales: {
      x: {
        time: true,
        range: (/** @type {any} */ _u, /** @type {number} */ low, /** @type {number} */ high) => [
          d.candles ? low - d.seconds / 2 : low,
          d.candles ? high + d.seconds / 2 : Math.max(low + d.seconds, Math.min(high, Date.now() / 1000)),
        ],
      },
      // The lowest fifth belongs to the volume.
      y: { range: () => [d.range[0] - (d.range[1] - d.range[0]) * 0.26, d.range[1]] },
      v: {
        range: (/** @type {any} */ _u, /** @type {number} */ _low, /** @type {number} */ high) => [
          0,
          Math.max(1, high) * 6,
        ],
      },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        border: { show: true, stroke: () => css("--line-control"), width: 1 },
        size: 26,
        gap: 4,
        space: 64,
        // A label that the edge would cut is left out.
        values: (u, splits) =>
          splits.map((at) =>
            u.valToPos(at, "x") < 22 ? null : f.axis(at * 1000, labels((u.scales.x.max ?? 0) - (u.scales.x.min ?? 0))),
          ),
      },
      {
        ...axis,
        side: 1,
        size: 48,
        gap: 8,
        grid: { stroke: () => css("--line"), width: 1 },
        splits: () => steps(d.range),
        // The tag of the last value stands where a label would.
        values: (u, splits) =>
          splits.map((at) =>
            Math.abs(u.valToPos(at, "y") - u.valToPos(d.last, "y")) < 14 ? null : f.percent(Math.round(at * 1000) / 1000),
          ),
      },
    ],
    series: [
      {},
      {
        scale: "y",
        stroke: () => (d.candles ? "transparent" : css("--yes-graph")),
        width: 2,
        points: { show: false },
        spanGaps: false,
        paths: uPlot.paths.stepped?.({ align: -1 }),
        fill: () => (d.candles ? "transparent" : css("--yes-graph") + "17"),
        fillTo: () => d.range[0],
      },
      {
        scale: "v",
        stroke: "transparent",
        fill: () => css("--line-2"),
        points: { show: false },
        paths: uPlot.paths.bars?.({ size: [0.7, 8], align: d.candles ? 0 : -1 }),
      },
    ],
    hooks: {
      drawClear: [(u) => behind(u, d)],
      draw: [(u) => before(u, d)],
      setCursor: [(u) => hover(u.cursor.idx, u.cursor.left ?? -1)],
    },
  });
}

/** @param {[number, number]} range */
function steps([low, high]) {
  const step = high - low > 0.5 ? 0.2 : high - low > 0.3 ? 0.1 : 0.05;
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + 1e-9; at += 1) found.push(at * step);
  return found;
}

/**
 * @param {{market: any, period: string, kind?: string, height: number, bare?: boolean, gaps?: import("./candles.js").Gap[], stats?: any, latest?: any, table?: boolean}} props
 * `latest` is the last trade that the stream told.
 */
export function PriceChart({ market, period, kind = "line", height, bare, gaps = [], stats, latest, table }) {
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const plot = useRef(/** @type {uPlot | null} */ (null));
  const drawing = useRef(/** @type {Drawing | null} */ (null));
  const [loaded, setLoaded] = useState(
    /** @type {{key: string, buckets: any[], bucket: number, fine: number} | null} */ (null),
  );
  const [failed, setFailed] = useState(false);
  const [at, setAt] = useState(/** @type {{index: number, left: number} | null} */ (null));
  const [said, setSaid] = useState("");
  const key = `${market.id} ${period}`;
  const candles = kind === "candles";
  const last = probability(market);

  useEffect(() => {
    const stop = new AbortController();
    const now = Date.now() / 1000;
    const asked = plan(period, market.publishedAt ?? market.createdAt, now);
    get(
      `/markets/${market.id}/candles`,
      { interval: asked.interval, from: new Date(asked.from * 1000).toISOString() },
      stop.signal,
    ).then(
      (answer) =>
        setLoaded({
          key,
          buckets: parse(answer.candles),
          bucket: asked.bucket,
          fine: { "1m": 60, "5m": 300, "1h": 3600, "1d": 86_400 }[asked.interval],
        }),
      () => stop.signal.aborted || setFailed(true),
    );
    return () => stop.abort();
  }, [key]);

  const traded = loaded?.buckets.some((one) => one.close !== null);
  // Nothing traded in the period, but before it: the last price held all the time.
  const earlier = loaded && !traded && stats?.lastPrice ? Number(stats.lastPrice) : null;
  const something = traded || earlier !== null;

  useEffect(() => {
    if (!loaded || loaded.key !== key || !something || !box.current || table) return undefined;
    const seconds = candles ? loaded.bucket : loaded.fine;
    /** @type {Drawing} */
    const d = {
      buckets: candles ? gather(loaded.buckets, seconds) : loaded.buckets.map((one) => ({ ...one })),
      seconds,
      gaps,
      earlier,
      candles,
      last,
      range: [0, 0],
    };
    fitted(d);
    drawing.current = d;
    const host = box.current;
    const width = () => Math.max(120, host.clientWidth);
    plot.current = new uPlot(
      options(d, width(), height, (index, left) => setAt(index == null || left < 0 ? null : { index, left })),
      columns(d),
      host,
    );
    const watch = new ResizeObserver(() => plot.current?.setSize({ width: width(), height }));
    watch.observe(host);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const again = () => plot.current?.redraw(false);
    dark.addEventListener("change", again);
    document.fonts?.ready.then(again);
    return () => {
      dark.removeEventListener("change", again);
      watch.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [loaded, key, candles, something, table, height, gaps.length, language.value]);

  useEffect(() => {
    const d = drawing.current;
    if (!d || !plot.current) return;
    d.last = last;
    if (latest) addTrade(d.buckets, latest, d.seconds);
    fitted(d);
    plot.current.setData(columns(d));
  }, [last, latest]);

  const d = drawing.current;
  const read = (/** @type {number} */ index) => {
    const one = d?.buckets[index];
    const value = d && one ? columns(d)[1][index] : null;
    return one
      ? {
          when: f.axis(one.start * 1000, "both"),
          price: value === null ? t("chart.paused") : f.percent(value),
          volume: f.quantity(one.volume),
        }
      : null;
  };
  /** @param {KeyboardEvent} event */
  const move = (event) => {
    const u = plot.current;
    if (!u || !d) return;
    const end = d.buckets.length - 1;
    const from = u.cursor.idx ?? end;
    const step = event.shiftKey ? 10 : 1;
    const to =
      event.key === "ArrowLeft"
        ? from - step
        : event.key === "ArrowRight"
          ? from + step
          : event.key === "Home"
            ? 0
            : event.key === "End"
              ? end
              : null;
    if (to === null) return;
    event.preventDefault();
    const index = Math.max(0, Math.min(end, to));
    u.setCursor({ left: u.valToPos(u.data[0][index], "x"), top: 10 });
    const one = read(index);
    if (one)
      setSaid(
        t("chart.read", { when: one.when, price: one.price, n: one.volume, count: Number(d.buckets[index].volume) }),
      );
  };
  if (failed) return html`<p class=${`chart-empty h${height}`}>${t("chart.failed")}</p>`;
  if (!loaded || loaded.key !== key) return html`<div class=${`chart-empty h${height}`}></div>`;
  if (!something)
    return html`<p class=${`chart-empty h${height}`}>
    ${stats?.trades === 0 || !stats ? t("chart.none") : t("chart.none-then")}</p>`;
  const known = loaded.buckets.filter((one) => one.close !== null);
  if (table) {
    return html`<div class="scroll-x chart-table" tabindex="0" role="group" aria-label=${t("price-history")}>
      <table class="table dense"><caption class="vh">${t("price-history")}</caption>
      <thead><tr><th scope="col">${t("time")}</th><th class="r" scope="col">${t("chart.first")}</th>
      <th class="r" scope="col">${t("chart.high")}</th><th class="r" scope="col">${t("chart.low")}</th>
      <th class="r" scope="col">${t("chart.last")}</th><th class="r" scope="col">${t("volume")}</th></tr></thead>
      <tbody>${gather(loaded.buckets, loaded.bucket)
        .filter((one) => one.close !== null)
        .reverse()
        .map(
          (one) => html`<tr>
        <td>${f.axis(one.start * 1000, "both")}</td>
        ${[one.open, one.high, one.low, one.close].map(
          (value) => html`<td class="r">${f.price(Number(value))}
        </td>`,
        )}<td class="r">${f.quantity(one.volume)}</td></tr>`,
        )}</tbody></table></div>`;
  }
  const closes = known.map((one) => Number(one.close));
  const sentence = t("chart.label", {
    first: f.percent(closes[0] ?? earlier ?? last),
    last: f.percent(last),
    low: f.percent(Math.min(last, ...closes)),
    high: f.percent(Math.max(last, ...closes)),
    gaps: gaps.length,
  });
  const tip = at && !bare ? read(at.index) : null;
  return html`<div class=${`plot h${height}`} role="img" aria-label=${sentence} tabindex=${bare ? undefined : 0}
    onKeyDown=${bare ? undefined : move}><div ref=${box} class="plot-box"></div>
    ${
      tip &&
      at &&
      html`<dl class="plot-tip"
      ref=${(/** @type {HTMLElement | null} */ node) => {
        if (node) node.style.left = `${at.left > 190 ? at.left - 176 : at.left + 14}px`;
      }}>
      <div><dt class="strong">${tip.when}</dt></div><div><dt>${t("yes")}</dt><dd>${tip.price}</dd></div>
      <div><dt>${t("volume")}</dt><dd>${tip.volume}</dd></div></dl>`
    }</div><span class="vh" aria-live="polite">${said}
      </span>`;
}
