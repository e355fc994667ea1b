"""What stands in an exchange, told as events: for somebody who joins when much has happened."""

from collections.abc import Iterator

from venue.engine.ledger import Ledger
from venue.engine.listings import ListedMarket, Listings
from venue.engine.messages import (
    BalanceChanged,
    CompanyArchived,
    CompanyListed,
    Event,
    EventListed,
    LevelChanged,
    MarketListed,
    MarketStateChanged,
    OrderChanged,
    PositionChanged,
    VenueStateChanged,
)
from venue.wire.model import MarketState, VenueState
from venue.wire.money import BookSide, Outcome, Qty


def standing_events(
    ledger: Ledger, listings: Listings, venue_state: VenueState, now_ns: int
) -> Iterator[Event]:
    """Companies, events, markets and their states, books, resting orders, positions, balances.

    In an order in which each names only what came before it; all of them at `now_ns`. Orders of
    one queue come oldest first.
    """
    for company in listings.companies.values():
        yield CompanyListed(now_ns, company.listing)
        if company.archived:
            yield CompanyArchived(now_ns, company.listing.project_id)
    for event in listings.events.values():
        yield EventListed(now_ns, event.listing)
    for market in listings.markets_by_number:
        yield from _market(market, now_ns)
    yield VenueStateChanged(now_ns, venue_state)
    for account in ledger.accounts_by_number:
        yield BalanceChanged(now_ns, account.user_id, account.available, account.reserved)


def _market(market: ListedMarket, now_ns: int) -> Iterator[Event]:
    market_id = market.listing.market_id
    yield MarketListed(now_ns, market.listing)
    if market.state is not MarketState.ACTIVE:
        yield MarketStateChanged(now_ns, market_id, market.state)
    for side in BookSide:
        for level in market.book.half(side).levels():
            yield LevelChanged(now_ns, market_id, side, level.price, Qty(level.size))
            for order in level:
                yield OrderChanged(now_ns, order.state())
    for outcome in Outcome:
        for holding in market.shares.of(outcome).values():
            yield PositionChanged(
                now_ns,
                holding.user_id,
                market_id,
                outcome,
                holding.qty,
                holding.cost_basis,
                holding.realized,
            )
