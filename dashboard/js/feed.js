// What a page hears: its channels while the stream is live, its own reads again while it is not.
import { useEffect, useRef } from "./lib.js";
import { listen, state } from "./stream.js";

const ASK_EVERY = 5_000;

/**
 * Hears channels while the page is on screen. While the stream is not live, `refresh` runs every five seconds instead, and
 * once more when it is back, for what no channel tells.
 * @param {string[]} channels @param {(messages: import("./stream.js").Message[], channel: string) => void} hear
 * @param {() => void} [refresh]
 */
export function useFeed(channels, hear, refresh) {
  const latest = useRef({ hear, refresh });
  latest.current = { hear, refresh };
  useEffect(() => {
    const ends = channels.map((channel) => listen(channel, (messages) => latest.current.hear(messages, channel)));
    return () => ends.forEach((end) => end());
  }, [channels.join(" ")]);
  const now = state.value;
  const before = useRef(now);
  useEffect(() => {
    if (now === "live") {
      if (before.current !== "live") latest.current.refresh?.();
      before.current = now;
      return undefined;
    }
    before.current = now;
    const timer = setInterval(() => document.hidden || latest.current.refresh?.(), ASK_EVERY);
    return () => clearInterval(timer);
  }, [now]);
}
