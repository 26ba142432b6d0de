import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { gzipSync } from "node:zlib";

const here = new URL("..", import.meta.url);
const read = (/** @type {string} */ path) => readFileSync(new URL(path, here), "utf8");
const scripts = ["js/", "js/pages/", "vendor/"].flatMap((folder) => readdirSync(new URL(folder, here)).filter((name) => name.endsWith(".js")).map((name) => folder + name));
const own = scripts.filter((path) => path.startsWith("js/"));

test("nothing on the page needs what the policy refuses", () => {
  const page = read("index.html");
  assert.doesNotMatch(page, /<script(?![^>]*\bsrc=)/);
  assert.doesNotMatch(page, /\son\w+=|\sstyle=/);
  assert.doesNotMatch(page, /https?:\/\/(?!www\.w3\.org)/);
  for (const path of own) {
    const text = read(path);
    assert.doesNotMatch(text, /\sstyle=|innerHTML|outerHTML|insertAdjacentHTML|\beval\(|new Function\(/, path);
  }
  for (const path of ["css/tokens.css", "css/base.css", "css/market.css", "css/pages.css"]) assert.doesNotMatch(read(path), /@import|url\(\s*["']?(?:https?:)?\/\//, path);
});

test("every module that is imported is there, by a relative path", () => {
  for (const path of scripts) {
    for (const [, to] of read(path).matchAll(/(?:\bfrom\s*|\bimport\s*\(\s*|^import\s*)"([^"]+)"/gm)) {
      assert.match(to, /^\.{1,2}\//, `${path}: ${to}`);
      assert.ok(existsSync(new URL(to, new URL(path, here))), `${path}: ${to}`);
    }
  }
  for (const [, path] of read("index.html").matchAll(/(?:src|href)="\/assets\/([^"]+)"/g)) assert.ok(existsSync(new URL(path, here)), path);
});

test("scripts are under 150 kB compressed, style sheets under 16 kB", () => {
  // The server leaves out the comments of our scripts.
  const served = (/** @type {string} */ path) => (path.startsWith("js/") ? read(path).replace(/^[ \t]*\/\/.*\n|^[ \t]*\/\*\*[^]*?\*\/[ \t]*\n/gm, "") : read(path));
  const size = (/** @type {string[]} */ paths) => paths.reduce((sum, path) => sum + gzipSync(served(path), { level: 9 }).length, 0);
  assert.ok(size(scripts) < 150_000, `${size(scripts)} bytes`);
  assert.ok(size(["css/tokens.css", "css/base.css", "css/market.css", "css/pages.css", "vendor/uplot.css"]) < 16_000);
});
