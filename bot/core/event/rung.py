"""One rung of the series: what is wanted there, of what is believed of it, and what is planned.

Nothing here sends.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from bot.core.desk.desk import Desk
from bot.core.desk.shelf import NEVER_NS
from bot.core.event.believed import BelievedRung
from bot.core.limits.risk import Live
from bot.core.orders.order import State
from bot.core.orders.tag import Tag, tag_of
from bot.core.plan.place import Worth, worth_of
from bot.core.plan.reconcile import plan_sides
from bot.core.plan.stand import Ours
from bot.core.plan.steady import BySide, Steady, by_side
from bot.core.plan.wishes import WantAmend, WantCreate, Wish
from bot.core.strategy import Quote
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Cents, Price, Qty, canonical

if TYPE_CHECKING:
    from bot.core.event.room import Ladder

_BID: Final = BookSide.BID
_ASK: Final = BookSide.ASK
_OPEN: Final = State.OPEN

_DENIED_NS = NS_PER_SECOND
"""What a limit denied is asked for again this late, at the latest."""

_SHORT_NS = 10 * NS_PER_SECOND
"""So long after a limit cut an order of a side, no order there is given up to come back larger."""


class Rung(BelievedRung):
    """One rung.

    touched: its orders or wanted quotes changed since `wishes` were planned. ours: its orders as
    plans found them, None once they may have changed. weighed: the exposure of its event counts
    `counted` for it, and that is what is live; `held` is what it counts as held.
    """

    __slots__ = (
        "_planned_ns",
        "_short_until_ns",
        "_steady",
        "_wanted_by_side",
        "again_ns",
        "counted",
        "denied_some",
        "held",
        "ours",
        "planned",
        "touched",
        "wanted",
        "weighed",
        "wishes",
    )

    def __init__(self, market: model.Market, ladder: "Ladder") -> None:
        super().__init__(market, ladder)
        self.wanted: tuple[Quote, ...] = ()
        self._wanted_by_side: BySide = ([], [])
        self.planned: Sequence[Quote] = ()
        self.touched = True
        self.ours: Ours | None = None
        self.wishes: tuple[Wish, ...] = ()
        self.again_ns = NEVER_NS
        self.denied_some = False
        self.weighed = False
        self.counted: tuple[Live, ...] = ()
        self.held = (Qty(0), Qty(0), Cents(0))
        self._steady = (
            Steady(_BID, ladder.pace.dwell_ns),
            Steady(_ASK, ladder.pace.dwell_ns),
        )
        self._short_until_ns: dict[BookSide, int] = {}
        self._planned_ns = 0

    # --- our orders -------------------------------------------------------------------------------

    def tag(self, side: BookSide, price: Price, why: str) -> Tag:
        """What is remembered of an order that leaves now for a canonical price."""
        return tag_of(self.planned, side, price, self.ladder.conduct.name, why)

    def live(self, wish: WantCreate, qty: int) -> Live:
        """A wanted order as the limits count it."""
        return Live(
            self.market_id,
            wish.outcome,
            wish.own_side,
            canonical(wish.outcome, wish.price),
            Qty(qty),
        )

    def is_two_sided(self, desk: Desk) -> bool:
        """Whether orders of ours rest on both sides."""
        sides = {own.side for own in desk.live(self.market_id) if own.state is _OPEN}
        return len(sides) == len(BookSide)

    def reconfigured(self) -> None:
        """The pace of its event is another one: plan anew."""
        for steady in self._steady:
            steady.last(self.ladder.pace.dwell_ns)
        self.touch()

    def touch(self) -> None:
        """Its changes are to be planned anew, and nothing that was found for them holds."""
        self.ours = None
        self.touched = self.ladder.stirred = True

    def orders_changed(self) -> None:
        """Our orders or holdings here are not what they were."""
        self.touch()
        self.weighed = False
        self.news.add(self.place)
        self.others.own_changed()
        self.recent.own_changed()
        self.ladder.dirty = True
        self.ladder.eased()

    # --- what is wanted ---------------------------------------------------------------------------

    def want(self, quotes: tuple[Quote, ...], *, pulled: bool) -> None:
        """Make these the wanted quotes. pulled: it is not the strategy that wants nothing here."""
        if pulled:
            self.ladder.is_plain = False
            self._forget_wishes()
            self.planned = ()
        if quotes != self.wanted:
            self.wanted = quotes
            self._wanted_by_side = by_side(quotes)
            self.touched = self.ladder.stirred = True

    def _forget_wishes(self) -> None:
        for steady in self._steady:
            steady.forget()

    def took_over(self) -> None:
        """An order of before stands here: what is wanted first is taken, lest it be given up."""
        self._forget_wishes()
        self.orders_changed()

    def plan(self, ours: Ours, now_ns: int) -> None:
        """Plan the changes that turn our orders into what is wanted, flicker left out."""
        if not self._planned_ns:
            for flow in self.flows:
                flow.watched(now_ns)
        steady_bids, steady_asks = self._steady
        bids, bids_turn_ns = steady_bids.quotes(self._wanted_by_side[0], now_ns)
        asks, asks_turn_ns = steady_asks.quotes(self._wanted_by_side[1], now_ns)
        again_ns = NEVER_NS if bids_turn_ns is None else bids_turn_ns
        if asks_turn_ns is not None and asks_turn_ns < again_ns:
            again_ns = asks_turn_ns
        short = self._short(now_ns) if self._short_until_ns else {}
        if short:
            again_ns = min(again_ns, *short.values())
        pace = self.ladder.pace
        plan = plan_sides(bids, asks, ours, pace, now_ns, self.worth(now_ns), short)
        self.planned = [*bids, *asks]
        self.wishes = plan.wishes
        if plan.again_ns is not None and plan.again_ns < again_ns:
            again_ns = plan.again_ns
        self.again_ns = again_ns
        self.touched = self.denied_some = False
        self._planned_ns = now_ns

    def foreseen(self, ours: Ours, now_ns: int) -> tuple[Wish, ...]:
        """The changes that would be planned now for what was planned last; changes nothing."""
        bids, asks = by_side(self.planned)
        short = self._short(now_ns)
        return plan_sides(
            bids, asks, ours, self.ladder.pace, now_ns, self.worth(now_ns), short
        ).wishes

    def _short(self, now_ns: int) -> dict[BookSide, int]:
        """The sides on which a limit has cut an order of late, and until when that counts."""
        if not self._short_until_ns:
            return {}
        return {side: at for side, at in self._short_until_ns.items() if now_ns < at}

    def worth(self, now_ns: int) -> Worth:
        """What prices and places are worth here now; asking changes nothing."""
        ladder, fair = self.ladder, self.fair
        return worth_of(
            None if fair is None else fair.value_cents,
            self.flows,
            self.others.shown,
            self.queues,
            ladder.pace,
            ladder.seconds_left(now_ns),
            now_ns,
        )

    def denied(self, wish: Wish) -> None:
        """A limit does not admit a wish: it is made again once something the limit may hang on has
        changed, or a second is over."""
        self.wishes = tuple(each for each in self.wishes if each is not wish)
        self.denied_some = True
        self.again_ns = min(self.again_ns, self._planned_ns + _DENIED_NS)
        if not isinstance(wish, WantAmend):
            side = wish.side if isinstance(wish, WantCreate) else wish.order.side
            self._short_until_ns[side] = self._planned_ns + _SHORT_NS
        self.ladder.denied(self)
