// Words in the reader's language. One file a language; a test sees that all have the same keys.
import { signal } from "./lib.js";

/** @typedef {"en" | "pt" | "es"} Language */
/** @type {Language[]} */
export const LANGUAGES = ["en", "pt", "es"];
/** The tags that `Intl` gets: pt is written for Brazil; English figures are American, its dates have the day first. */
export const TAGS = { en: "en-US", pt: "pt-BR", es: "es" };
export const DATE_TAGS = { ...TAGS, en: "en-GB" };
export const language = signal(/** @type {Language} */ ("en"));

/** @type {Record<string, string>} */
let words = {};
/** Changes with the words, so that what reads it is drawn again. */
const version = signal(0);

/** @returns {Language} */
function preferred() {
  const stored = read("language");
  for (const tag of [stored, ...navigator.languages]) {
    const short = /** @type {Language} */ (String(tag).slice(0, 2));
    if (LANGUAGES.includes(short)) return short;
  }
  return "en";
}

/** A setting of this browser; null where storage is refused. @param {string} name */
export function read(name) {
  try {
    return localStorage.getItem(`openoutcry.${name}`);
  } catch {
    return null;
  }
}

/** @param {string} name @param {string} value */
export function keep(name, value) {
  try {
    localStorage.setItem(`openoutcry.${name}`, value);
  } catch {
    // A browser that stores nothing still works: the setting lasts as long as the page.
  }
}

/** @param {Language} [chosen] */
export async function load(chosen) {
  const next = chosen ?? preferred();
  const answer = await fetch(new URL(`../i18n/${next}.json`, import.meta.url));
  if (!answer.ok) throw new Error(`no words for ${next}`);
  words = await answer.json();
  if (chosen) keep("language", chosen);
  document.documentElement.lang = TAGS[next];
  language.value = next;
  version.value += 1;
}

/** For tests and for a page that has its words already. @param {Language} next @param {Record<string, string>} given */
export function use(next, given) {
  words = given;
  language.value = next;
  version.value += 1;
}

/**
 * The words of a key, with `{name}` replaced. With `n` in the values, `key#one` or `key#other` is chosen as the language does.
 * @param {string} key @param {Record<string, string | number>} [values]
 */
export function t(key, values) {
  version.value;
  let found = words[key];
  if (values && "n" in values) {
    const count = Number(values.count ?? values.n);
    const form = new Intl.PluralRules(TAGS[language.value]).select(count) === "one" ? "one" : "other";
    found = words[`${key}#${form}`] ?? found;
  }
  if (found === undefined) return key;
  return values ? found.replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole)) : found;
}

/** Whether there are words of this key. @param {string} key */
export const has = (key) => key in words;

/** A text that the venue has in three languages. @param {{en: string, pt: string, es: string} | null | undefined} texts */
export const local = (texts) => (texts ? texts[language.value] || texts.en : "");

/**
 * A category's name. Categories have one name; where it is written as three, "pt · en · es", the reader's is shown.
 * @param {{name: string}} category
 */
export function categoryName(category) {
  const names = category.name.split(" · ");
  return names.length === 3 ? names[{ pt: 0, en: 1, es: 2 }[language.value]] : category.name;
}
