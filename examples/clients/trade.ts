// Two users trade, through openapi-fetch and the types that openapi-typescript generates from the
// API description.
//
//     npx openapi-typescript http://127.0.0.1:8080/api/v1/openapi.json -o schema.ts
//     npx tsc && node trade.js http://127.0.0.1:8080 ANAS_KEY BENS_KEY
//
// One order rests, another trades with it, the remainder of the first is cancelled. Every answer is
// checked, and refusals are recognised by their codes. Needs a market whose book is empty.

import createClient, { type Client } from "openapi-fetch";
import type { components, paths } from "./schema.js";

type Schemas = components["schemas"];
type Venue = Client<paths>;

function fail(why: string): never {
  throw new Error(why);
}

/** The answer of a success; a problem ends the program. */
function expect<T>({ data, error }: { data?: T; error?: Schemas["Problem"] }): T {
  return data ?? fail(`${error?.code}: ${error?.detail}`);
}

function check<T>(what: string, found: T, expected: T): void {
  if (found !== expected) fail(`${what} is ${found}, not ${expected}`);
}

/** A market with an empty book. */
async function quietMarket(venue: Venue): Promise<Schemas["Market"]> {
  const query = { limit: 100 };
  const page = expect(await venue.GET("/api/v1/markets/public/list", { params: { query } }));
  for (const market of page.markets.filter(({ status }) => status === "ACTIVE")) {
    const params = { path: { marketId: market.id }, query: { outcome: "yes" as const } };
    const book = expect(await venue.GET("/api/v1/trading/books/{marketId}/depth", { params }));
    if (book.bids.length + book.asks.length === 0) return market;
  }
  return fail("no market has an empty book");
}

async function main(baseUrl: string, anasKey: string, bensKey: string): Promise<void> {
  const venue = (key: string) => createClient<paths>({ baseUrl, headers: { "X-API-Key": key } });
  const [ana, ben] = [venue(anasKey), venue(bensKey)];
  const market = await quietMarket(ana);
  const place = async (by: Venue, side: Schemas["Side"], quantity: string) => {
    const body: Schemas["OrderSent"] = {
      marketId: market.id, outcomeId: "yes", side, orderType: "LIMIT", price: "0.40", quantity,
    };
    return expect(await by.POST("/api/v1/trading/orders", { body }));
  };

  const rests = await place(ana, "BUY", "5");
  check("the first order's status", rests.status, "OPEN");
  const trades = await place(ben, "SELL", "2");
  check("the second order's status", trades.status, "FILLED");
  check("its trades", trades.trades.map((t) => `${t.quantity} at ${t.price}`).join(), "2 at 0.40");

  const params = { path: { orderId: rests.orderId } };
  const read = expect(await ana.GET("/api/v1/trading/orders/{orderId}", { params }));
  check("the first order's status", read.status, "PARTIALLY_FILLED");
  check("what remains of it", read.remainingQuantity, "3");
  const gone = expect(await ana.DELETE("/api/v1/trading/orders/{orderId}", { params }));
  check("its status in the end", gone.status, "CANCELLED");
  const { error } = await ana.DELETE("/api/v1/trading/orders/{orderId}", { params });
  if (error?.status !== 409) fail(`a second cancel is answered ${error?.status}`);
  const code: Schemas["ConflictCode"] = error.code;
  check("a second cancel", code, "ORDER_NOT_OPEN");
  console.log(`traded in ${market.questions.en}`);
}

const [url, anasKey, bensKey] = process.argv.slice(2);
await main(url ?? fail("no address"), anasKey ?? fail("no key"), bensKey ?? fail("no second key"));
