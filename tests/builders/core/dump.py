"""An engine's state as plain values, named and sorted, for comparisons."""

from collections.abc import Iterator

from venue.engine.engine import Engine
from venue.engine.ledger import Holding, Ledger
from venue.engine.listings import Listings
from venue.engine.order import ListedMarket, Order
from venue.engine.orders import Orders
from venue.wire.money import Outcome
from venue.wire.names import OrderId


def dump_of(engine: Engine) -> dict[str, object]:
    """The whole state in canonical order. Exact fees are text: they may be beyond 64 bits."""
    return {
        "venue_state": engine.venue_state,
        "matches": engine._matcher.matches,
        **dump_ledger(engine._ledger),
        **dump_listings(engine._listings),
        "orders": dump_orders(engine._orders),
    }


def dump_ledger(ledger: Ledger) -> dict[str, object]:
    return {
        "fees_cents": ledger.fees_cents,
        "deposited_cents": ledger.deposited_cents,
        "accounts": {
            user_id: [account.available, account.reserved]
            for user_id, account in sorted(ledger.accounts.items())
        },
        "shares": {
            market_id: {
                "open_interest": shares.open_interest,
                **{
                    outcome.value: {
                        user_id: _holding(holding)
                        for user_id, holding in sorted(shares.of(outcome).items())
                        if holding.qty or holding.realized
                    }
                    for outcome in Outcome
                },
            }
            for market_id, shares in sorted(ledger.markets.items())
        },
    }


def dump_listings(listings: Listings) -> dict[str, object]:
    return {
        "companies": {
            project_id: [company.listing, company.archived]
            for project_id, company in sorted(listings.companies.items())
        },
        "events": {
            ticker: [event.listing, event.status, [m.listing.market_id for m in event.markets]]
            for ticker, event in sorted(listings.events.items())
        },
        "markets": {
            market_id: _market(market) for market_id, market in sorted(listings.markets.items())
        },
    }


def dump_orders(orders: Orders) -> dict[str, object]:
    return {
        order.order_id: [
            order.state(),
            order.request,
            str(order.fees),
            order.locked,
            order.spent,
            order.ended_by_cancel,
        ]
        for order in everything(orders)
    }


def everything(orders: Orders) -> Iterator[Order]:
    """Every order by the text of its id."""
    for order_id in sorted([*orders.resting, *map(OrderId, map(str, orders.ended))]):
        order = orders.get(order_id)
        assert order is not None
        yield order


def _holding(holding: Holding) -> list[int]:
    return [holding.qty, holding.locked, holding.cost_basis, holding.realized]


def _market(market: ListedMarket) -> list[object]:
    halves = [
        [[level.price, [order.order_id for order in level]] for level in half.levels()]
        for half in (market.book.bids, market.book.asks)
    ]
    return [market.listing, market.state, market.winner, *halves]
