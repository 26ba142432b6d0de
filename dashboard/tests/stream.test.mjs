import { test } from "node:test";
import assert from "node:assert/strict";

/** A socket of which the test is the server. */
class Socket {
  static OPEN = 1;
  static last = /** @type {Socket} */ (/** @type {any} */ (null));
  constructor() {
    this.readyState = 0;
    this.said = /** @type {any[]} */ ([]);
    Socket.last = this;
  }
  open() {
    this.readyState = 1;
    this.onopen();
  }
  send(text) {
    this.said.push(JSON.parse(text));
  }
  hear(...messages) {
    for (const one of messages) this.onmessage({ data: JSON.stringify(one) });
  }
  close(reason = "") {
    this.readyState = 3;
    this.onclose?.({ reason });
  }
}
Object.assign(globalThis, {
  WebSocket: Socket, location: { href: "http://venue.invalid/" }, document: { hidden: false }, addEventListener() {},
  requestAnimationFrame: (draw) => setTimeout(draw, 0), setInterval: () => 0, localStorage: { getItem: () => null, setItem() {} },
});
const stream = await import("../js/stream.js");
const turn = () => new Promise((done) => setTimeout(done, 5));

test("begins with a snapshot, goes on after a cut from the last record heard, and tells what it caught up", async () => {
  stream.start();
  const heard = [];
  const end = stream.listen("book:M", (messages) => heard.push(...messages.map((one) => one.sequence)));
  stream.listen("trades:M", () => {});
  await turn();
  const first = Socket.last;
  first.open();
  assert.deepEqual(first.said.map(({ id, ...rest }) => rest), [{ op: "subscribe", channels: ["book:M", "trades:M"] }]);
  first.hear({ kind: "welcome", limits: {} }, { id: "1", ok: true, channels: [{ channel: "book:M", sequence: 7 }, { channel: "trades:M", sequence: 7 }] },
    { channel: "book:M", kind: "book", sequence: 7, data: { levels: [] } }, { channel: "book:M", kind: "levels", sequence: 9, data: { levels: [] } }, { kind: "heartbeat", sequence: 12 });
  assert.equal(stream.state.value, "live");
  assert.deepEqual(heard, [], "nothing is handed over before the frame");
  await turn();
  assert.deepEqual(heard, [7, 9]);

  first.close(JSON.stringify({ code: "STOPPING", retryAfter: 0 }));
  assert.equal(stream.state.value, "late");
  stream.tryNow();
  const second = Socket.last;
  second.open();
  // What has its first state goes on from record 12; what never had one begins.
  assert.deepEqual(second.said.map(({ id, ...rest }) => rest), [{ op: "subscribe", channels: ["book:M"], from: 12 }, { op: "subscribe", channels: ["trades:M"] }]);
  second.hear({ channel: "book:M", kind: "levels", sequence: 15, data: { levels: [] } }, { kind: "heartbeat", sequence: 20 });
  assert.equal(stream.state.value, "live");
  assert.equal(stream.caughtUp.value?.records, 8);
  await turn();
  assert.deepEqual(heard, [7, 9, 15]);

  second.hear({ id: "9", ok: true, channels: [{ channel: "book:M", error: { code: "HISTORY_UNREADABLE" } }] });
  assert.deepEqual(second.said.at(-1).channels, ["book:M"], "what cannot be gone on with is begun anew");
  assert.equal(second.said.at(-1).from, undefined);
  end();
  assert.equal(second.said.at(-1).op, "unsubscribe");
  second.onclose = null;
});

test("where no socket opens, the same comes as events, begun anew for each set of channels", async () => {
  /** @type {any[]} */
  const sources = [];
  let up = false;
  globalThis.fetch = async (url, how) => {
    if (url === "/healthz") return { ok: up };
    const one = { url, ended: how.signal };
    sources.push(one);
    return { ok: true, body: new ReadableStream({ start: (to) => void Object.assign(one, { say: (text) => to.enqueue(new TextEncoder().encode(text)), end: () => to.close() }) }) };
  };
  const blocked = async () => {
    stream.tryNow();
    Socket.last.close();
    await turn();
  };
  for (let n = 0; n < 3; n += 1) await blocked();
  assert.equal(sources.length, 0, "a venue that is down is no reason");
  up = true;
  for (let n = 0; n < 2; n += 1) await blocked();
  stream.tryNow();
  assert.deepEqual(sources.map((one) => one.url), ["/api/v1/stream?subscribe=trades%3AM"]);
  const heard = [];
  const end = stream.listen("book:N", (messages) => heard.push(...messages.map((one) => one.sequence)));
  await turn();
  assert.ok(sources[0].ended.aborted);
  assert.equal(sources[1].url, "/api/v1/stream?subscribe=trades%3AM,book%3AN");
  const said = [{ channel: "book:N", kind: "book", sequence: 30, data: { levels: [] } }, { channel: "trades:M", kind: "snapshot", sequence: 30, data: {} }, { kind: "heartbeat", sequence: 31 }];
  const text = said.map((one) => `id: ${one.sequence}\ndata: ${JSON.stringify(one)}\n\n`).join("");
  // Pieces end where they like.
  sources[1].say(text.slice(0, 50));
  sources[1].say(text.slice(50));
  // On a busy machine what was said takes some turns.
  for (let n = 0; n < 100 && heard.length === 0; n += 1) await turn();
  assert.deepEqual([heard, stream.state.value], [[30], "live"]);
  stream.tryNow();
  assert.equal(sources[2].url, "/api/v1/stream?subscribe=trades%3AM,book%3AN&from=31");
  await turn();
  sources[2].say("event: close\ndata: {}\n\n");
  sources[2].end();
  await turn();
  assert.equal(stream.state.value, "late");
  // A socket is tried once more.
  const before = Socket.last;
  stream.tryNow();
  assert.notEqual(Socket.last, before);
  end();
});
