"""What the strategy is told of an event: the rungs as they are now, and the fair curve over
them.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from bot.core.account.reconciler import AccountReconciler
from bot.core.fair_value.curve import Fair, FairCurve, RungInput
from bot.core.fair_value.flow import NO_FILLS, FlowModel
from bot.core.market_data.book import microprice
from bot.core.orders.manager import OrderManager
from bot.core.orders.order import OwnOrder
from bot.core.quoting.market_quoter import MarketQuoter
from bot.strategy.api import ImpliedView, Levels, RungView
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import FeeRate, Qty
from venue.wire.names import MarketId, Ticker

_LOOK_MIN_NS: Final = 2 * NS_PER_SECOND
_LOOK_MAX_NS: Final = 10 * NS_PER_SECOND
"""A quiet rung is told anew when the age of its book has doubled, within these bounds."""

_FREE: Final = FeeRate.parse("0")
_NOTHING_SEEN: Final = RungInput((), (), 0, None)
_OVER: Final = RungInput((), (), 0, None, is_over=True)
_NOTHING_TOLD: Final = RungView(
    MarketId(""),
    Ticker(""),
    None,
    (),
    (),
    None,
    None,
    Qty(0),
    Qty(0),
    _FREE,
    _FREE,
    None,
    None,
    False,
)


class ViewBuilder:
    """The rungs of one event as they were told last; the lists go by their places.

    Of other rungs, or over another curve, a new one is made, which tells every rung anew. fairs:
    what was fair; anew: the places of the rungs whose views are not those of the telling before.
    """

    def __init__(
        self, rungs: Sequence[MarketQuoter], curve: FairCurve | None, learner: FlowModel
    ) -> None:
        """curve: None where the event is none that is understood: then no value is fair."""
        self._rungs = rungs
        self._curve = curve
        self._learner = learner
        self.views = [_NOTHING_TOLD] * len(rungs)
        self._books: list[tuple[Levels, Levels]] = [((), ())] * len(rungs)
        self._due_ns = [0] * len(rungs)
        self._look_ns = [0] * len(rungs)
        self._inputs = [_NOTHING_SEEN] * len(rungs)
        self.fairs: tuple[Fair | None, ...] = (None,) * len(rungs)
        self.anew: list[int] = []
        self._news = set(range(len(rungs)))
        for place, rung in enumerate(rungs):
            rung.place, rung.news = place, self._news

    def told(
        self,
        implied: ImpliedView | None,
        seconds_left: float,
        desk: OrderManager,
        ledgers: AccountReconciler,
        now_ns: int,
    ) -> tuple[RungView, ...]:
        """The rungs as the strategy sees them; fits the fair curve on the way.

        A rung on which nothing happened is told in the very object it was told in before, for some
        seconds at most, while its fair value has hardly moved (`FairCurve`): ages lag by as much.
        """
        rungs, views, news = self._rungs, self.views, self._news
        books, inputs = self._books, self._inputs
        anew = self.anew = []
        owns: list[list[OwnOrder]] = []
        for index in [at for at, due in enumerate(self._look_ns) if now_ns >= due or at in news]:
            rung = rungs[index]
            own = desk.live(rung.market_id)
            book = rung.settled_others(own, now_ns)
            if book is books[index] and index not in news and now_ns < self._due_ns[index]:
                continue
            books[index] = book
            if rung.is_certain:
                inputs[index] = _OVER
            else:
                since_ns, traded = rung.others.changed_ns, rung.traded.mean
                confirmed_ns = rung.confirmed_ns if rung.blocked else None
                inputs[index] = RungInput(book[0], book[1], since_ns, traded, confirmed_ns)
            anew.append(index)
            owns.append(own)
        # What is news now is none the next time, but for what is then told without it.
        news.clear()
        fairs = self.fairs
        moved: Sequence[int] = ()
        if self._curve is not None:
            fairs = self.fairs = self._curve.update(inputs, implied, seconds_left, now_ns)
            moved = self._curve.moved
        for index, own in zip(anew, owns, strict=True):
            rungs[index].fair = fairs[index]
            views[index] = self._rung(index, own, ledgers, now_ns)
        for index in moved:
            fair = fairs[index]
            if fair is not rungs[index].fair:
                rungs[index].fair = fair
                views[index] = _with_fair(views[index], fair)
                anew.append(index)
        return tuple(views)

    def _rung(
        self, index: int, own: Sequence[OwnOrder], ledgers: AccountReconciler, now_ns: int
    ) -> RungView:
        """A rung as it is told now; sets when to tell it anew at the latest. own: what is live."""
        rung, curve = self._rungs[index], self._curve
        bids, asks = book = self._books[index]
        yes_qty, no_qty = ledgers.holdings(rung.market_id)
        age_ns = max(0, now_ns - rung.confirmed_ns)
        due_ns = now_ns + min(_LOOK_MAX_NS, max(_LOOK_MIN_NS, age_ns))
        volatility_cents = 0.0
        if curve is not None:
            again_ns, volatility_cents = curve.again_ns[index], curve.volatilities[index]
            due_ns = min(due_ns, again_ns)
            before = self.views[index]
            if volatility_cents != before.volatility_cents or before is _NOTHING_TOLD:
                rung.traded.volatility_cents = volatility_cents
        self._due_ns[index] = due_ns
        # A book that stands still for its own sake may be shown anew at any moment.
        self._look_ns[index] = due_ns if rung.is_settled else now_ns
        if rung.recent.has_news:
            self._news.add(index)
        fair, adverse = rung.fair, self._learner.adverse.get(rung.market_id, NO_FILLS)
        return RungView(
            rung.market_id,
            rung.market.ticker,
            rung.strike,
            bids,
            asks,
            microprice(bids, asks),
            rung.book.last_price,
            yes_qty,
            no_qty,
            rung.maker_rate,
            rung.taker_rate,
            None if fair is None else fair.value_cents,
            None if fair is None else fair.sd_cents,
            not rung.blocked,
            book_age_s=age_ns / NS_PER_SECOND,
            volatility_cents=volatility_cents,
            adverse_bid_cents=adverse.bid_cents,
            adverse_ask_cents=adverse.ask_cents,
            prints=rung.recent.prints(now_ns),
            fills=rung.recent.fills(now_ns),
            own=rung.recent.own(own, rung.queues, book, now_ns),
        )


def _with_fair(view: RungView, fair: Fair | None) -> RungView:
    """A rung told as before, but for its fair value."""
    told: RungView = msgspec.structs.replace(
        view,
        fair_cents=None if fair is None else fair.value_cents,
        fair_sd_cents=None if fair is None else fair.sd_cents,
    )
    return told
