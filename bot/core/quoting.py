"""The events of the series: what is believed of them, what is wanted there, and what may be sent.

Events of the feed mark a rung's event dirty; a Beat decides dirty events together, newest belief
only: belief -> view -> strategy -> limits -> wanted quotes -> the changes that reach them.
A strategy that raises or returns nonsense has its event pulled; the other events go on.

Source: design, The bot, items 2-5; reliability, FEED_OK, rows 7, 9, 32, 39-48, 77, B3, B4.
"""

from collections.abc import Callable, Iterable

from bot.core import messages as m
from bot.core.bounds import lowered
from bot.core.channel import Channel
from bot.core.desk import NEVER_NS, Desk
from bot.core.ledgers import Ledgers
from bot.core.order import OwnOrder
from bot.core.outbox import Outbox
from bot.core.risk import Exposure, cut, event_limit_cents, fits_surely, series_loss_cents
from bot.core.room import Ladder, Rung
from bot.core.settings import TraderSettings
from bot.core.strategy import ImpliedView, Strategy
from bot.core.wishes import WantCreate, Wish, free_shares
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Cents, Qty
from venue.wire.names import MarketId, ProjectId
from venue.wire.requests import Amend

_PULLED_NS = 5 * NS_PER_SECOND
_FUNDS_PARK_NS = 60 * NS_PER_SECOND
"""How long a side refused for want of funds waits at most: money may come from outside."""


class Quoting:
    """Every event of the series. Rungs are found by market id; order of events is by ticker."""

    def __init__(
        self,
        settings: TraderSettings,
        make_strategy: Callable[[], Strategy],
        desk: Desk,
        ledgers: Ledgers,
        out: Outbox,
    ) -> None:
        self._settings = settings
        self._make_strategy = make_strategy
        self._desk = desk
        self._ledgers = ledgers
        self._out = out
        self.ladders: list[Ladder] = []
        self._rungs: dict[MarketId, Rung] = {}
        self._implied: dict[ProjectId, m.ImpliedValueSeen] = {}
        self.channel = Channel(settings.trust, self.ladders, self._rungs, out)
        self._exposures: dict[str, Exposure] = {}
        self._short_of_funds: list[tuple[Rung, BookSide, int, int]] = []
        self.worst_case_cents = Cents(0)
        self.worst_case_max_cents = Cents(0)

    # --- the series -------------------------------------------------------------------------------

    def take_series(self, events: Iterable[model.Event], begun_ns: int, now_ns: int) -> None:
        """Merge a read of the series: new events and rungs come in, states change."""
        known = {ladder.event.event_ticker: ladder for ladder in self.ladders}
        believed_from_ns = begun_ns - self._settings.trust.read_lag_ns
        for event in events:
            ladder = known.get(event.event_ticker)
            try:
                if ladder is None:
                    ladder = Ladder(event, self._settings, self._make_strategy())
                listed = ladder.refresh(event, believed_from_ns)
            except ValueError as fault:
                self._out.find("event_unreadable", f"{event.event_ticker}: {fault}")
                continue
            if event.event_ticker not in known:
                self.ladders.append(ladder)
                self._out.note("info", "event_found", event=event.event_ticker)
            for rung in listed:
                self._rungs[rung.market_id] = rung
                rung.read_asked_ns = now_ns
                self._weigh_anew(ladder)
                self._ledgers.list_market(rung.market, rung.maker_rate, rung.taker_rate)
            for rung in ladder.rungs:
                if rung.market.state is model.MarketState.RESOLVED:
                    self._ledgers.resolved(rung.market_id)
        self.ladders.sort(key=lambda ladder: ladder.event.event_ticker)
        self.channel.series_changed(now_ns)

    def is_ours(self, market_id: MarketId) -> bool:
        """Whether a market is a rung of the series."""
        return market_id in self._rungs

    def active_rungs(self) -> list[Rung]:
        """Rungs that take orders, of events that are open."""
        return list(self.channel.active_rungs())

    def all_two_sided(self) -> bool:
        """Whether orders of ours rest on both sides of every active rung."""
        some = False
        for rung in self.channel.active_rungs():
            if not rung.is_two_sided(self._desk):
                return False
            some = True
        return some

    # --- the channel ------------------------------------------------------------------------------

    def saw(self, event: m.BookSeen | m.TradeSeen | m.ImpliedValueSeen, now_ns: int) -> bool:
        """Believe a frame. Whether it makes fills of ours likely: a read is worth a token."""
        self.channel.heard(now_ns)
        if isinstance(event, m.ImpliedValueSeen):
            last = self._implied.get(event.project_id)
            if last is None or event.ts_ns >= last.ts_ns:
                self._implied[event.project_id] = event
                for ladder in self.ladders:
                    ladder.dirty |= ladder.event.project_id == event.project_id
            return False
        rung = self._rungs.get(event.market_id)
        if rung is None:
            return False
        own = self._desk.live(event.market_id)
        if isinstance(event, m.TradeSeen):
            self.channel.printed(event, now_ns)
            return rung.saw_trade(event, own, now_ns)
        return rung.saw_book(event, own, self._settings.trust, now_ns)

    # --- orders and limits ------------------------------------------------------------------------

    def orders_changed(self, market_id: MarketId) -> None:
        """Something about our orders or holdings on a rung is not what it was."""
        rung = self._rungs.get(market_id)
        if rung is not None:
            rung.orders_changed()

    def own_shown(self, shown: model.Order, now_ns: int) -> None:
        """An answer to a write of ours showed this order: the book will show the change too."""
        rung = self._rungs.get(shown.market_id)
        if rung is not None:
            try:
                at_ns = instant.to_ns(shown.updated_at)
            except ValueError:
                self._out.note("warning", "instant_unreadable", order_id=shown.order_id)
                return
            rung.shown_own(shown, at_ns, self._desk.live(shown.market_id), now_ns)

    def fills_booked(self, market_id: MarketId) -> None:
        """Cash or holdings of a rung are not what they were."""
        self.funds_changed()
        self.orders_changed(market_id)
        rung = self._rungs.get(market_id)
        if rung is not None:
            self._weigh_anew(rung.ladder)

    def _weigh_anew(self, ladder: Ladder) -> None:
        """What an event may lose is to be reckoned from what is held, from nothing."""
        self._exposures.pop(ladder.event.event_ticker, None)
        ladder.unweighed = True

    def park_market(self, market_id: MarketId, code: str, now_ns: int) -> None:
        """The venue takes no order on this rung until a later read of the series says so."""
        rung = self._rungs.get(market_id)
        if rung is not None:
            rung.parked_at_ns = now_ns
            rung.parked_code = code
            rung.doubt()
            rung.ladder.dirty = True

    def park_side(self, own: OwnOrder, code: str, for_ns: int, now_ns: int) -> None:
        """A request of ours was refused: no new order on this side of the rung for a while."""
        rung = self._rungs.get(own.market_id)
        if rung is not None:
            # What parks it for longer already stands.
            parked_ns = rung.side_parked_until_ns[own.side]
            rung.side_parked_until_ns[own.side] = max(parked_ns, now_ns + for_ns)
            rung.touch()
            self._out.note("warning", "side_parked", ticker=rung.market.ticker, code=code)

    def too_large(self, market_id: MarketId, qty: Qty) -> None:
        """The venue takes no order of so many shares here: smaller ones from now on (S25)."""
        rung = self._rungs.get(market_id)
        if rung is not None:
            ceilings = rung.ladder.ceilings
            ceilings[market_id] = lowered(ceilings.get(market_id), qty)
            rung.ladder.dirty = True
            self._out.note(
                "warning", "ceiling_learned", ticker=rung.market.ticker, qty=ceilings[market_id]
            )

    def park_for_funds(self, own: OwnOrder, code: str, now_ns: int) -> None:
        """Cash or shares did not suffice: the same again is asked for only once they changed."""
        rung = self._rungs.get(own.market_id)
        if rung is not None:
            before_ns = rung.side_parked_until_ns[own.side]
            self.park_side(own, code, _FUNDS_PARK_NS, now_ns)
            until_ns = rung.side_parked_until_ns[own.side]
            self._short_of_funds.append((rung, own.side, until_ns, before_ns))

    def funds_changed(self) -> None:
        """Fills were booked, or an order of ours let its reserve go: what was refused for want of
        funds may be asked for again. What parks a side for another reason stands."""
        for rung, side, until_ns, before_ns in reversed(self._short_of_funds):
            if rung.side_parked_until_ns[side] == until_ns:
                rung.side_parked_until_ns[side] = before_ns
            rung.touch()
        self._short_of_funds.clear()

    def _held(self, ladder: Ladder) -> Exposure:
        """What the event may lose by what is held alone."""
        ids = [rung.market_id for rung in ladder.rungs]
        return Exposure(
            [rung.terms for rung in ladder.rungs],
            self._ledgers.event_cash_cents(ladder.event.event_ticker, ids),
            [self._ledgers.holdings(market_id) for market_id in ids],
        )

    def exposure(self, ladder: Ladder) -> Exposure:
        """What an event may lose now, everything that may be live counted.

        Kept, and brought up to date rung by rung; not to be changed by the caller.
        """
        ticker = ladder.event.event_ticker
        exposure = self._exposures.get(ticker)
        if exposure is not None and not ladder.unweighed:
            return exposure
        ladder.unweighed = False
        ladder.worst_cents = None
        stale = [rung for rung in ladder.rungs if not rung.weighed]
        if exposure is None or any(
            rung.held != self._ledgers.holdings(rung.market_id) for rung in stale
        ):
            exposure = self._held(ladder)
            self._exposures[ticker] = exposure
            stale = ladder.rungs
            for rung in stale:
                rung.held = self._ledgers.holdings(rung.market_id)
                rung.counted = ()
        for rung in stale:
            for live in rung.counted:
                exposure.remove(live)
            rung.counted = tuple(own.exposure() for own in self._desk.live(rung.market_id))
            rung.weighed = True
            for live in rung.counted:
                exposure.add(live)
        return exposure

    def worst_cents(self, ladder: Ladder) -> Cents:
        """The worst case of an event now: below zero is a loss."""
        exposure = self.exposure(ladder)
        if ladder.worst_cents is None:
            ladder.worst_cents = exposure.worst_cents
        return ladder.worst_cents

    def weigh(self) -> None:
        """Add up the worst cases of the events, as of everything sent so far."""
        total = series_loss_cents([self.worst_cents(ladder) for ladder in self.ladders])
        self.worst_case_cents = total
        self.worst_case_max_cents = max(self.worst_case_max_cents, total)

    def _loss_limit(self, ladder: Ladder) -> Cents:
        """What this event may lose: its own limit, and what the series has left beside others."""
        others = series_loss_cents(
            [self.worst_cents(other) for other in self.ladders if other is not ladder]
        )
        return event_limit_cents(self._settings.risk, others)

    def admits_create(self, rung: Rung, wish: WantCreate, now_ns: int) -> Qty:
        """Shares of a wanted order that every limit admits now; 0 when none."""
        if rung.side_parked(wish.side, now_ns):
            return Qty(0)
        risk = self._settings.risk
        exposure = self.exposure(rung.ladder)
        candidate = rung.live(wish, min(wish.qty, risk.order_qty))
        room = min(
            candidate.qty_max,
            exposure.room(candidate, self._loss_limit(rung.ladder)),
            exposure.position_room(candidate, risk.rung_position_qty),
        )
        return Qty(max(0, room))

    def admits_amend(self, own: OwnOrder, amend: Amend) -> bool:
        """Whether every limit admits a change, counted at its worst while it is undecided."""
        ladder = self._rungs[own.market_id].ladder
        exposure = self.exposure(ladder)
        before = own.exposure()
        own.amend = amend
        after = own.exposure()
        own.amend = None
        exposure.remove(before)
        room = min(
            exposure.room(after, self._loss_limit(ladder)),
            exposure.position_room(after, self._settings.risk.rung_position_qty),
        )
        exposure.add(before)
        return room >= after.qty_max

    # --- deciding ---------------------------------------------------------------------------------

    def decide(self, may_quote: bool, now_ns: int) -> tuple[list[tuple[Rung, Wish]], int]:
        """The changes wanted now, rung by rung, and when to look again.

        A plan stands until what it was made of changes, or its time has come: what of it could not
        be carried out is wished for again as it is.
        """
        wishes: list[tuple[Rung, Wish]] = []
        again_ns = NEVER_NS
        for ladder in self.ladders:
            turned = ladder.may_quote != may_quote
            if ladder.dirty or turned:
                # Pulling everything does not wait for the pace, nor does what follows a resume.
                if turned or now_ns >= ladder.decided_ns + self._settings.pace.decide_ns:
                    self._decide_ladder(ladder, may_quote, now_ns)
                else:
                    again_ns = min(again_ns, ladder.decided_ns + self._settings.pace.decide_ns)
            if ladder.stirred or now_ns >= ladder.again_ns:
                self._plan_ladder(ladder, now_ns)
            again_ns = min(again_ns, ladder.again_ns)
            if ladder.has_wishes:
                wishes.extend((rung, wish) for rung in ladder.rungs for wish in rung.wishes)
        return wishes, again_ns

    def _plan_ladder(self, ladder: Ladder, now_ns: int) -> None:
        """Plan the rungs of an event whose plan no longer stands."""
        ladder.stirred = False
        ladder.again_ns = NEVER_NS
        ladder.has_wishes = False
        for rung in ladder.rungs:
            if rung.touched or now_ns >= rung.again_ns:
                orders = self._desk.live(rung.market_id)
                yes_qty, no_qty = self._ledgers.holdings(rung.market_id)
                rung.plan(orders, free_shares(yes_qty, no_qty, orders), now_ns)
            ladder.again_ns = min(ladder.again_ns, rung.again_ns)
            ladder.has_wishes |= bool(rung.wishes)

    def _decide_ladder(self, ladder: Ladder, may_quote: bool, now_ns: int) -> None:
        ladder.dirty = False
        ladder.may_quote = may_quote
        ladder.decided_ns = now_ns
        self._out.decisions += 1
        implied = self._implied.get(ladder.event.project_id)
        view = ladder.view(
            None if implied is None else _implied_view(implied, now_ns),
            self._desk,
            self._ledgers,
            now_ns,
        )
        if not (may_quote and ladder.is_open and ladder.is_understood) or (
            now_ns < ladder.pulled_until_ns
        ):
            ladder.want({}, pulled=True)
            return
        try:
            quotes = ladder.quotes(view)
        except Exception as fault:  # noqa: BLE001 - the plugin boundary: its fault pulls one event
            self._out.strategy_errors += 1
            ladder.pulled_until_ns = now_ns + _PULLED_NS
            self._out.note(
                "error",
                "strategy_failed",
                event=ladder.event.event_ticker,
                fault=f"{type(fault).__name__}: {fault}",
            )
            ladder.want({}, pulled=True)
            return
        sendable = {
            rung.market_id: quotes[rung.market_id]
            for rung in ladder.rungs
            if rung.market_id in quotes and not rung.blocked
        }
        held, limit = self._held(ladder), self._loss_limit(ladder)
        if not fits_surely(sendable, held, self._settings.risk, limit):
            sendable, _ = cut(sendable, held, self._settings.risk, limit)
        ladder.want(sendable, pulled=False)


def _implied_view(seen: m.ImpliedValueSeen, now_ns: int) -> ImpliedView:
    age_s = max(0, now_ns - seen.ts_ns) / NS_PER_SECOND
    return ImpliedView(seen.value_dollars, seen.confidence, age_s)
