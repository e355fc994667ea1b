"""What an account holder sees of their own, from events. Every order and fill there was can be
read; finished ones cost a few hundred bytes each. Readings: docs/assumptions.md#S4, #S5."""

from bisect import bisect_left, bisect_right, insort
from typing import Final

import msgspec

from venue.engine import messages
from venue.engine.messages import FillBooked, OrderState, PositionChanged
from venue.views.catalog import Catalog, EventTaker
from venue.views.fills import FillRow, FillsSnapshot, FillTable
from venue.views.orders import OrdersSnapshot, OrderTable
from venue.views.packed import page
from venue.wire import model
from venue.wire.instant import from_ns
from venue.wire.model import RESTING, OrderStatus, ShownOutcome, ShownSide, ShownTimeInForce
from venue.wire.money import Cents, Outcome, Side
from venue.wire.names import ClientOrderId, MarketId, OrderId, Ticker, UserId
from venue.wire.requests import TimeInForce

_OUTCOMES: Final = {outcome: ShownOutcome(outcome) for outcome in Outcome}
_SIDES: Final = {side: ShownSide(side) for side in Side}
_TIMES_IN_FORCE: Final = {tif: ShownTimeInForce(tif) for tif in TimeInForce}

_FILLS_SHOWN_MAX: Final = 10_000
"""Fills kept as they are shown, of all users together: a few megabytes."""


class Scope(msgspec.Struct, frozen=True):
    """Rows of one market, of one event, or, both None, of all."""

    market_id: MarketId | None = None
    event_ticker: Ticker | None = None


class AccountSnapshot(msgspec.Struct, frozen=True):
    user_id: UserId
    balance: model.Balance
    positions: tuple[PositionChanged, ...]
    orders: OrdersSnapshot
    fills: FillsSnapshot


class KeptOrders:
    """Orders as reads show them, as of one instant. To keep one takes a fifteenth of the time to
    make it: others can be served in between."""

    def __init__(self, table: OrderTable, kept: list[bytes]) -> None:
        self._table = table
        self._kept = kept

    def __len__(self) -> int:
        return len(self._kept)

    def rows(self, first: int, count: int) -> tuple[model.Order, ...]:
        """At most so many of them, from this place (0 and up) on."""
        kept = self._kept[first : first + count]
        return tuple([_read_order(self._table.kept_order(each)) for each in kept])


class _AccountView(msgspec.Struct):
    """Everything kept of one user. positions: above 0 shares, by place; places: theirs, sorted."""

    balance: model.Balance
    positions: dict[str, PositionChanged]
    places: list[str]
    orders: OrderTable
    fills: FillTable


class AccountViews(EventTaker):
    """The private state of every user. An unknown user has nothing; nothing here raises."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._accounts: dict[UserId, _AccountView] = {}
        self._shown_fills: dict[tuple[UserId, int], model.Fill] = {}
        self.takers = {
            messages.OrderChanged: self._change_order,
            messages.FillBooked: self._book,
            messages.PositionChanged: self._change_position,
            messages.BalanceChanged: self._change_balance,
            messages.UserAdded: self._add_user,
        }

    @classmethod
    def restored(cls, catalog: Catalog, snapshot: tuple[AccountSnapshot, ...]) -> "AccountViews":
        views = cls(catalog)
        for kept in snapshot:
            positions = {
                views._place(position.market_id, position.outcome): position
                for position in kept.positions
            }
            views._accounts[kept.user_id] = _AccountView(
                kept.balance,
                positions,
                sorted(positions),
                OrderTable.from_rows(catalog, kept.user_id, kept.orders),
                FillTable.from_rows(kept.fills),
            )
        return views

    def snapshot(self) -> tuple[AccountSnapshot, ...]:
        return tuple(
            [
                AccountSnapshot(
                    user_id,
                    account.balance,
                    tuple(account.positions.values()),
                    account.orders.to_rows(),
                    account.fills.to_rows(),
                )
                for user_id, account in self._accounts.items()
            ]
        )

    def _change_order(self, event: messages.OrderChanged) -> None:
        self._account(event.order.user_id).orders.change(event.order)

    def _change_position(self, event: PositionChanged) -> None:
        account = self._account(event.user_id)
        place = self._place(event.market_id, event.outcome)
        if event.qty:
            if place not in account.positions:
                insort(account.places, place)
            account.positions[place] = event
        elif account.positions.pop(place, None) is not None:
            del account.places[bisect_left(account.places, place)]

    def _place(self, market_id: MarketId, outcome: Outcome) -> str:
        return f"{self._catalog.market_tickers(market_id)[0]} {outcome}"

    def _change_balance(self, event: messages.BalanceChanged) -> None:
        total = Cents(event.available_cents + event.reserved_cents)
        self._account(event.user_id).balance = model.Balance(
            event.available_cents, event.reserved_cents, total
        )

    def _add_user(self, event: messages.UserAdded) -> None:
        self._account(event.user_id)

    def _book(self, fill: FillBooked) -> None:
        account = self._account(fill.user_id)
        previous = account.orders.swap_newest_fill(fill.order_id, len(account.fills))
        account.fills.append(fill, self._catalog.market_number(fill.market_id), previous)

    def _account(self, user_id: UserId) -> _AccountView:
        account = self._accounts.get(user_id)
        if account is None:
            account = self._accounts[user_id] = self._empty(user_id)
        return account

    def _read(self, user_id: UserId) -> _AccountView:
        return self._accounts.get(user_id) or self._empty(user_id)

    def _empty(self, user_id: UserId) -> _AccountView:
        balance = model.Balance(Cents(0), Cents(0), Cents(0))
        return _AccountView(balance, {}, [], OrderTable(self._catalog, user_id), FillTable())

    def _markets(self, scope: Scope) -> tuple[int, ...] | None:
        """The numbers of the markets of a scope; None for all."""
        if scope.event_ticker is not None:
            numbers = self._catalog.market_numbers(scope.event_ticker)
            if scope.market_id is not None:
                wanted = self._catalog.market_number(scope.market_id)
                return tuple([number for number in numbers if number == wanted])
            return numbers
        if scope.market_id is not None:
            return (self._catalog.market_number(scope.market_id),)
        return None

    def users(self) -> tuple[UserId, ...]:
        return tuple(self._accounts)

    def has_user(self, user_id: UserId) -> bool:
        return user_id in self._accounts

    def balance(self, user_id: UserId) -> model.Balance:
        return self._read(user_id).balance

    def order(self, user_id: UserId, order_id: OrderId) -> model.Order | None:
        """One order as a read shows it; None when there is none or it is somebody else's."""
        orders = self._read(user_id).orders
        place = orders.find(order_id)
        return None if place is None else _read_order(orders.order(place))

    def resting_orders(self, user_id: UserId, market_id: MarketId) -> KeptOrders:
        """The user's orders in the resting group on one market, newest first."""
        orders = self._read(user_id).orders
        places = orders.newest_first([self._catalog.market_number(market_id)], RESTING, None)
        return KeptOrders(orders, [orders.kept(place) for place in places])

    def orders(
        self,
        user_id: UserId,
        scope: Scope,
        statuses: frozenset[OrderStatus],
        before: int | None,
        limit: int,
    ) -> tuple[tuple[model.Order, ...], int | None]:
        """Orders of a scope in any of `statuses`, newest first, and where to go on (None: no more).
        before: the place of the last row seen, None at the start. Newer orders are not met by the
        walk."""
        orders = self._read(user_id).orders
        places, last = page(orders.newest_first(self._markets(scope), statuses, before), limit)
        return tuple([_read_order(orders.order(place)) for place in places]), last

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
        fills, markets = account.fills, self._markets(scope)
        if order_id is None:
            walk = fills.newest_first(markets, before)
        else:
            # All fills of an order are of one market: the scope holds every one of them, or none.
            newest = account.orders.newest_fill(order_id)
            if newest is None or (markets is not None and fills.row(newest).market not in markets):
                return (), None
            walk = fills.of_order(newest, before)
        places, last = page(walk, limit)
        return tuple([self._shown_fill(user_id, fills, place) for place in places]), last

    def _shown_fill(self, user_id: UserId, fills: FillTable, place: int) -> model.Fill:
        """The fill of a user at a place. It never changes, and the newest are asked for often."""
        shown = self._shown_fills.get((user_id, place))
        if shown is None:
            if len(self._shown_fills) >= _FILLS_SHOWN_MAX:
                self._shown_fills.clear()
            shown = self._shown_fills[user_id, place] = self._fill(fills.row(place))
        return shown

    def _fill(self, fill: FillRow) -> model.Fill:
        market_id = self._catalog.numbered_market(fill.market)
        ticker, event_ticker = self._catalog.market_tickers(market_id)
        return model.Fill(
            fill_id=fill.fill_id,
            trade_id=fill.trade_id,
            order_id=fill.order_id,
            ticker=ticker,
            market_id=market_id,
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

    def positions(
        self, user_id: UserId, scope: Scope, after: str, limit: int
    ) -> tuple[tuple[model.Position, ...], str | None]:
        """Positions above 0 shares (S5) by ticker and outcome, and where to go on (None: no more).
        after: the place of the last row seen, empty at the start."""
        account = self._read(user_id)
        places = account.places
        rows: list[str] = []
        for at in range(bisect_right(places, after), len(places)):
            market_id = account.positions[places[at]].market_id
            _, event_ticker = self._catalog.market_tickers(market_id)
            if _covers(scope, market_id, event_ticker):
                rows.append(places[at])
                if len(rows) > limit:
                    break
        shown = [self._shown_position(account.positions[place]) for place in rows[:limit]]
        return tuple(shown), rows[limit - 1] if len(rows) > limit else None

    def market_positions(self, user_id: UserId, market_id: MarketId) -> tuple[model.Position, ...]:
        held = self._read(user_id).positions
        found = (held.get(self._place(market_id, outcome)) for outcome in Outcome)
        return tuple([self._shown_position(position) for position in found if position is not None])

    def _shown_position(self, position: PositionChanged) -> model.Position:
        ticker, event_ticker = self._catalog.market_tickers(position.market_id)
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
    """An order as the wire shows it. created_ns: for a read when the engine sequenced it, for the
    reply to a create or an amend the gateway's submit instant."""
    # By place: by name it would take twice the time, once for every write and every row of a read.
    return model.Order(
        order.order_id,
        order.ticker,
        order.market_id,
        order.event_ticker,
        _OUTCOMES[order.outcome],
        _SIDES[order.side],
        order.price,
        order.qty,
        order.remaining_qty,
        order.filled_qty,
        order.status,
        _TIMES_IN_FORCE[order.time_in_force],
        from_ns(created_ns),
        from_ns(order.updated_ns),
        client_order_id,
        reserved_cents,
        spent_cents,
    )


def _read_order(order: OrderState) -> model.Order:
    return shown_order(order, created_ns=order.created_ns, reserved_cents=order.reserved_cents)
