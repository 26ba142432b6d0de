import { test } from "node:test";
import assert from "node:assert/strict";
import { parse, quantile, rate } from "../js/metrics.js";

const text = (n) => `# HELP x y\nx_total{kind="a"} ${n}\nx_total{kind="b"} 1\nd_seconds_bucket{le="0.001"} ${n}\nd_seconds_bucket{le="0.01"} ${n * 2}\nd_seconds_bucket{le="+Inf"} ${n * 2}\n`;
const at = (seconds, n) => ({ at: seconds * 1000, values: parse(text(n)) });

test("figures are summed over their labels, and rates are between two samples", () => {
  assert.equal(parse(text(5)).get("x_total"), 6);
  assert.equal(rate(at(0, 0), at(10, 50), "x_total"), 5);
  assert.equal(rate(at(0, 50), at(10, 0), "x_total"), null);
});

test("a quantile is of what came between", () => {
  assert.equal(quantile(at(0, 0), at(10, 50), "d_seconds", 0.5), 0.001);
  assert.equal(quantile(at(0, 0), at(10, 50), "d_seconds", 0.99), 0.01);
  assert.equal(quantile(at(0, 50), at(10, 50), "d_seconds", 0.99), null);
});
