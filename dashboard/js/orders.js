// Placing an order so that it is placed once, whatever becomes of the connection.
import { get, newName, pause, venueNow, write } from "./api.js";
import { ApiError } from "./problem.js";

/** How long an order may be on its way, in milliseconds: one that is given up as not arrived must not trade later. */
const ARRIVES_WITHIN = 10_000;

/**
 * Sends an order under a name of its own. When no answer comes, the venue is asked by that name what became of it; the
 * order is not sent again.
 * @param {any} order as in the interface, without `clientOrderId`
 * @param {(state: "waiting" | "arrived" | "absent") => void} [tell]
 * @returns {Promise<{order: any, resolved: boolean} | {absent: true}>}
 */
export async function placeOrder(order, tell = () => {}) {
  const clientOrderId = newName("web");
  const validUntil = new Date(venueNow() + ARRIVES_WITHIN).toISOString();
  const slow = setTimeout(() => tell("waiting"), 5000);
  try {
    return {
      order: await write("POST", "/trading/orders", { ...order, clientOrderId, validUntil }, { name: null }),
      resolved: false,
    };
  } catch (error) {
    if (!(error instanceof ApiError) || !error.unknown) throw error;
    clearTimeout(slow);
    tell("waiting");
    return await resolve(clientOrderId, Date.parse(validUntil), tell);
  } finally {
    clearTimeout(slow);
  }
}

/** @param {string} clientOrderId @param {number} until @param {(state: "waiting" | "arrived" | "absent") => void} tell @returns {Promise<{order: any, resolved: boolean} | {absent: true}>} */
async function resolve(clientOrderId, until, tell) {
  // A request on its way may still arrive after a first "not found", so absence is believed only when it lasts, and when
  // the order would be refused by now.
  let absent = 0;
  for (let tried = 0; tried < 40; tried += 1) {
    await pause(Math.min(5000, 400 * 1.5 ** tried));
    try {
      const found = await get(`/trading/orders/by-client-id/${clientOrderId}`);
      tell("arrived");
      return { order: { ...found, orderId: found.id, trades: [] }, resolved: true };
    } catch (error) {
      if (error instanceof ApiError && error.code === "ORDER_NOT_FOUND") {
        absent += 1;
        if (absent < 4 || venueNow() <= until) continue;
        tell("absent");
        return { absent: true };
      }
      if (!(error instanceof ApiError) || (error.status >= 400 && error.status < 500)) throw error;
    }
  }
  throw new ApiError({ code: "OUTCOME_UNKNOWN", status: 503 });
}
