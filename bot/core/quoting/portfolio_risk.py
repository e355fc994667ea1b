"""What the events of the series may lose, and what the limits leave each of them beside the
others.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from bot.core.account.reconciler import AccountReconciler
from bot.core.orders.manager import OrderManager
from bot.core.orders.order import OwnOrder
from bot.core.planning.actions import CreateAction
from bot.core.quoting.event_quoter import EventQuoter, MarketQuoter
from bot.core.risk.buying_power import AccountRisk
from bot.core.risk.effective_limits import (
    bounds_of,
    event_limit_cents,
    limits_in_force,
    series_loss_cents,
)
from bot.core.risk.exposure import Bounds, Exposure
from bot.core.risk.trim import QuoteTrimmer, Trim
from bot.core.settings import RiskSettings
from bot.strategy.api import Resting
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Cents, Qty
from venue.wire.names import MarketId
from venue.wire.requests import Amend

TOGETHER_NS: Final = 15 * NS_PER_SECOND
"""So long a series whose books are open waits for those of the others, and then quotes."""


class PortfolioRisk:
    """The exposures of all events, kept and brought up to date rung by rung.

    account: shared with the traders of other series on it; member: ours there.
    is_together: our books are open, and for those of others is waited no more.
    """

    def __init__(
        self,
        risk: RiskSettings,
        desk: OrderManager,
        ledgers: AccountReconciler,
        ladders: Sequence[EventQuoter],
        rungs: Mapping[MarketId, MarketQuoter],
        account: AccountRisk | None = None,
    ) -> None:
        """account: None where ours is the only series on it."""
        self._opened_ns: int | None = None
        self.is_together = False
        self._awaits_others = False  # then nobody knows what they may lose
        self._limits = limits_in_force(risk)
        self._desk = desk
        self._ledgers = ledgers
        self._ladders = ladders
        self._rungs = rungs
        self._exposures: dict[str, Exposure] = {}
        self._booked_version = 0  # of the portfolio that they were made of
        self._cutters: dict[str, QuoteTrimmer] = {}
        self.account = account or AccountRisk()
        self.member = self.account.join(lambda: self.worst_case_cents)
        self._loss_max_cents = Cents(0)
        # By event: what the other series might lose when it was cut last.
        self._elsewhere: dict[str, Cents] = {}

    def reconfigure(self, risk: RiskSettings) -> None:
        """Hold to other limits."""
        self._limits = limits_in_force(risk)
        self._cutters.clear()

    def forget(self, ladder: EventQuoter) -> None:
        """An event of which nothing is left."""
        self._exposures.pop(ladder.event.event_ticker, None)
        self._cutters.pop(ladder.event.event_ticker, None)
        self._elsewhere.pop(ladder.event.event_ticker, None)

    def opened(self, now_ns: int) -> None:
        """Our books are open."""
        self._opened_ns = now_ns
        self.account.opened(self.member)

    def await_others(self, now_ns: int) -> bool:
        """Whether the books of ours are open, and those of another series are still to be: until
        then what ours may lose does not grow."""
        if self._opened_ns is not None and not self.is_together:
            is_late = now_ns >= self._opened_ns + TOGETHER_NS
            self.is_together = is_late or self.account.all_opened
            if self._awaits_others and self.is_together:
                for ladder in self._ladders:  # what was cut may be more now, on a still book, too
                    ladder.dirty = True
            self._awaits_others = not self.is_together
        return self._awaits_others

    def anew(self, ladder: EventQuoter) -> None:
        """What an event may lose is to be reckoned from what is held, from nothing."""
        self._exposures.pop(ladder.event.event_ticker, None)
        ladder.unweighed = True

    def _follow_books(self) -> None:
        """Booked cash or shares changed: exposures are made from nothing."""
        self._booked_version = self._ledgers.book.version
        for each in self._ladders:
            self.anew(each)

    def _held(self, ladder: EventQuoter) -> Exposure:
        """What the event may lose by what is held alone."""
        ids = [rung.market_id for rung in ladder.rungs]
        return Exposure(
            [rung.terms for rung in ladder.rungs],
            self._ledgers.event_cash_cents(ladder.event.event_ticker, ids),
            [self._ledgers.holdings(market_id) for market_id in ids],
        )

    def exposure(self, ladder: EventQuoter) -> Exposure:
        """What an event may lose now, everything that may be live counted.

        Kept, and brought up to date rung by rung; not to be changed by the caller.
        """
        if self._booked_version != self._ledgers.book.version:
            self._follow_books()
        exposure = self._exposures.get(ticker := ladder.event.event_ticker)
        if exposure is not None and not ladder.unweighed:
            return exposure
        ladder.unweighed = False
        ladder.worst_cents = None
        stale = [rung for rung in ladder.rungs if not rung.weighed]
        if exposure is None or any(
            rung.held != self._ledgers.held(rung.market_id) for rung in stale
        ):
            exposure = self._exposures[ticker] = self._held(ladder)
            for rung in ladder.rungs:
                rung.held = self._ledgers.held(rung.market_id)
                if rung.weighed:
                    exposure.replace((), rung.counted)
                else:
                    rung.counted = ()
        for rung in stale:
            live = tuple([own.exposure(own.amend) for own in self._desk.live(rung.market_id)])
            exposure.replace(rung.counted, live)
            rung.counted = live
            rung.weighed = True
        return exposure

    def worst_cents(self, ladder: EventQuoter) -> Cents:
        """The worst case of an event now: below zero is a loss."""
        if self._booked_version != self._ledgers.book.version:
            self._follow_books()
        if ladder.unweighed or ladder.worst_cents is None:
            ladder.worst_cents = self.exposure(ladder).worst_cents
        return ladder.worst_cents

    @property
    def worst_case_cents(self) -> Cents:
        """What the events may lose together now, as of everything sent so far."""
        return series_loss_cents([self.worst_cents(each) for each in self._ladders])

    def weigh(self) -> None:
        """Orders have left: what the events may lose together may be more than ever. What answers
        and fills leave of it is no more."""
        self._loss_max_cents = self.worst_case_max_cents

    @property
    def worst_case_max_cents(self) -> Cents:
        """The most that it ever was."""
        return max(self._loss_max_cents, self.worst_case_cents)

    def loss_limit_cents(self, ladder: EventQuoter, *, wanted: bool = False) -> Cents:
        """What this event may lose: its own limit, and what series and account have left beside
        others. wanted: those of ours count as they are wanted, too, where that is worse."""
        worst = self._worst_wanted if wanted else self.worst_cents
        others = series_loss_cents([worst(each) for each in self._ladders if each is not ladder])
        return event_limit_cents(self._limits, others, self._elsewhere_cents())

    def _elsewhere_cents(self) -> Cents:
        """What the other series of the account may lose now; all of it while that is not known."""
        elsewhere = self.account.others_loss_cents(self.member)
        if self._awaits_others:
            rest = self._limits.account_loss_cents - self.worst_case_cents
            elsewhere = Cents(max(elsewhere, rest))
        return elsewhere

    def bounds(self, ladder: EventQuoter) -> Bounds:
        """What this event may come to now, beside everything else that may be live."""
        resting = sum(
            self.exposure(other).resting_cents for other in self._ladders if other is not ladder
        )
        return bounds_of(self._limits, self.loss_limit_cents(ladder), Cents(resting))

    def admits_create(self, rung: MarketQuoter, wish: CreateAction, now_ns: int) -> Qty:
        """Shares of a wanted order that every limit admits now; 0 when none."""
        if rung.side_parked(wish.book_side, now_ns):
            return Qty(0)
        candidate = rung.live(wish, min(wish.qty, self._limits.order_qty))
        return self.exposure(rung.ladder).largest(candidate, self.bounds(rung.ladder))

    def admits_amend(self, own: OwnOrder, amend: Amend) -> bool:
        """Whether every limit admits a change, counted at its worst while it is undecided."""
        ladder = self._rungs[own.market_id].ladder
        exposure = self.exposure(ladder)
        before, after = own.exposure(own.amend), own.exposure(amend)
        bounds = self.bounds(ladder)
        exposure.remove(before)
        room = exposure.largest(after, bounds)
        exposure.add(before)
        return room >= after.qty_max

    def cut(self, ladder: EventQuoter, quotes: Resting, loss_cents: Cents) -> Resting:
        """The wanted quotes that the limits admit next to the other events. loss_cents: its own.

        Of what rests, the others are counted as they are wanted, not as they stand at the moment:
        else two events that share that limit would follow each other's every cancel, for ever.
        Of what they may lose it is both: what both want of the same room, both would give back.
        """
        cutter = self._cutters.get(ladder.event.event_ticker)
        if cutter is None:
            cutter = self._cutters[ladder.event.event_ticker] = QuoteTrimmer(self._limits)
        resting = self._others_resting_wanted(ladder)
        bounds = bounds_of(self._limits, loss_cents, resting)
        left = cutter.cut(quotes, self.exposure(ladder), bounds)
        alone_cents = event_limit_cents(self._limits, Cents(0))
        if len(self._ladders) > 1 and (resting or loss_cents < alone_cents):
            self._elsewhere[ladder.event.event_ticker] = self._elsewhere_cents()
            ladder.is_cut = cutter.gains_by(alone_cents, self._limits.resting_cents)
        return left

    def leaves_more(self, ladder: EventQuoter) -> bool:
        """True if the other events leave one that `is_cut` more than when its quotes were cut: of
        what they give back it hears nothing else.

        What another series gives back counts once it is decided for another reason: each would
        follow every order that the other replaces, for ever.
        """
        ticker = ladder.event.event_ticker
        others = [self._worst_wanted(each) for each in self._ladders if each is not ladder]
        elsewhere = max(self._elsewhere_cents(), self._elsewhere[ticker])
        loss_cents = event_limit_cents(self._limits, series_loss_cents(others), elsewhere)
        bounds = bounds_of(self._limits, loss_cents, self._others_resting_wanted(ladder))
        return self._cutters[ticker].gains_by(bounds.loss_cents, bounds.resting_cents)

    def cuts(self, ladder: EventQuoter) -> tuple[Trim, ...]:
        """What the limits took off the quotes of an event when it was decided last."""
        cutter = self._cutters.get(ladder.event.event_ticker)
        return () if cutter is None else cutter.cuts

    def _others_resting_wanted(self, ladder: EventQuoter) -> Cents:
        """What the wanted quotes of all other events would lose."""
        others = [self._resting_wanted(each) for each in self._ladders if each is not ladder]
        return Cents(sum(others))

    def _resting_wanted(self, ladder: EventQuoter) -> Cents:
        """What the wanted quotes of an event would lose, both sides; without any, what is live."""
        wanted = self._wanted(ladder)
        return (self.exposure(ladder) if wanted is None else wanted).resting_cents

    def _worst_wanted(self, ladder: EventQuoter) -> Cents:
        """The worst case of an event now, or once all that is wanted rests, if that is worse."""
        worst, wanted = self.worst_cents(ladder), self._wanted(ladder)
        return worst if wanted is None else min(worst, wanted.worst_cents)

    def _wanted(self, ladder: EventQuoter) -> QuoteTrimmer | None:
        """What cut the wanted quotes of an event; None where nothing is wanted."""
        some = any(rung.wanted for rung in ladder.rungs)
        return self._cutters.get(ladder.event.event_ticker) if some else None
