"""Two people trade, through the client that openapi-python-client makes of the description.

    openapi-python-client generate --url http://127.0.0.1:8080/api/v1/openapi.json --meta none \
        --output-path openoutcry_client
    python3 trade.py http://127.0.0.1:8080 ANAS_KEY BENS_KEY

One order rests, another trades with it, the rest of the first is cancelled. Every answer is
checked, and a refusal is told by its code. Needs a market whose book is empty.
"""

import sys
import typing

from openoutcry_client import AuthenticatedClient
from openoutcry_client.api.markets import get_depth, list_markets
from openoutcry_client.api.orders import cancel_order, get_order, place_order
from openoutcry_client.models import (
    ConflictCode,
    ConflictProblem,
    Depth,
    Market,
    MarketPage,
    MarketStatus,
    Order,
    OrderSent,
    OrderStatus,
    OrderType,
    OutcomeId,
    PlacedOrder,
    Side,
)

Answer = typing.TypeVar("Answer")


def expect(kind: type[Answer], answer: object) -> Answer:
    """The answer, if it has the expected type; a problem ends the program."""
    if not isinstance(answer, kind):
        sys.exit(f"expected {kind.__name__}, got {answer}")
    return answer


def check(what: str, found: object, expected: object) -> None:
    if found != expected:
        sys.exit(f"{what} is {found}, not {expected}")


def quiet_market(client: AuthenticatedClient) -> Market:
    """A market with an empty book."""
    page = expect(MarketPage, list_markets.sync(client=client, limit=100))
    for market in page.markets:
        if market.status != MarketStatus.ACTIVE:
            continue
        book = get_depth.sync(client=client, market_id=market.id, outcome=OutcomeId.YES)
        book = expect(Depth, book)
        if not book.bids and not book.asks:
            return market
    sys.exit("no market has an empty book")


def main(url: str, anas_key: str, bens_key: str) -> None:
    def client(key: str) -> AuthenticatedClient:
        return AuthenticatedClient(
            base_url=url, token=key, prefix="", auth_header_name="X-API-Key"
        )

    ana, ben = client(anas_key), client(bens_key)
    market = quiet_market(ana)

    def order(side: Side, quantity: str) -> OrderSent:
        return OrderSent(
            market_id=market.id,
            outcome_id=OutcomeId.YES,
            side=side,
            order_type=OrderType.LIMIT,
            price="0.40",
            quantity=quantity,
        )

    rests = expect(PlacedOrder, place_order.sync(client=ana, body=order(Side.BUY, "5")))
    check("the first order's status", rests.status, OrderStatus.OPEN)
    trades = expect(PlacedOrder, place_order.sync(client=ben, body=order(Side.SELL, "2")))
    check("the second order's status", trades.status, OrderStatus.FILLED)
    check("its trade", [(t.price, t.quantity) for t in trades.trades], [("0.40", "2")])

    read = expect(Order, get_order.sync(client=ana, order_id=rests.order_id))
    check("the first order's status", read.status, OrderStatus.PARTIALLY_FILLED)
    check("what remains of it", read.remaining_quantity, "3")
    gone = expect(Order, cancel_order.sync(client=ana, order_id=rests.order_id))
    check("its status in the end", gone.status, OrderStatus.CANCELLED)
    refused = cancel_order.sync(client=ana, order_id=rests.order_id)
    check("a second cancel", expect(ConflictProblem, refused).code, ConflictCode.ORDER_NOT_OPEN)
    print(f"traded in {market.questions.en}")


if __name__ == "__main__":
    main(*sys.argv[1:])
