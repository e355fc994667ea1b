"""The engine's state as plain values, named and sorted, for comparisons. Exact fees are text: a
long life of amends takes them beyond 64 bits."""

from venue.engine.ledger import Holding, Ledger
from venue.engine.listings import Listings
from venue.engine.order import ListedMarket
from venue.engine.orders import Orders
from venue.wire.money import Outcome


def dump_ledger(ledger: Ledger) -> dict[str, object]:
    """Totals; [available, reserved] per user; open interest per market."""
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
    """Companies, events and markets as listed and as they stand; books as queues of order ids."""
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
    """Every order there ever was, with what its state does not show."""
    return {
        order.order_id: [
            order.state(),
            order.request,
            str(order.fees),
            order.locked,
            order.spent,
            order.ended_by_cancel,
        ]
        for order in orders.everything()
    }


def _holding(holding: Holding) -> list[int]:
    return [holding.qty, holding.locked, holding.cost_basis, holding.realized]


def _market(market: ListedMarket) -> list[object]:
    halves = [
        [[level.price, [order.order_id for order in level]] for level in half.levels()]
        for half in (market.book.bids, market.book.asks)
    ]
    return [market.listing, market.state, market.winner, *halves]
