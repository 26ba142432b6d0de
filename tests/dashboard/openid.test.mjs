// Signing in with an identity provider of others (oidc-provider), in a real browser against a venue of its own.
//
// OPENOUTCRY_PROGRAM  the binary; the rest as in venue.mjs
import { test } from "node:test";
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lacksForOwn, launched, port, serve } from "./venue.mjs";

const require = createRequire(import.meta.url);
const KEY = "openid-scene-operator-key-0192837465";
const SECRET = "a secret of / the venue & provider";

/** A provider at another site than the venue, to a browser. @param {number} at @param {string} back */
async function provider(at, back) {
  const { default: Provider } = await import(require.resolve("oidc-provider"));
  const given = new Provider(`http://localhost:${at}`, {
    clients: [{ client_id: "venue", client_secret: SECRET, redirect_uris: [back], response_types: ["code"], grant_types: ["authorization_code"] }],
    claims: { openid: ["sub"], profile: ["preferred_username"] },
    pkce: { required: () => true },
    cookies: { keys: ["a key of the scene's"] },
    findAccount: (/** @type {any} */ _, /** @type {string} */ id) => ({ accountId: id, claims: () => ({ sub: id, preferred_username: id }) }),
  });
  const server = createServer(given.callback()).listen(at);
  await once(server, "listening");
  return server;
}

/** A venue that this provider vouches at. @param {number} at @param {string} folder @param {string[]} more */
function venue(at, folder, more) {
  writeFileSync(join(folder, "secret"), `${SECRET}\n`);
  return serve(at, folder, KEY, ["--openid-client-id", "venue", "--openid-client-secret-file", join(folder, "secret"), ...more]);
}

/** Goes over the provider as somebody, from a page with its button. @param {any} page @param {string} who @param {string} url */
async function over(page, who, url) {
  await page.getByRole("button", { name: "Continue with your organisation" }).click();
  await page.waitForURL(/localhost.*interaction/);
  if (await page.locator("input[name=login]").count()) {
    await page.locator("input[name=login]").fill(who);
    await page.locator("input[name=password]").fill("any");
    await page.locator("button[type=submit]").click();
  }
  await page.locator("form button[type=submit]").click();
  await page.waitForURL((/** @type {URL} */ at) => at.origin === url && !at.pathname.startsWith("/api"));
}

test("whom a provider of others vouches for comes in, by invitation or as somebody new, and nobody by a code that was used", { skip: lacksForOwn("oidc-provider") }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "openid"));
  const [at, idp] = [await port(), await port()];
  const back = `http://127.0.0.1:${at}/api/v1/session/openid/back`;
  const people = await provider(idp, back);
  const issuer = `http://localhost:${idp}`;
  const { server, url } = await venue(at, folder, ["--openid-issuer", issuer, "--signup", "open"]);
  const browser = await launched();
  t.after(async () => {
    server.kill("SIGTERM");
    await once(server, "exit");
    people.close();
    people.closeAllConnections();
    rmSync(folder, { recursive: true });
  });
  const operator = async (/** @type {string} */ path, /** @type {unknown} */ body) =>
    (await fetch(`${url}/api/v1${path}`, { method: "POST", headers: { "X-API-Key": KEY, "Content-Type": "application/json" }, body: JSON.stringify(body) })).json();
  const fresh = async () => {
    const context = await browser.newContext({ baseURL: url, locale: "en-US" });
    return { context, page: await context.newPage() };
  };
  const who = async (/** @type {any} */ page) => page.evaluate(async () => (await fetch("/api/v1/session")).json());

  // Somebody new, and again: one user, whose name the provider knows.
  const { context, page } = await fresh();
  /** @type {string[]} */
  const comes = [];
  page.on("request", (/** @type {any} */ one) => one.url().startsWith(back) && comes.push(one.url()));
  await page.goto("/sign-in");
  await over(page, "nadia", url);
  const nadia = await who(page);
  assert.deepEqual([nadia.signInName, nadia.identityProvider], ["nadia", true]);
  await page.goto("/account");
  await page.getByText("Password and second factor are kept there.").waitFor();
  await page.goto("/sign-in");
  // The provider knows the browser, and asks nothing.
  await page.getByRole("button", { name: "Continue with your organisation" }).click();
  await page.waitForURL((/** @type {URL} */ one) => one.origin === url && one.pathname === "/");
  assert.equal((await who(page)).user.id, nadia.user.id);

  // Nobody comes in by an address that was used: neither the person's own browser nor another's.
  assert.equal(comes.length, 2);
  await page.goto(comes[1]);
  await page.getByRole("alert").getByText(/did not confirm who you are/).waitFor();
  const thief = await fresh();
  await thief.page.goto(comes[1]);
  await thief.page.getByRole("alert").getByText(/began in another browser/).waitFor();
  assert.equal((await thief.context.request.get("/api/v1/session")).status(), 401);
  await thief.context.close();
  await context.close();

  // Whoever is invited is the user who was invited, and an account is one user's.
  const invited = async (/** @type {string} */ name) => {
    const { id } = await operator("/admin/users", { profileName: name, profilePic: "https://venue.invalid/t.svg" });
    return { id, token: (await operator(`/admin/users/${id}/invitations`, {})).token };
  };
  const omar = await invited("Omar");
  const guest = await fresh();
  await guest.page.goto(`/invitations#${omar.token}`);
  await over(guest.page, "omar", url);
  assert.equal((await who(guest.page)).user.id, omar.id);
  const other = await invited("Other");
  await guest.page.goto(`/invitations#${other.token}`);
  await guest.page.getByRole("button", { name: "Continue with your organisation" }).click();
  await guest.page.getByRole("alert").getByText(/Somebody else here signs in with that account/).waitFor();
  await guest.context.close();
});
