"""The engine's whole state as one value, the way back, and as events. Sequences
that can reach the outside keep their order; what follows from the rest is left out."""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from venue.engine import messages as m
from venue.engine.ledger import Holding, Ledger, Shares
from venue.engine.listings import Listings
from venue.engine.order import ListedMarket, Order
from venue.engine.orders import Orders, Record, record
from venue.wire.model import EventStatus, MarketState, VenueState
from venue.wire.money import BookSide, Cents, Outcome, Qty
from venue.wire.names import OrderId, UserId

_ORDER_NUMBER_BYTES: Final = 8
_PART_BITS: Final = 8
_PART_SHIFT: Final = 8 * _ORDER_NUMBER_BYTES - _PART_BITS
_PARTS: Final = 1 << _PART_BITS


class AccountState(msgspec.Struct, frozen=True, array_like=True):
    user_id: UserId
    available: Cents
    reserved: Cents


class HoldingState(msgspec.Struct, frozen=True, array_like=True):
    """One user's inventory; account: the user's number."""

    account: int
    qty: Qty
    locked: Qty
    cost_basis: Cents
    realized: Cents


class RestingOrder(msgspec.Struct, frozen=True, array_like=True):
    order_id: OrderId
    record: Record
    remaining: Qty
    reserved: Cents
    locked: Qty


class CompanyState(msgspec.Struct, frozen=True, array_like=True):
    listing: m.ListCompany
    archived: bool


class EventState(msgspec.Struct, frozen=True, array_like=True):
    listing: m.ListEvent
    status: EventStatus


class MarketSnapshot(msgspec.Struct, frozen=True, array_like=True):
    """One market with all its shares; bids and asks in price-time order."""

    listing: m.ListMarket
    state: MarketState
    winner: Outcome | None
    open_interest: Qty
    yes: list[HoldingState]
    no: list[HoldingState]
    bids: list[RestingOrder]
    asks: list[RestingOrder]


class EngineSnapshot(msgspec.Struct, frozen=True):
    """The exchange between two commands. ended: by number, packed by `venue.engine.orders`."""

    venue_state: VenueState
    matches: int
    fees_cents: Cents
    deposited_cents: Cents
    accounts: list[AccountState]
    companies: list[CompanyState]
    events: list[EventState]
    markets: list[MarketSnapshot]
    ended: dict[int, bytes]


def digest(snapshot: EngineSnapshot) -> str:
    """SHA-256 of a snapshot, in hex. When each of the ended orders ended does not count."""
    ended = snapshot.ended
    hashed = hashlib.sha256(msgspec.msgpack.encode(msgspec.structs.replace(snapshot, ended={})))
    for number in _ascending(ended):
        # A record says itself where it ends, and the number has a fixed length.
        hashed.update(number.to_bytes(_ORDER_NUMBER_BYTES) + ended[number])
    return hashed.hexdigest()


def _ascending(numbers: Iterable[int]) -> Iterator[int]:
    """Order numbers, sorted part by part so that other threads have their turn."""
    parts: list[list[int]] = [[] for _ in range(_PARTS)]
    for number in numbers:
        parts[number >> _PART_SHIFT].append(number)
    for part in parts:
        yield from sorted(part)


def account_states(ledger: Ledger) -> list[AccountState]:
    return [
        AccountState(account.user_id, account.available, account.reserved)
        for account in ledger.accounts_by_number
    ]


def company_states(listings: Listings) -> list[CompanyState]:
    return [CompanyState(known.listing, known.archived) for known in listings.companies.values()]


def event_states(listings: Listings) -> list[EventState]:
    return [EventState(event.listing, event.status) for event in listings.events.values()]


def market_snapshots(ledger: Ledger, listings: Listings) -> list[MarketSnapshot]:
    return [_market_snapshot(ledger, market) for market in listings.markets_by_number]


def restore_ledger(ledger: Ledger, snapshot: EngineSnapshot) -> None:
    ledger.fees_cents = snapshot.fees_cents
    ledger.deposited_cents = snapshot.deposited_cents
    for state in snapshot.accounts:
        account = ledger.open_account(state.user_id)
        account.available, account.reserved = state.available, state.reserved


def restore_listings(ledger: Ledger, listings: Listings, snapshot: EngineSnapshot) -> None:
    for company in snapshot.companies:
        listings.add_company(company.listing, archived=company.archived)
    for event in snapshot.events:
        listings.add_event(event.listing).status = event.status
    for state in snapshot.markets:
        market = listings.add_market(state.listing)
        market.state, market.winner = state.state, state.winner
        market.shares.open_interest = state.open_interest
        for outcome, holdings in ((Outcome.YES, state.yes), (Outcome.NO, state.no)):
            for known in holdings:
                account = ledger.accounts_by_number[known.account]
                _restore_holding(ledger.holding(account, market.shares, outcome), known)


def restore_orders(listings: Listings, orders: Orders, snapshot: EngineSnapshot) -> None:
    orders.ended.update(snapshot.ended)
    for market, state in zip(listings.markets_by_number, snapshot.markets, strict=True):
        for half, resting in ((market.book.bids, state.bids), (market.book.asks, state.asks)):
            for known in resting:
                order = orders.unpacked(known.order_id, known.record)
                order.remaining = known.remaining
                order.reserved = known.reserved
                order.locked = known.locked
                half.add_entry(order, order.canonical_price)
                orders.settle(order)


def _market_snapshot(ledger: Ledger, market: ListedMarket) -> MarketSnapshot:
    book = market.book
    return MarketSnapshot(
        market.listing,
        market.state,
        market.winner,
        market.shares.open_interest,
        _holdings(ledger, market.shares, Outcome.YES),
        _holdings(ledger, market.shares, Outcome.NO),
        [_resting(order) for level in book.bids.levels() for order in level],
        [_resting(order) for level in book.asks.levels() for order in level],
    )


def _holdings(ledger: Ledger, shares: Shares, outcome: Outcome) -> list[HoldingState]:
    return [
        HoldingState(
            ledger.accounts[user_id].number,
            holding.qty,
            holding.locked,
            holding.cost_basis,
            holding.realized,
        )
        for user_id, holding in shares.of(outcome).items()
    ]


def _restore_holding(holding: Holding, known: HoldingState) -> None:
    holding.qty, holding.locked = known.qty, known.locked
    holding.cost_basis, holding.realized = known.cost_basis, known.realized


def _resting(order: Order) -> RestingOrder:
    return RestingOrder(
        order.order_id, record(order), order.remaining, order.reserved, order.locked
    )


def snapshot_events(
    ledger: Ledger, listings: Listings, venue_state: VenueState, now_ns: int
) -> Iterator[m.Event]:
    """The present state as events, for an observer that joins late. Each names only what came
    before it; orders of one queue come oldest first."""
    for company in listings.companies.values():
        yield m.CompanyListed(now_ns, company.listing)
        if company.archived:
            yield m.CompanyArchived(now_ns, company.listing.project_id)
    for event in listings.events.values():
        yield m.EventListed(now_ns, event.listing)
    for market in listings.markets_by_number:
        yield from _market_events(market, now_ns)
    yield m.VenueStateChanged(now_ns, venue_state)
    for account in ledger.accounts_by_number:
        yield m.BalanceChanged(now_ns, account.user_id, account.available, account.reserved)


def _market_events(market: ListedMarket, now_ns: int) -> Iterator[m.Event]:
    market_id = market.listing.market_id
    yield m.MarketListed(now_ns, market.listing)
    if market.state is not MarketState.ACTIVE:
        yield m.MarketStateChanged(now_ns, market_id, market.state)
    for side in BookSide:
        for level in market.book.half(side).levels():
            yield m.LevelChanged(now_ns, market_id, side, level.price, Qty(level.size))
            for order in level:
                yield m.OrderChanged(now_ns, order.state())
    for outcome in Outcome:
        for holding in market.shares.of(outcome).values():
            yield m.PositionChanged(
                now_ns,
                holding.user_id,
                market_id,
                outcome,
                holding.qty,
                holding.cost_basis,
                holding.realized,
            )
