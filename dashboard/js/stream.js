// The push stream: one socket for the page, channels by what is on screen, resumed after a cut from the last record heard.
// Messages wait for the next frame and are handed over together, so that a page draws at most once a frame.
import { signal } from "./lib.js";
import { sequence } from "./api.js";

/**
 * @typedef {{channel: string, kind: string, sequence: number, previous?: number, time: string, data: any, conflated?: boolean}} Message
 * @typedef {(messages: Message[]) => void} Listener
 */

const LATE_AFTER = 8_000;
const BANNER_AFTER = 12_000;
const LONGEST_PAUSE = 15_000;
const BLOCKED_AFTER = 2;

/** "connecting": never yet live. "live". "late": was live, and nothing was heard for 8 s, or the connection is gone. */
export const state = signal(/** @type {"connecting" | "live" | "late"} */ ("connecting"));
/** Whether the feed has been late so long that the page says so. */
export const alarm = signal(false);
/** When something was last heard, in milliseconds. */
export const heardAt = signal(0);
/** After a cut: how many records were caught up, and in how long. Null when there is nothing to say. */
export const caughtUp = signal(/** @type {{records: number, seconds: number} | null} */ (null));

/** @type {Map<string, Set<Listener>>} */
const listeners = new Map();
/** Channels of which this page has a first state, and so can go on from a record. @type {Set<string>} */
const known = new Set();
/** @type {WebSocket | null} */
let socket = null;
/** Where sockets are kept from opening, the same messages come as server-sent events. @type {AbortController | null} */
let source = null;
/** How many sockets in a row did not open while the venue answered. */
let unopened = 0;
let heard = 0;
let attempt = 0;
let asked = 0;
let running = false;
let pause = 0;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let again;
/** @type {{from: number, at: number} | null} */
let cut = null;
/** @type {Message[]} */
let queue = [];
let drawing = false;

/** @param {Record<string, unknown>} message */
function say(message) {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ id: String(++asked), ...message }));
}

/** @param {string[]} channels */
function subscribe(channels) {
  const fresh = channels.filter((one) => !known.has(one));
  const old = channels.filter((one) => known.has(one));
  // What was missed comes first: a stream never goes back behind what it has told.
  if (old.length) say({ op: "subscribe", channels: old, from: heard });
  if (fresh.length) say({ op: "subscribe", channels: fresh });
}

/** Channels that this turn of the page asks for: they go in one message. @type {Set<string>} */
const beginning = new Set();

/** @param {string} channel */
function begin(channel) {
  if (!beginning.size) {
    queueMicrotask(() => {
      if (source || unopened >= BLOCKED_AFTER) connect();
      else subscribe([...beginning].filter((one) => listeners.has(one)));
      beginning.clear();
    });
  }
  beginning.add(channel);
}

/**
 * Hears a channel until the returned function is called.
 * @param {string} channel @param {Listener} listener
 */
export function listen(channel, listener) {
  let set = listeners.get(channel);
  if (!set) {
    listeners.set(channel, (set = new Set()));
    known.delete(channel);
    begin(channel);
  }
  set.add(listener);
  return () => {
    set.delete(listener);
    if (set.size || listeners.get(channel) !== set) return;
    listeners.delete(channel);
    known.delete(channel);
    say({ op: "unsubscribe", channels: [channel] });
  };
}

function drain() {
  drawing = false;
  const waiting = queue;
  queue = [];
  /** @type {Map<string, Message[]>} */
  const sorted = new Map();
  for (const message of waiting) {
    const list = sorted.get(message.channel);
    if (list) list.push(message);
    else sorted.set(message.channel, [message]);
  }
  for (const [channel, messages] of sorted) for (const listener of listeners.get(channel) ?? []) listener(messages);
}

/** @param {any} message */
function take(message) {
  heardAt.value = Date.now();
  alarm.value = false;
  if (
    typeof message.sequence === "number" &&
    message.sequence > heard &&
    (message.kind === "heartbeat" || message.channel)
  )
    heard = message.sequence;
  if (message.kind === "heartbeat") {
    if (message.sequence > sequence.value) sequence.value = message.sequence;
    live();
    return;
  }
  if (!message.channel) {
    control(message);
    return;
  }
  known.add(message.channel);
  if (message.sequence > sequence.value) sequence.value = message.sequence;
  queue.push(message);
  if (drawing) return;
  drawing = true;
  // A hidden page gets no frames: it catches up at its next look, but must not keep messages without bound.
  if (document.hidden) setTimeout(drain, 1000);
  else requestAnimationFrame(drain);
}

/** An answer to a control message: refused as a whole, or channel by channel. @param {any} answer */
function control(answer) {
  const refused = (answer.channels ?? []).filter((/** @type {any} */ one) => one.error);
  const busy =
    answer.error?.code === "REPLAY_BUSY"
      ? [...known]
      : refused
          .filter((/** @type {any} */ one) => one.error.code === "REPLAY_BUSY")
          .map((/** @type {any} */ one) => one.channel);
  if (busy.length) {
    // What was replayed so far has come; the rest is asked for from there.
    if (typeof answer.sequence === "number" && answer.sequence > heard) heard = answer.sequence;
    setTimeout(
      () => subscribe(busy.filter((/** @type {string} */ one) => listeners.has(one))),
      1000 * (answer.retryAfter ?? 1),
    );
    return;
  }
  // What cannot be gone on with is begun anew, with a snapshot; what cannot be begun either stays silent.
  const lost = (answer.error ? [...known] : refused.map((/** @type {any} */ one) => one.channel)).filter(
    (/** @type {string} */ one) => known.delete(one) && listeners.has(one),
  );
  if (lost.length) subscribe(lost);
}

function live() {
  if (cut && heard >= cut.from) {
    caughtUp.value = { records: heard - cut.from, seconds: (Date.now() - cut.at) / 1000 };
    setTimeout(() => (caughtUp.value = null), 6000);
  }
  cut = null;
  attempt = 0;
  state.value = "live";
}

function lost() {
  if (state.value === "live") {
    state.value = "late";
    cut = { from: heard, at: Date.now() };
  }
}

/** Tries again later, each time a little later than before. @param {number} [atLeast] in milliseconds */
function retry(atLeast = 0) {
  lost();
  attempt += 1;
  pause = Math.max(atLeast, Math.min(LONGEST_PAUSE, 250 * 2 ** attempt) * (0.5 + Math.random() / 2));
  if (running) again = setTimeout(connect, pause);
}

/**
 * Begins to hear by server-sent events, whose channels are fixed: with others it begins anew. By `fetch`, since an
 * `EventSource` cannot say that a page of the venue's own asks.
 */
async function hearEvents() {
  source?.abort();
  source = null;
  const channels = [...listeners.keys()];
  if (!channels.length) return;
  const from = heard && channels.every((one) => known.has(one)) ? `&from=${heard}` : "";
  const mine = new AbortController();
  source = mine;
  try {
    const answer = await fetch(`/api/v1/stream?subscribe=${channels.map(encodeURIComponent).join(",")}${from}`, {
      headers: { Accept: "text/event-stream", "X-Requested-By": "openoutcry" },
      credentials: "same-origin",
      signal: mine.signal,
    });
    if (!answer.ok || !answer.body) throw new Error(String(answer.status));
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const events = (text + value).split("\n\n");
      text = events.pop() ?? "";
      // An event with a name is the last one, and says why.
      for (const one of events) if (!one.startsWith("event:")) take(JSON.parse(one.slice(one.indexOf("data: ") + 6)));
    }
  } catch {
    // As where it ends: below.
  }
  if (source !== mine) return;
  source = null;
  // What cannot be gone on with is begun anew, and a socket may open by now.
  known.clear();
  unopened = BLOCKED_AFTER - 1;
  retry();
}

function connect() {
  clearTimeout(again);
  if (unopened >= BLOCKED_AFTER) {
    hearEvents();
    return;
  }
  const url = new URL("/api/v1/stream", location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  const mine = new WebSocket(url, "openoutcry.v1");
  socket = mine;
  let opened = false;
  mine.onopen = () => {
    opened = true;
    unopened = 0;
    if (cut) cut.at = Date.now();
    subscribe([...listeners.keys()]);
  };
  mine.onmessage = (event) => {
    let message;
    try {
      message = JSON.parse(event.data);
    } catch {
      mine.close();
      return;
    }
    take(message);
  };
  mine.onclose = (event) => {
    if (socket !== mine) return;
    socket = null;
    // A venue that is down opens no socket either: only one that answers otherwise says that sockets are blocked.
    if (!opened) fetch("/healthz").then((answer) => void (unopened += answer.ok ? 1 : 0), () => {});
    let atLeast = 0;
    try {
      atLeast = (JSON.parse(event.reason).retryAfter ?? 0) * 1000;
    } catch {
      // A close without a reason in JSON.
    }
    retry(atLeast);
  };
}

function watch() {
  const silent = Date.now() - heardAt.value;
  if (state.value === "live" && silent > LATE_AFTER) {
    lost();
    // A socket that says nothing may be dead without knowing: begin another.
    if (source) hearEvents();
    socket?.close();
  }
  alarm.value = heardAt.value > 0 && state.value === "late" && silent > BANNER_AFTER;
}

/** Connects now, without waiting for the next try. */
export function tryNow() {
  if (!running) return;
  attempt = 0;
  const old = socket;
  socket = null;
  old?.close();
  source?.abort();
  source = null;
  connect();
}

export function start() {
  if (running) return;
  running = true;
  connect();
  setInterval(watch, 1000);
  addEventListener("online", tryNow);
}

/** Begins anew as somebody else: what was heard belongs to the former reader. */
export function restart() {
  known.clear();
  heard = 0;
  tryNow();
}
