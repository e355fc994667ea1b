"""The exposure of each event of the series, and the room that the limits leave it."""

from collections.abc import Mapping, Sequence
from typing import Final

from bot.core.account.reconciler import AccountReconciler
from bot.core.orders.manager import OrderManager
from bot.core.orders.order import OwnOrder
from bot.core.planning.actions import CreateAction
from bot.core.quoting.event_quoter import EventQuoter, MarketQuoter
from bot.core.risk.buying_power import AccountRisk
from bot.core.risk.exposure import (
    Bounds,
    Exposure,
    bounds_of,
    event_limit_cents,
    loss_cents,
    series_loss_cents,
)
from bot.core.risk.limits import limits_in_force
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
    """The exposure of each event, updated rung by rung.

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
        self._awaits_others = False  # then their exposure is unknown
        self._limits = limits_in_force(risk)
        self._desk = desk
        self._ledgers = ledgers
        self._ladders = ladders
        self._rungs = rungs
        self._exposures: dict[str, Exposure] = {}
        self._booked_version = 0  # of the portfolio that they were made of
        self._trimmers: dict[str, QuoteTrimmer] = {}
        self.account = account or AccountRisk()
        self.member = self.account.join(lambda: self.worst_case_cents)
        self._loss_max_cents = Cents(0)
        # By event: the exposure of the other series at its last cut.
        self._elsewhere: dict[str, Cents] = {}

    def reconfigure(self, risk: RiskSettings) -> None:
        """Hold to other limits."""
        self._limits = limits_in_force(risk)
        self._trimmers.clear()

    def forget(self, ladder: EventQuoter) -> None:
        """Drop an event."""
        self._exposures.pop(ladder.event.event_ticker, None)
        self._trimmers.pop(ladder.event.event_ticker, None)
        self._elsewhere.pop(ladder.event.event_ticker, None)

    def opened(self, now_ns: int) -> None:
        self._opened_ns = now_ns
        self.account.opened(self.member)

    def await_others(self, now_ns: int) -> bool:
        """True while our books are open and those of another series are not: our exposure must not
        grow until then."""
        if self._opened_ns is not None and not self.is_together:
            is_late = now_ns >= self._opened_ns + TOGETHER_NS
            self.is_together = is_late or self.account.all_opened
            if self._awaits_others and self.is_together:
                for ladder in self._ladders:  # a cut quote may be larger now, on a still book too
                    ladder.needs_decision = True
            self._awaits_others = not self.is_together
        return self._awaits_others

    def reset_exposure(self, ladder: EventQuoter) -> None:
        """Inventory changed: recompute the exposure of the event."""
        self._exposures.pop(ladder.event.event_ticker, None)
        ladder.unweighed = True

    def _follow_books(self) -> None:
        """Booked cash or inventory changed: recompute every exposure."""
        self._booked_version = self._ledgers.book.version
        for each in self._ladders:
            self.reset_exposure(each)

    def exposure(self, ladder: EventQuoter) -> Exposure:
        """The exposure of an event now, everything that may be live counted.

        Cached, and brought up to date market by market; not to be changed by the caller.
        """
        if self._booked_version != self._ledgers.book.version:
            self._follow_books()
        exposure = self._exposures.get(ticker := ladder.event.event_ticker)
        if exposure is not None and not ladder.unweighed:
            return exposure
        ladder.unweighed = False
        ladder.worst_cents = None
        ledgers, stale = self._ledgers, [rung for rung in ladder.rungs if not rung.weighed]
        if exposure is None or any(rung.held != ledgers.held(rung.market_id) for rung in stale):
            stale, ids = ladder.rungs, [rung.market_id for rung in ladder.rungs]
            exposure = self._exposures[ticker] = Exposure(
                [rung.terms for rung in ladder.rungs],
                ledgers.event_cash_cents(ticker, ids),
                [ledgers.holdings(market_id) for market_id in ids],
            )
            for rung in ladder.rungs:
                rung.held = ledgers.held(rung.market_id)
        for rung in stale:
            exposure.set_orders(
                rung.market_id, [own.reach for own in self._desk.live(rung.market_id)]
            )
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
        """The exposure of all events together, as of everything sent so far."""
        return series_loss_cents([self.worst_cents(each) for each in self._ladders])

    def on_sent(self) -> None:
        """Orders have left: the exposure of all events may be at a new maximum. Answers and fills
        only lower it."""
        self._loss_max_cents = max(self._loss_max_cents, self.worst_case_cents)

    @property
    def worst_case_max_cents(self) -> Cents:
        """The most that `worst_case_cents` ever was."""
        return max(self._loss_max_cents, self.worst_case_cents)

    def bounds(self, ladder: EventQuoter, *, wanted: bool = False) -> Bounds:
        """The bounds of an event, given the exposure of the other events and series.

        wanted: of the other events their wanted quotes count, too. Of what those may lose the worse
        of the two counts: two events that want the same room would both give it back. Of what rests
        only the wanted quotes count: two events that share that limit would otherwise follow each
        other's every cancel, for ever.
        """
        others_loss_cents = others_resting_cents = 0
        for each in self._ladders:
            if each is ladder:
                continue
            worst = self._worst_wanted(each) if wanted else self.worst_cents(each)
            others_loss_cents += loss_cents(worst)
            others_resting_cents += (
                self._resting_wanted(each) if wanted else self.exposure(each).resting_cents
            )
        is_shared = self.account.traders > 1 or self._awaits_others
        elsewhere_cents = self._elsewhere_cents() if is_shared else Cents(0)
        limit_cents = event_limit_cents(self._limits, Cents(others_loss_cents), elsewhere_cents)
        return bounds_of(self._limits, limit_cents, Cents(others_resting_cents))

    def _elsewhere_cents(self) -> Cents:
        """The exposure of the account's other series; all of the account's limit while unknown."""
        elsewhere = self.account.others_loss_cents(self.member)
        if self._awaits_others:
            rest = self._limits.account_loss_cents - self.worst_case_cents
            elsewhere = Cents(max(elsewhere, rest))
        return elsewhere

    def trim(self, ladder: EventQuoter, quotes: Resting, bounds: Bounds) -> Resting:
        """The wanted quotes that the limits admit. bounds: those of the event, `wanted`."""
        trimmer = self._trimmers.get(ladder.event.event_ticker)
        if trimmer is None:
            trimmer = self._trimmers[ladder.event.event_ticker] = QuoteTrimmer(self._limits)
        left = trimmer.trim(quotes, self.exposure(ladder), bounds)
        if len(self._ladders) > 1:
            alone = bounds_of(self._limits, event_limit_cents(self._limits, Cents(0)))
            if bounds.resting_cents < alone.resting_cents or bounds.loss_cents < alone.loss_cents:
                self._elsewhere[ladder.event.event_ticker] = self._elsewhere_cents()
                ladder.was_trimmed = trimmer.gains_by(alone.loss_cents, alone.resting_cents)
        return left

    def leaves_more(self, ladder: EventQuoter) -> bool:
        """True if the other events leave more room to one that `was_trimmed` than when its quotes
        were trimmed. It is not notified in any other way.

        What another series gives back counts once the event is decided for another reason: each
        would otherwise follow every order that the other replaces, for ever.
        """
        ticker = ladder.event.event_ticker
        others = [each for each in self._ladders if each is not ladder]
        losses = series_loss_cents([self._worst_wanted(each) for each in others])
        elsewhere_cents = max(self._elsewhere_cents(), self._elsewhere[ticker])
        loss_cents = event_limit_cents(self._limits, losses, elsewhere_cents)
        resting_cents = Cents(sum([self._resting_wanted(each) for each in others]))
        bounds = bounds_of(self._limits, loss_cents, resting_cents)
        return self._trimmers[ticker].gains_by(bounds.loss_cents, bounds.resting_cents)

    def trims(self, ladder: EventQuoter) -> tuple[Trim, ...]:
        """The trims of the last decision of an event."""
        trimmer = self._trimmers.get(ladder.event.event_ticker)
        return () if trimmer is None else trimmer.trims

    def admits_create(self, rung: MarketQuoter, wish: CreateAction, now_ns: int) -> Qty:
        """Shares of a wanted order that every limit admits now; 0 when none."""
        if rung.is_side_suspended(wish.book_side, now_ns):
            return Qty(0)
        candidate = rung.live(wish, min(wish.qty, self._limits.order_qty))
        return self.exposure(rung.ladder).largest(candidate, self.bounds(rung.ladder))

    def admits_amend(self, own: OwnOrder, amend: Amend) -> bool:
        """True if every limit admits a change, counted at its worst while it is unanswered."""
        ladder = self._rungs[own.market_id].ladder
        after, before = own.exposure(amend), own.exposure(own.amend)
        room = self.exposure(ladder).largest(after, self.bounds(ladder), before)
        return room >= after.qty_max

    def _resting_wanted(self, ladder: EventQuoter) -> Cents:
        """The exposure of an event's wanted quotes, both sides; if none, of its live orders."""
        wanted = self._wanted(ladder)
        return (self.exposure(ladder) if wanted is None else wanted).resting_cents

    def _worst_wanted(self, ladder: EventQuoter) -> Cents:
        """The worst case of an event now, or once all that is wanted rests, if that is worse."""
        worst, wanted = self.worst_cents(ladder), self._wanted(ladder)
        return worst if wanted is None else min(worst, wanted.worst_cents)

    def _wanted(self, ladder: EventQuoter) -> QuoteTrimmer | None:
        """The trimmer of the wanted quotes of an event; None without any."""
        some = any(rung.wanted for rung in ladder.rungs)
        return self._trimmers.get(ladder.event.event_ticker) if some else None
