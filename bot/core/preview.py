"""The trader's next requests, and why. For people alone: nothing here sends.

A run whose plan was read takes the same course as one whose plan was not.
"""

import enum
from collections.abc import Iterator
from typing import Final

import msgspec

from bot.core.build_report import TraderState, limits_used
from bot.core.execution.executor import OrderExecutor
from bot.core.orders.order import OwnOrder, State
from bot.core.planning.actions import Action, CancelAction, CreateAction
from bot.core.planning.diff import WorkingOrders
from bot.core.quoting.event_quoter import EventQuoter, MarketQuoter
from bot.core.report import BreakerReport, Phase
from bot.core.risk.buying_power import BuyingPower
from bot.core.risk.exposure import Bounds, Exposure, OpenExposure
from bot.core.risk.trim import Trim
from bot.core.trading_state import Restriction, strictest_first
from bot.strategy.api import Levels, Quote, Take
from venue.wire.limits import QTY_MAX
from venue.wire.money import BookSide, Price, Qty, Side, canonical
from venue.wire.names import ClientOrderId, MarketId, OrderId, Ticker


class Act(enum.StrEnum):
    """What the plan does with an order."""

    CREATE = "create"
    AMEND = "amend"
    CANCEL = "cancel"
    KEEP = "keep"
    WAIT = "wait"  # a write about it is in flight, or has no clear answer yet


class Room(msgspec.Struct, frozen=True):
    """The largest order that one limit by itself still admits, >= 0."""

    limit: str
    qty: Qty


class PlannedAction(msgspec.Struct, frozen=True, kw_only=True):
    """The plan for one order, canonical YES.

    price, qty: as they shall be, of a cancel as they are. from_price, from_qty: of an amend, as
    they are. value_cents: of the request, by which those that wait for a token are ranked; turn:
    its place in the order in which they would leave, from 1; 0 where none is wanted. room: of a
    create or an amend, the limit that leaves least, and how many shares of it. held_back: what
    keeps the request from leaving now; empty where nothing does, and where none is wanted.
    """

    act: Act
    side: BookSide
    price: Price
    qty: int
    why: str
    client_order_id: ClientOrderId | None = None
    order_id: OrderId | None = None
    from_price: Price | None = None
    from_qty: int | None = None
    value_cents: float = 0.0
    turn: int = 0
    room: Room | None = None
    held_back: str = ""


class RungPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One rung. bids, asks: the newest book, our own orders included. frame_ns: its time by the
    venue's clock. confirmed_ns: when a frame or a read last showed it, by our clock.
    lean_cents: the middle of the two best wanted quotes less the fair value; None unless both sides
    are wanted. wanted: the strategy's quotes within the limits; cuts: what the limits took off.
    blocked: why nothing can be quoted, else empty. takes: of the strategy's last answer, what was
    to trade at once; it left then, or never will. quoted_by: the setting that quotes it."""

    market_id: MarketId
    ticker: Ticker
    blocked: str
    frame_ns: int | None
    confirmed_ns: int
    bids: Levels
    asks: Levels
    fair_cents: float | None
    fair_sd_cents: float | None
    lean_cents: float | None
    net_qty: int
    wanted: tuple[Quote, ...]
    cuts: tuple[Trim, ...]
    intentions: tuple[PlannedAction, ...]
    takes: tuple[Take, ...] = ()
    quoted_by: str = ""


class EventPlan(msgspec.Struct, frozen=True):
    """One event. pulled: why its strategy is not asked at the moment, else empty. limits: how much
    of each the live orders and inventory use up."""

    event_ticker: Ticker
    strategy: str
    pulled: str
    limits: tuple[BreakerReport, ...]
    rungs: tuple[RungPlan, ...]


class TraderPlan(msgspec.Struct, frozen=True, kw_only=True):
    """All of it. withheld: why no new order may leave at all, else empty. restrictions: of the
    whole series, the strictest first. tokens: in the bucket of the trade key;
    `reserve` of them are for cancels and recovery alone."""

    now_ns: int
    phase: Phase
    series_ticker: Ticker
    withheld: str
    restrictions: tuple[Restriction, ...]
    tokens: int
    reserve: int
    in_flight: int
    events: tuple[EventPlan, ...]

    @property
    def requests(self) -> list[tuple[RungPlan, PlannedAction]]:
        """The requests wanted, held back or not, in the order of their turns."""
        rows = [
            (rung, each)
            for event in self.events
            for rung in event.rungs
            for each in rung.intentions
            if each.turn
        ]
        return sorted(rows, key=lambda row: row[1].turn)


def rooms(
    exposure: Exposure,
    candidate: OpenExposure,
    bounds: Bounds,
    cash_qty: Qty | None = None,
    instead_of: OwnOrder | None = None,
) -> tuple[Room, ...]:
    """What each limit of an event by itself leaves of an order, the tightest first. cash_qty: what
    the free cash leaves of it. instead_of: the order that it is a change of."""
    counted = None if instead_of is None else instead_of.exposure(instead_of.amend)
    found = [
        Room(name, Qty(max(0, min(candidate.qty_max, room))))
        for name, room in exposure.rooms(candidate, bounds, counted)._asdict().items()
    ]
    if cash_qty is not None:
        found.append(Room("cash", cash_qty))
    return tuple(sorted(found, key=lambda room: room.qty))


def affordable(
    cash: BuyingPower, rung: MarketQuoter, candidate: OpenExposure, own: OwnOrder | None
) -> Qty:
    """The largest such order, up to the candidate's size, that the free cash pays. own: the order
    that it is a change of."""
    if candidate.side is not Side.BUY:
        return candidate.qty_max
    rate = max(rung.maker_rate, rung.taker_rate)
    return Qty(cash.affordable(rate, candidate.price, candidate.qty_max, own))


SHOWN_LEVELS: Final = 3
"""Of each side of a book."""


def plan_of(trader: TraderState, sending: OrderExecutor, reserve: int, now_ns: int) -> TraderPlan:
    preview = _Preview(trader, sending, now_ns)
    return TraderPlan(
        now_ns=now_ns,
        phase=trader.phase,
        series_ticker=trader.reconfiguration.settings.series_ticker,
        withheld=trader.withheld,
        restrictions=tuple(strictest_first(trader.restrictions)),
        tokens=trader.out.purse.tokens(now_ns),
        reserve=reserve,
        in_flight=len(trader.out.pending),
        events=tuple(preview.event(ladder) for ladder in trader.quoting.ladders),
    )


def why_pulled(ladder: EventQuoter, now_ns: int) -> str:
    """Why the strategy of an event is not asked at `now_ns`; empty when it is."""
    return next((each.why for each in ladder.restrictions(now_ns) if each.state.is_halted), "")


class _Preview:
    """The plan of one instant, drawn rung by rung."""

    def __init__(self, trader: TraderState, sending: OrderExecutor, now_ns: int) -> None:
        self._desk = trader.desk
        self._ledgers = trader.ledgers
        self._weighing = trader.quoting.weighing
        self._sending = sending
        self._withheld = trader.withheld
        self._now_ns = now_ns
        self._wishes = [
            (rung, wish)
            for ladder in trader.quoting.ladders
            for rung in ladder.rungs
            for wish in self._foreseen(rung)
        ]
        self._turns = sending.turns(self._wishes, now_ns)

    def _foreseen(self, rung: MarketQuoter) -> tuple[Action, ...]:
        """The changes that would be planned now on a rung."""
        orders = self._desk.live(rung.market_id)
        yes_qty, no_qty = self._ledgers.holdings(rung.market_id)
        return rung.foreseen(WorkingOrders(orders, yes_qty, no_qty), self._now_ns)

    def event(self, ladder: EventQuoter) -> EventPlan:
        exposure, bounds = self._weighing.exposure(ladder), self._weighing.bounds(ladder)
        pulled = why_pulled(ladder, self._now_ns)
        return EventPlan(
            ladder.event.event_ticker,
            ladder.health.name,
            pulled,
            limits_used(exposure, bounds),
            tuple(self._rung(rung, pulled) for rung in ladder.rungs),
        )

    def _rung(self, rung: MarketQuoter, pulled: str) -> RungPlan:
        yes_qty, no_qty = self._ledgers.holdings(rung.market_id)
        fair, cuts = rung.fair, self._weighing.trims(rung.ladder)
        answered = {} if pulled or rung.blocked else rung.ladder.takes
        return RungPlan(
            market_id=rung.market_id,
            ticker=rung.market.ticker,
            blocked=rung.blocked,
            frame_ns=rung.state.ts_ns,
            confirmed_ns=rung.state.confirmed_ns,
            bids=rung.state.bids[:SHOWN_LEVELS],
            asks=rung.state.asks[:SHOWN_LEVELS],
            fair_cents=None if fair is None else fair.value_cents,
            fair_sd_cents=None if fair is None else fair.sd_cents,
            lean_cents=_lean_cents(rung),
            net_qty=yes_qty - no_qty,
            wanted=rung.wanted,
            cuts=tuple(cut for cut in cuts if cut.market_id == rung.market_id),
            intentions=tuple(self._intentions(rung)),
            takes=answered.get(rung.market_id, ()),
            quoted_by=rung.ladder.quoted_by(rung.market_id),
        )

    def _intentions(self, rung: MarketQuoter) -> Iterator[PlannedAction]:
        """Of every order there is, and of those that are wanted."""
        wishes = [wish for place, wish in self._wishes if place is rung]
        about = {id(wish.order): wish for wish in wishes if not isinstance(wish, CreateAction)}
        for own in self._desk.live(rung.market_id):
            wish = about.get(id(own))
            yield _left(own) if wish is None else self._wished(rung, wish)
        for each in wishes:
            if isinstance(each, CreateAction):
                yield self._wished(rung, each)

    def _wished(self, rung: MarketQuoter, wish: Action) -> PlannedAction:
        held_back = self._sending.held_back(rung, wish, self._now_ns)
        turn = self._turns[id(wish)]
        if isinstance(wish, CreateAction):
            return PlannedAction(
                act=Act.CREATE,
                side=wish.book_side,
                price=wish.price,
                qty=wish.qty,
                why=wish.why,
                value_cents=wish.value,
                turn=turn,
                room=self._room(rung, rung.live(wish, QTY_MAX)),
                held_back=self._withheld or held_back,
            )
        own = wish.order
        cancel = msgspec.structs.replace(
            _left(own),
            act=Act.CANCEL,
            qty=own.remaining,
            why=wish.why,
            value_cents=wish.value,
            turn=turn,
            held_back=held_back,
        )
        if isinstance(wish, CancelAction):
            return cancel
        amend = wish.amend
        own_price = own.price if amend.price is None else amend.price
        wanted = OpenExposure(own.market_id, own.outcome, own.side, own_price, Qty(QTY_MAX))
        return msgspec.structs.replace(
            cancel,
            act=Act.AMEND,
            price=canonical(own.outcome, own_price),
            qty=own.remaining if amend.qty is None else amend.qty,
            from_price=own.yes_price,
            from_qty=own.remaining,
            room=self._room(rung, wanted, own),
            held_back=self._withheld or held_back,
        )

    def _room(
        self, rung: MarketQuoter, candidate: OpenExposure, own: OwnOrder | None = None
    ) -> Room:
        cash_qty = affordable(self._weighing.account.cash, rung, candidate, own)
        exposure, bounds = self._weighing.exposure(rung.ladder), self._weighing.bounds(rung.ladder)
        return rooms(exposure, candidate, bounds, cash_qty, own)[0]


def _lean_cents(rung: MarketQuoter) -> float | None:
    bids = [quote.price for quote in rung.wanted if quote.side is BookSide.BID]
    asks = [quote.price for quote in rung.wanted if quote.side is BookSide.ASK]
    if rung.fair is None or not bids or not asks:
        return None
    return (max(bids) + min(asks)) / 2 - rung.fair.value_cents


def _left(own: OwnOrder) -> PlannedAction:
    """An order without a wish: it stays, or a write about it is in flight."""
    rests = own.state is State.OPEN
    return PlannedAction(
        act=Act.KEEP if rests else Act.WAIT,
        side=own.book_side,
        price=own.yes_price,
        qty=own.remaining if rests else own.max_fillable,
        why=own.why,
        client_order_id=own.client_order_id,
        order_id=own.order_id,
        held_back="" if rests else own.state,
    )
