"""What an account holder sees of their own: orders, fills, positions and balance, from events.

Memory is bounded per user: every resting order and every position, and the newest finished orders
and fills up to a number. The engine itself remembers each order for ever.

Source: interface, Resources (Order, Position, Balance, Fill); GET /orders; silences S3, S4, S5.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Final

import msgspec

from venue.core import messages
from venue.core.messages import FillBooked, OrderState, PositionChanged
from venue.read.catalog import Catalog
from venue.wire import model
from venue.wire.instant import from_ns
from venue.wire.model import RESTING, OrderStatus, ShownOutcome, ShownSide, ShownTimeInForce
from venue.wire.money import Cents, Outcome, Side
from venue.wire.names import ClientOrderId, MarketId, OrderId, Ticker, UserId
from venue.wire.requests import TimeInForce

FINISHED_ORDERS_KEPT_MIN: Final = 20_000
"""The newest finished orders of a user that reads always find."""

FILLS_KEPT_MIN: Final = 20_000
"""The newest fills of a user that are always listed."""

_OUTCOMES: Final = {outcome: ShownOutcome(outcome) for outcome in Outcome}
_SIDES: Final = {side: ShownSide(side) for side in Side}
_TIMES_IN_FORCE: Final = {tif: ShownTimeInForce(tif) for tif in TimeInForce}

_SLACK: Final = 2_000
"""Old rows are dropped this many at a time."""


class Scope(msgspec.Struct, frozen=True):
    """Rows of one market, of one event, or, both None, of all."""

    market_id: MarketId | None = None
    event_ticker: Ticker | None = None


class _Account:
    """Everything kept of one user."""

    __slots__ = (
        "balance",
        "fills",
        "fills_dropped",
        "next_place",
        "orders",
        "places",
        "positions",
        "resting",
        "resting_in",
    )

    def __init__(self) -> None:
        self.balance = model.Balance(Cents(0), Cents(0), Cents(0))
        # Place: an order's number among the user's own, in the order of sequencing.
        self.next_place = 0
        self.places: dict[OrderId, int] = {}
        self.orders: dict[int, OrderState] = {}
        self.resting: dict[int, None] = {}
        self.resting_in: dict[MarketId, dict[int, None]] = {}
        self.positions: dict[tuple[MarketId, Outcome], PositionChanged] = {}
        self.fills: list[FillBooked] = []
        self.fills_dropped = 0

    def change(self, order: OrderState) -> None:
        place = self.places.get(order.order_id)
        if place is None:
            place = self.places[order.order_id] = self.next_place
            self.next_place += 1
        self.orders[place] = order
        if order.status in RESTING:
            self.resting[place] = None
            self.resting_in.setdefault(order.market_id, {})[place] = None
        else:
            self.resting.pop(place, None)
            self.resting_in.get(order.market_id, {}).pop(place, None)
            if len(self.orders) - len(self.resting) >= FINISHED_ORDERS_KEPT_MIN + _SLACK:
                self._forget_oldest()

    def book(self, fill: FillBooked) -> None:
        self.fills.append(fill)
        if len(self.fills) >= FILLS_KEPT_MIN + _SLACK:
            del self.fills[:_SLACK]
            self.fills_dropped += _SLACK

    def _forget_oldest(self) -> None:
        finished = (place for place in self.orders if place not in self.resting)
        for place in list(islice(finished, _SLACK)):
            del self.places[self.orders.pop(place).order_id]


class AccountViews:
    """The private state of every user. An unknown user has nothing; nothing here raises."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._accounts: dict[UserId, _Account] = {}

    def apply(self, event: messages.Event) -> None:
        """Take in one event of the engine; those that do not concern accounts pass by."""
        match event:
            case messages.OrderChanged():
                self._account(event.order.user_id).change(event.order)
            case messages.FillBooked():
                self._account(event.user_id).book(event)
            case messages.PositionChanged():
                positions = self._account(event.user_id).positions
                if event.qty:
                    positions[event.market_id, event.outcome] = event
                else:
                    positions.pop((event.market_id, event.outcome), None)
            case messages.BalanceChanged():
                total = Cents(event.available_cents + event.reserved_cents)
                self._account(event.user_id).balance = model.Balance(
                    event.available_cents, event.reserved_cents, total
                )
            case messages.UserAdded():
                self._account(event.user_id)
            case _:
                pass

    def _account(self, user_id: UserId) -> _Account:
        account = self._accounts.get(user_id)
        if account is None:
            account = self._accounts[user_id] = _Account()
        return account

    def _read(self, user_id: UserId) -> _Account:
        return self._accounts.get(user_id) or _Account()

    def balance(self, user_id: UserId) -> model.Balance:
        """The user's cash."""
        return self._read(user_id).balance

    # --- orders --------------------------------------------------------------------------------

    def order(self, user_id: UserId, order_id: OrderId) -> model.Order | None:
        """One order as a read shows it; None when there is none or it is somebody else's."""
        account = self._read(user_id)
        place = account.places.get(order_id)
        return None if place is None else _read_order(account.orders[place])

    def resting_orders(self, user_id: UserId, market_id: MarketId) -> tuple[model.Order, ...]:
        """The user's orders in the resting group on one market, newest first."""
        account = self._read(user_id)
        places = reversed(account.resting_in.get(market_id, {}))
        return tuple([_read_order(account.orders[place]) for place in places])

    def orders(
        self,
        user_id: UserId,
        scope: Scope,
        statuses: frozenset[OrderStatus],
        before: int | None,
        limit: int,
    ) -> tuple[tuple[model.Order, ...], int | None]:
        """Orders of a scope in any of `statuses`, newest first, and where to go on.

        before: the place of the last row seen, None at the start. The place returned is None when
        these are the last ones. Orders made meanwhile are newer than the walk and not met by it.
        """
        account = self._read(user_id)
        rows: list[model.Order] = []
        last: int | None = None
        for place in _newest_first(account, statuses, before):
            order = account.orders[place]
            if order.status in statuses and _covers(scope, order.market_id, order.event_ticker):
                if len(rows) == limit:
                    return tuple(rows), last
                rows.append(_read_order(order))
                last = place
        return tuple(rows), None

    # --- fills and positions -------------------------------------------------------------------

    def fills(
        self,
        user_id: UserId,
        scope: Scope,
        order_id: OrderId | None,
        before: int | None,
        limit: int,
    ) -> tuple[tuple[model.Fill, ...], int | None]:
        """Fills of a scope, of one order or (None) of all, newest first; paged like `orders`."""
        account = self._read(user_id)
        dropped = account.fills_dropped
        newest = len(account.fills) if before is None else before - dropped
        rows: list[model.Fill] = []
        last: int | None = None
        for index in range(min(newest, len(account.fills)) - 1, -1, -1):
            fill = account.fills[index]
            ticker, event_ticker = self._catalog.market_tickers(fill.market_id)
            if order_id in (None, fill.order_id) and _covers(scope, fill.market_id, event_ticker):
                if len(rows) == limit:
                    return tuple(rows), last
                rows.append(_shown_fill(fill, ticker, event_ticker))
                last = index + dropped
        return tuple(rows), None

    def positions(
        self, user_id: UserId, scope: Scope, after: str, limit: int
    ) -> tuple[tuple[model.Position, ...], str | None]:
        """Positions above 0 shares (S5) of a scope by ticker and outcome, and where to go on.

        after: the place of the last row seen, empty at the start. The place returned is None when
        these are the last ones.
        """
        placed: list[tuple[str, model.Position]] = []
        for position in self._read(user_id).positions.values():
            ticker, event_ticker = self._catalog.market_tickers(position.market_id)
            place = f"{ticker} {position.outcome}"
            if place > after and _covers(scope, position.market_id, event_ticker):
                placed.append((place, _shown_position(position, ticker, event_ticker)))
        placed.sort(key=lambda row: row[0])
        rows = tuple([row for _, row in placed[:limit]])
        return rows, placed[limit - 1][0] if len(placed) > limit else None

    def market_positions(self, user_id: UserId, market_id: MarketId) -> tuple[model.Position, ...]:
        """The user's one or two positions in one market."""
        held = self._read(user_id).positions
        ticker, event_ticker = self._catalog.market_tickers(market_id)
        found = (held.get((market_id, outcome)) for outcome in Outcome)
        return tuple([_shown_position(p, ticker, event_ticker) for p in found if p is not None])


def _newest_first(
    account: _Account, statuses: frozenset[OrderStatus], before: int | None
) -> Iterator[int]:
    """Places below `before`, newest first; only resting ones where no others are asked for."""
    # Resting orders are few and asked for often; the rest may be many thousands. Both dicts are in
    # the order of their places: an order comes to rest when it is made, or never.
    places = account.resting if statuses <= RESTING else account.orders
    newest = reversed(places)
    return newest if before is None else (place for place in newest if place < before)


def _covers(scope: Scope, market_id: MarketId, event_ticker: Ticker) -> bool:
    return scope.market_id in (None, market_id) and scope.event_ticker in (None, event_ticker)


def shown_order(
    order: OrderState,
    *,
    created_ns: int,
    reserved_cents: Cents | None = None,
    client_order_id: ClientOrderId | None = None,
    spent_cents: Cents | None = None,
) -> model.Order:
    """An order as the wire shows it; what is None is left out.

    created_ns: for a read when the engine sequenced it, for the reply to a create or an amend the
    gateway's submit instant. The optional fields belong to one kind of answer each.
    Source: interface, Resources, Order.
    """
    return model.Order(
        order_id=order.order_id,
        ticker=order.ticker,
        market_id=order.market_id,
        event_ticker=order.event_ticker,
        outcome=_OUTCOMES[order.outcome],
        side=_SIDES[order.side],
        price=order.price,
        qty=order.qty,
        remaining_qty=order.remaining_qty,
        filled_qty=order.filled_qty,
        status=order.status,
        time_in_force=_TIMES_IN_FORCE[order.time_in_force],
        created_at=from_ns(created_ns),
        updated_at=from_ns(order.updated_ns),
        client_order_id=client_order_id,
        reserved_cents=reserved_cents,
        spent_cents=spent_cents,
    )


def _read_order(order: OrderState) -> model.Order:
    return shown_order(order, created_ns=order.created_ns, reserved_cents=order.reserved_cents)


def _shown_fill(fill: FillBooked, ticker: Ticker, event_ticker: Ticker) -> model.Fill:
    return model.Fill(
        fill_id=fill.fill_id,
        trade_id=fill.trade_id,
        order_id=fill.order_id,
        ticker=ticker,
        market_id=fill.market_id,
        event_ticker=event_ticker,
        outcome=_OUTCOMES[fill.outcome],
        side=_SIDES[fill.side],
        outcome_price=fill.outcome_price,
        trade_price=fill.trade_price,
        qty=fill.qty,
        fee_cents=fill.fee_cents,
        liquidity=fill.liquidity,
        created_at=from_ns(fill.at_ns),
    )


def _shown_position(
    position: PositionChanged, ticker: Ticker, event_ticker: Ticker
) -> model.Position:
    # Rounded half up (S5).
    average = (2 * position.cost_basis_cents + position.qty) // (2 * position.qty)
    return model.Position(
        ticker=ticker,
        market_id=position.market_id,
        event_ticker=event_ticker,
        outcome=_OUTCOMES[position.outcome],
        qty=position.qty,
        cost_basis=position.cost_basis_cents,
        avg_entry_price=Cents(average),
        realized_pnl=position.realized_pnl_cents,
    )
