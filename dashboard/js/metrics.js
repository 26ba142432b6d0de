// The server's own figures, from the text that it gives to monitoring.

/** @typedef {{at: number, values: Map<string, number>}} Sample */

/** @param {string} text @returns {Map<string, number>} the sum over labels by name, and each series by its whole name */
export function parse(text) {
  /** @type {Map<string, number>} */
  const values = new Map();
  for (const line of text.split("\n")) {
    const found = /^([a-zA-Z_:][\w:]*)(\{[^}]*\})?\s+(\S+)/.exec(line);
    if (!found || line.startsWith("#")) continue;
    const value = Number(found[3]);
    if (!Number.isFinite(value)) continue;
    values.set(found[1], (values.get(found[1]) ?? 0) + value);
    if (found[2]) values.set(found[1] + found[2], value);
  }
  return values;
}

/** What a counter grew by a second between two samples; null after a restart. @param {Sample} a @param {Sample} b @param {string} name */
export function rate(a, b, name) {
  const grown = (b.values.get(name) ?? 0) - (a.values.get(name) ?? 0);
  const seconds = (b.at - a.at) / 1000;
  return grown < 0 || seconds <= 0 ? null : grown / seconds;
}

/** The bound below which a share of what a histogram counted between two samples lies, in seconds; null without any. @param {Sample} a @param {Sample} b @param {string} name @param {number} share @param {string} [label] only series whose labels have this text */
export function quantile(a, b, name, share, label = "") {
  /** @type {Map<number, number>} */
  const buckets = new Map();
  for (const [key, value] of b.values) {
    const found = key.startsWith(`${name}_bucket{`) && key.includes(label) ? /le="([^"]+)"/.exec(key) : null;
    if (!found) continue;
    const bound = found[1] === "+Inf" ? Infinity : Number(found[1]);
    buckets.set(bound, (buckets.get(bound) ?? 0) + value - (a.values.get(key) ?? 0));
  }
  const all = buckets.get(Infinity) ?? 0;
  if (all <= 0) return null;
  const bounds = [...buckets.keys()].sort((x, y) => x - y);
  return bounds.find((bound) => (buckets.get(bound) ?? 0) >= all * share) ?? null;
}
