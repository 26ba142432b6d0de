import { test } from "node:test";
import assert from "node:assert/strict";
import * as d from "../js/decimal.js";

test("units and text are inverse, and refuse what a float would hide", () => {
  for (const value of ["0", "1", "-1.5", "0.00000001", "100000000.99999999"]) assert.equal(d.text(d.units(value)), value);
  assert.equal(d.text(d.units("2.50"), 8, 2), "2.50");
  assert.equal(d.units("−3", 0), -3n);
  assert.throws(() => d.units("1.000000001"));
  assert.throws(() => d.units("1e3"));
  assert.throws(() => d.units(""));
});

test("price times quantity is exact", () => {
  assert.equal(d.cost("0.63", "420"), "264.60");
  assert.equal(d.cost("0.01", "0.000001"), "0.00000001");
  assert.equal(d.add("0.1", "0.2"), "0.30");
  assert.equal(d.subtract("210.80", "187.00"), "23.80");
  assert.equal(d.mirror("0.63"), "0.37");
});

test("a fee is rounded up to a unit of money", () => {
  assert.equal(d.fee("0.07", "0.50", "100"), "1.75");
  assert.equal(d.fee("0.0001", "0.01", "0.000001"), "0.00000001");
  assert.equal(d.fee("0", "0.50", "100"), "0.00");
});

test("what money buys", () => {
  assert.equal(d.affordable("1842.57", "0.63"), "2924.71");
  assert.equal(d.affordable("0", "0.63"), "0");
  assert.equal(d.compare(d.cost("0.63", d.affordable("100", "0.63")), "100"), -1);
  const levels = [{ price: "0.63", quantity: "420" }, { price: "0.64", quantity: "1150" }, { price: "0.70", quantity: "9" }];
  assert.equal(d.walk(levels, "500", "0.65"), "787.81");
  assert.equal(d.walk(levels, "100000", "0.65"), "1570");
  assert.equal(d.walk(levels, "100", "0.10"), "0");
  // What is typed is spent at most: 0.50 and a fee of 0.0175 each, and 193.24 would take more.
  assert.equal(d.walk([{ price: "0.50", quantity: "1000" }], "100", "0.50", "0.07"), "193.23");
});

test("numbers as people type them", () => {
  assert.equal(d.typed("1,842.57", "en"), "1842.57");
  assert.equal(d.typed("$500", "en"), "500");
  assert.equal(d.typed("1.842,57", "pt"), "1842.57");
  assert.equal(d.typed("0,63", "es"), "0.63");
  assert.equal(d.typed("0.63", "pt"), "0.63");
  assert.equal(d.typed("1.842", "pt"), "1842");
  assert.equal(d.typed(".5", "en"), "0.5");
  assert.equal(d.typed("500 USD", "en"), "500");
  // Where one separator could be either, it is never taken for a thousand times as much.
  for (const language of ["pt", "es"]) assert.equal(d.typed("0.125", language), "0.125");
  assert.equal(d.typed("1,842.57", "pt"), null);
  for (const wrong of ["", "abc", "-1", "1.2.3", "0,125", "1234,567"]) assert.equal(d.typed(wrong, "en"), null);
});

test("comparison is of values, not of texts", () => {
  assert.equal(d.compare("9", "10"), -1);
  assert.equal(d.compare("0.50", "0.5"), 0);
  assert.equal(d.isZero("0.00"), true);
  assert.equal(d.isZero("0.01"), false);
});
