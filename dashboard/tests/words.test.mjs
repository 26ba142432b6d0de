import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";

const here = new URL("..", import.meta.url);
const languages = ["en", "pt", "es"];
const words = Object.fromEntries(languages.map((one) => [one, JSON.parse(readFileSync(new URL(`i18n/${one}.json`, here), "utf8"))]));
const scripts = ["js/", "js/pages/"].flatMap((folder) => readdirSync(new URL(folder, here)).filter((name) => name.endsWith(".js")).map((name) => readFileSync(new URL(folder + name, here), "utf8")));

test("all languages have the same words with the same blanks", () => {
  for (const one of ["pt", "es"]) {
    assert.deepEqual(Object.keys(words[one]).filter((key) => !(key in words.en)), [], `only in ${one}`);
    assert.deepEqual(Object.keys(words.en).filter((key) => !(key in words[one])), [], `missing in ${one}`);
    const blanks = (text) => [...new Set(text.match(/\{\w+\}/g) ?? [])].sort().join();
    for (const key of Object.keys(words.en)) {
      assert.equal(blanks(words[one][key]), blanks(words.en[key]), `${one} ${key}`);
      assert.notEqual(words[one][key].trim(), "", `${one} ${key}`);
    }
  }
});

test("every word that a script asks for is there, and none is there for nothing", () => {
  const there = new Set(Object.keys(words.en).map((key) => key.split("#")[0]));
  const all = scripts.join("\n");
  const asked = [...all.matchAll(/\bt\(\s*"([^"]+)"/g)].map((found) => found[1]);
  assert.deepEqual([...new Set(asked)].filter((key) => !there.has(key)), []);
  const prefixes = [...all.matchAll(/(?:\bt|\bhas)\(\s*`([\w.-]*\.)\$\{/g), ...all.matchAll(/= `((?:problem|field)\.)/g)].map((found) => found[1]);
  const literal = new Set([...all.matchAll(/"([\w.-]+)"/g)].map((found) => found[1]));
  assert.deepEqual([...there].filter((key) => !literal.has(key) && !prefixes.some((prefix) => key.startsWith(prefix))), []);
});

test("a plural has both forms", () => {
  for (const key of Object.keys(words.en)) if (key.endsWith("#one")) assert.ok(`${key.slice(0, -4)}#other` in words.en, key);
});
