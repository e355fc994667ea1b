"""What is known of the channel: whether it lives, how late it is, and which books want confirming.

Silence, lateness and a pause of this process block every rung; an old confirmation asks for books
anew, by a subscribe that costs no token (S9) and then by a read. Nothing is decided here.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from bot.core import messages as m
from bot.core.inconsistency import Inconsistency
from bot.core.market_data.book import book_seen
from bot.core.market_data.venue_clock import VenueClock
from bot.core.orders.outbox import NEVER_NS, Outbox
from bot.core.quoting.event_quoter import EventQuoter, MarketQuoter
from bot.core.quoting.feed_latency import FeedLatency
from bot.core.quoting.stuck_feed import READS_PER_BEAT, StuckFeedDetector
from bot.core.settings import TrustSettings
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.names import MarketId, ProjectId

_LATE: Final = "channel late"
_RESUBSCRIBE_NS: Final = NS_PER_SECOND
_REFUSED_SUBSCRIBE_NS: Final = 5 * NS_PER_SECOND
_SILENT_NS: Final = 10 * NS_PER_SECOND
"""A target that has shown no book by then is told: its UUID may be a wrong one."""


STEP_AGAIN_NS: Final = 60 * NS_PER_SECOND


class MarketDataMonitor:
    """The subscriptions of one series. ladders, rungs, venue_time: those of `QuotingEngine`, which
    keeps them up."""

    def __init__(
        self,
        trust: TrustSettings,
        ladders: list[EventQuoter],
        rungs: Mapping[MarketId, MarketQuoter],
        venue_time: VenueClock,
        out: Outbox,
    ) -> None:
        self._trust = trust
        self._venue_time = venue_time
        self._ladders = ladders
        self._rungs = rungs
        self._out = out
        self._is_open = False
        self._was_open = False
        self.heard_ns: int | None = None
        self._lag = FeedLatency(trust.lag_ns)
        self._stepped_ns = NEVER_NS
        self._why = ""
        self._judge_ns = 0
        self._read_ns = 0
        self._recheck_ns = 0
        self._subscribe_due_ns = NEVER_NS
        self._subscribed: tuple[tuple[MarketId, ...], tuple[ProjectId, ...]] | None = None
        self._subscribed_ns = 0
        self._set_changed_ns = 0
        self._owing = StuckFeedDetector(trust)

    @property
    def lag_ns(self) -> int | None:
        """What to add to an instant of the venue's for the soonest that it could be heard of."""
        return self._lag.least_ns

    # --- events -----------------------------------------------------------------------------------

    def opened(self, now_ns: int) -> None:
        """The channel is there again; subscribe to everything. That it opens is no sign of life: a
        far end that says nothing opens, too, as often as it is asked."""
        self._is_open = True
        self.heard_ns = None
        self._lag = FeedLatency(self._trust.lag_ns)
        self._subscribed = None
        if self._was_open:
            self._out.purse.outage_over(now_ns)
        self._was_open = True
        for rung in self._rungs.values():
            rung.read_asked_ns = now_ns
        self.series_changed(now_ns)

    def closed(self) -> None:
        """The channel is gone: no book is believed until it is seen anew."""
        self._is_open = False
        for rung in self._rungs.values():
            rung.forget_book()
        for ladder in self._ladders:
            ladder.dirty = True

    def heard(self, now_ns: int) -> None:
        """The far end is alive."""
        self.heard_ns = now_ns

    def printed(self, seen: m.Trade, now_ns: int) -> None:
        """A print arrived that was not seen before."""
        self._lag.seen(seen.ts_ns, now_ns, self._venue_time.ahead_ns)

    def paused_for(self, gap_ns: int, now_ns: int) -> None:
        """This process stood still: nothing is sent on a rung before its book is confirmed, and
        what waited meanwhile confirms nothing. A doubt of before goes on: pause after pause must
        not put off for ever that quotes are pulled."""
        self._out.note("warning", "process_paused", gap_ns=gap_ns)
        for rung in self._rungs.values():
            rung.unasked = self._subscribed is not None
            rung.suspect(now_ns)
        self._subscribe_due_ns = now_ns

    def garbled(self, known: bool, now_ns: int) -> None:
        """A frame could not be read: request all books again."""
        if known:
            for rung in self._rungs.values():
                rung.suspect(now_ns)
            self._recheck_ns = now_ns

    def misdated(self, rung: MarketQuoter, now_ns: int) -> None:
        """A frame of the future was dropped: its market's book is asked for anew."""
        rung.suspect(now_ns)
        self._recheck_ns = now_ns

    def refused(self, now_ns: int) -> None:
        """The set was refused: read the series again soon and send the set once more."""
        self._subscribe_due_ns = now_ns + _REFUSED_SUBSCRIBE_NS

    def series_changed(self, now_ns: int) -> None:
        """Rungs may have come or gone: subscribe to what there is, if that is another set."""
        self._judge_ns = self._read_ns = self._recheck_ns = 0
        if not self._is_open:
            return
        rungs = tuple(
            rung.market_id
            for ladder in self._ladders
            if ladder.is_open
            for rung in ladder.rungs
            if rung.market.state is not model.MarketState.RESOLVED
        )
        companies = tuple(sorted({ladder.event.project_id for ladder in self._ladders}))
        # Where nothing trades for a while the old set stands; where no event is left it goes.
        some = rungs or (self._subscribed is not None and not self._ladders)
        if some and (rungs, companies) != self._subscribed:
            self._subscribed = (rungs, companies)
            self._subscribe_due_ns = self._set_changed_ns = now_ns

    def active_rungs(self) -> Iterator[MarketQuoter]:
        """Rungs that take orders, of events that are open."""
        for ladder in self._ladders:
            if ladder.is_open:
                yield from ladder.active_rungs()

    # --- the beat ---------------------------------------------------------------------------------

    def watch(self, now_ns: int) -> None:
        """Ask for books anew where that is due, and judge the rungs whose judgement may change."""
        if self._is_open and self._subscribed is not None:
            if now_ns >= self._recheck_ns:
                self._recheck(now_ns)
            if now_ns >= self._subscribe_due_ns:
                self._subscribe_due_ns = NEVER_NS
                self._subscribed_ns = now_ns
                for rung in self._rungs.values():
                    rung.unasked = False
                self._out.effects.append(m.SubscribeTo(*self._subscribed))
        why = self._blocks(now_ns)
        everyone = why != self._why or now_ns >= self._judge_ns
        self._why = why
        if everyone:
            self._judge_ns = NEVER_NS
        for ladder in self._ladders:
            if everyone or ladder.unjudged:
                self._judge(ladder, everyone, now_ns)
        if everyone:
            self._tell_silent(now_ns)

    def _judge(self, ladder: EventQuoter, everyone: bool, now_ns: int) -> None:
        ladder.unjudged = False
        for rung in ladder.rungs:
            if everyone or now_ns >= rung.judge_ns:
                rung.judge(self._why, self._trust, now_ns)
                self._judge_ns = min(self._judge_ns, rung.judge_ns)
                if rung.is_suspect:
                    self._recheck_ns = min(self._recheck_ns, now_ns)
                if rung.blocked != rung.was_blocked:
                    rung.was_blocked = rung.blocked
                    rung.news.add(rung.place)
                    ladder.dirty = True
                    if rung.blocked:
                        # Its quotes do not wait for the next decision, which may be minutes away.
                        rung.want((), pulled=True)
        ladder.some_blocked = any(rung.blocked for rung in ladder.rungs)

    def _blocks(self, now_ns: int) -> str:
        """Why no rung can be quoted; empty while the channel lives and keeps pace."""
        heard_ns = self.heard_ns
        if not self._is_open or heard_ns is None or now_ns - heard_ns > self._trust.heard_ns:
            return "channel silent"
        return _LATE if self._lag.is_late(now_ns) else ""

    def _recheck(self, now_ns: int) -> None:
        """Ask anew for books whose last confirmation is getting old; once a second at most."""
        if now_ns - self._subscribed_ns < _RESUBSCRIBE_NS:
            return
        oldest_ns = NEVER_NS  # when the book was confirmed that has waited longest
        for rung in self.active_rungs():
            if rung.suspect_since_ns is not None:
                oldest_ns = now_ns - self._trust.recheck_ns
                break
            if rung.confirmed_ns < oldest_ns:
                oldest_ns = rung.confirmed_ns
        self._recheck_ns = oldest_ns + self._trust.recheck_ns
        if now_ns >= self._recheck_ns:
            self._ask_anew(now_ns)

    def _ask_anew(self, now_ns: int) -> None:
        """Have all books sent once more, once a second at most."""
        due_ns = max(now_ns, self._subscribed_ns + _RESUBSCRIBE_NS)
        self._subscribe_due_ns = min(self._subscribe_due_ns, due_ns)

    def _tell_silent(self, now_ns: int) -> None:
        """A finding while a target that was asked for long ago has shown nothing."""
        silent = (
            [rung.market.ticker for rung in self.active_rungs() if not rung.book.known]
            if self._is_open
            else []
        )
        since_ns = self._set_changed_ns + _SILENT_NS
        if silent and now_ns > since_ns:
            self._out.find("silent_target", f"no book of {', '.join(silent[:5])} since subscribed")
            self._judge_ns = min(self._judge_ns, now_ns + NS_PER_SECOND)
        elif silent:
            self._judge_ns = min(self._judge_ns, since_ns + 1)
        else:
            self._out.clear("silent_target")

    # --- confirming by reads ----------------------------------------------------------------------

    def books_to_read(self, now_ns: int) -> list[MarketId]:
        """Rungs whose book should be confirmed by a read, a few at a time."""
        if not self._is_open:
            return []
        out: list[MarketId] = []
        if now_ns >= self._owing.look_ns:
            out += self._owing.to_read(self._ladders, now_ns)
        if now_ns < self._read_ns:
            return out
        late_ns = 3 * self._trust.recheck_ns // 2
        self._read_ns = NEVER_NS
        for rung in self.active_rungs():
            due_ns = max(rung.confirmed_ns + late_ns, rung.read_asked_ns + NS_PER_SECOND)
            if now_ns < due_ns:
                self._read_ns = min(self._read_ns, due_ns)
                continue
            rung.read_asked_ns = now_ns
            out.append(rung.market_id)
            if len(out) >= READS_PER_BEAT:
                self._read_ns = now_ns
                break
            self._read_ns = min(self._read_ns, now_ns + NS_PER_SECOND)
        return out

    def book_read(self, market_id: MarketId, answer: m.Answer, now_ns: int) -> None:
        """A book read by REST confirms ours when equal; the zero instant says nothing (S28)."""
        rung = self._rungs.get(market_id)
        if rung is None or not isinstance(answer, m.Ok) or not isinstance(answer.body, m.BookBody):
            return
        shown = answer.body.book
        if instant.is_zero(shown.as_of):
            return
        seen = book_seen(shown)
        if rung.confirms(shown, now_ns):
            return
        # Newer than ours, or ours is missing: the channel owes us a frame. Until it comes this is
        # the best there is, once a second read shows the same; an older one only lags.
        self._ask_anew(now_ns)
        if seen is not None:
            if self._owing.is_paid_by(rung, seen.ts_ns):
                self._out.note("warning", "channel_behind", ticker=rung.market.ticker)
            rung.read_book(seen, self._trust, now_ns)

    def stepped_back(self, rung: MarketQuoter, now_ns: int) -> None:
        """The venue's clock ran backwards: begin anew with what it shows now. A second time within
        a minute it cannot be relied on, and the bot stops."""
        back_ns = (rung.book.ts_ns or rung.older_ns) - rung.older_ns
        evidence = f"{rung.market.ticker} is stamped {back_ns // NS_PER_SECOND} s earlier"
        is_again = self._stepped_ns <= now_ns <= self._stepped_ns + STEP_AGAIN_NS
        # A second step may come before the first is certain.
        if is_again or any(each.has_stepped_twice for each in self._rungs.values()):
            self._out.inconsistencies.contradicts(Inconsistency.STAMPS_RUN_BACKWARDS, evidence)
        self._stepped_ns = now_ns
        self._out.note("error", "venue_clock_stepped", text=evidence)
        self._venue_time.reset()
        self._lag = FeedLatency(self._trust.lag_ns)
        for each in self._rungs.values():
            each.forget_stamps()
        for ladder in self._ladders:
            ladder.dirty = True
        self._ask_anew(now_ns)
