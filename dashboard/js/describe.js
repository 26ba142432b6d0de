// What the venue's own description says of an operation, ready to be shown and tried.

/**
 * @typedef {{name: string, kind: string, needed: boolean, meaning: string}} Part
 * @typedef {{place: "path" | "query", name: string, kind: string, needed: boolean, meaning: string, example: string, choices: string[]}} Parameter
 * @typedef {{status: string, code: string, meaning: string}} Refusal
 * @typedef {{id: string, tag: string, method: string, path: string, summary: string, text: string, role: "" | "reader" | "trader" | "operator", parameters: Parameter[], body: string | null, parts: Part[], status: string, answer: string, refusals: Refusal[]}} Operation
 */

/** @param {any} document @param {any} schema */
function resolved(document, schema) {
  for (let turns = 0; schema?.$ref && turns < 10; turns += 1) {
    const named = document.components.schemas[schema.$ref.split("/").pop()];
    // What stands beside a reference says more of this use of it.
    schema = { ...named, ...schema, $ref: named?.$ref };
  }
  return schema ?? {};
}

/** A schema in a few words. @param {any} document @param {any} schema @returns {string} */
function kindOf(document, schema) {
  const name = schema?.$ref?.split("/").pop();
  const whole = resolved(document, schema);
  if (whole.enum) return whole.enum.join(" | ");
  if (whole.anyOf || whole.oneOf)
    return (whole.anyOf ?? whole.oneOf)
      .map((/** @type {any} */ one) => kindOf(document, one))
      .filter((/** @type {string} */ one) => one !== "null")
      .join(" | ");
  if (whole.type === "array") return `[${kindOf(document, whole.items)}]`;
  return name ?? String(whole.type ?? "any");
}

/** @param {any} document @param {any} schema @returns {Part[]} */
function partsOf(document, schema) {
  const whole = resolved(document, schema);
  return Object.entries(whole.properties ?? {}).map(([name, one]) => ({
    name,
    kind: kindOf(document, one),
    needed: (whole.required ?? []).includes(name),
    meaning: one.description ?? resolved(document, one).description ?? "",
  }));
}

/** Ids of an example, at any depth, replaced by those that exist. @param {any} value @param {Record<string, any>} known @param {string} [name] @returns {any} */
export function withKnown(value, known, name = "") {
  if (name in known && typeof value !== "object") return known[name];
  if (Array.isArray(value)) {
    const one = known[name.replace(/s$/, "")];
    return name.endsWith("Ids") && one ? [one] : value.map((part) => withKnown(part, known));
  }
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, withKnown(part, known, key)]));
  return value;
}

const ROLES = /** @type {const} */ ({ readerKey: "reader", traderKey: "trader", operatorKey: "operator" });

/** @param {any} document @returns {Operation[]} */
export function operations(document) {
  const found = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, one]) => one.operationId)
      .map(([method, one]) => {
        const [status, answer] = Object.entries(one.responses).find(([code]) => code.startsWith("2") || code === "101") ?? ["", {}];
        const body = one.requestBody?.content?.["application/json"];
        const content = /** @type {any} */ (Object.values(/** @type {any} */ (answer).content ?? {})[0]);
        return {
          id: one.operationId,
          tag: one.tags[0],
          method: method.toUpperCase(),
          path,
          summary: one.summary,
          text: one.description ?? "",
          role: /** @type {Operation["role"]} */ (ROLES[/** @type {keyof typeof ROLES} */ (Object.keys(one.security?.[0] ?? {})[0])] ?? ""),
          parameters: (one.parameters ?? [])
            .filter((/** @type {any} */ each) => each.in === "path" || each.in === "query")
            .map((/** @type {any} */ each) => ({
              place: each.in,
              name: each.name,
              kind: kindOf(document, each.schema),
              needed: Boolean(each.required),
              meaning: each.description ?? "",
              example: each.example === undefined ? "" : Array.isArray(each.example) ? each.example.join(",") : String(each.example),
              choices: resolved(document, each.schema).enum ?? (each.schema?.type === "boolean" ? ["true", "false"] : []),
            })),
          body: body ? JSON.stringify(body.example ?? {}, null, 2) : null,
          parts: body ? partsOf(document, body.schema) : [],
          status,
          answer: content?.example === undefined ? "" : JSON.stringify(content.example, null, 2),
          refusals: Object.entries(one.responses)
            .filter(([code]) => Number(code) >= 400)
            .flatMap(([code, each]) =>
              [.../** @type {any} */ (each).description.matchAll(/- `([A-Z_]+)`: (.*)/g)].map(([, name, meaning]) => ({ status: code, code: name, meaning })),
            ),
        };
      }),
  );
  const order = (document.tags ?? []).map((/** @type {any} */ tag) => tag.name);
  return found.sort((a, b) => order.indexOf(a.tag) - order.indexOf(b.tag));
}

/** The address of a request, with its parameters put in. @param {Operation} operation @param {Record<string, string>} values */
export function addressOf(operation, values) {
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name] ?? ""));
  const query = operation.parameters.filter((one) => one.place === "query" && values[one.name]);
  const written = new URLSearchParams(query.map((one) => [one.name, values[one.name]])).toString();
  return path + (written ? `?${written}` : "");
}
