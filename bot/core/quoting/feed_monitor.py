"""What is known of the channel: whether it lives, how late it is, and which books want confirming.

Silence, lateness and a pause of this process block every rung; an old confirmation asks for books
anew, by a subscribe that costs no token (S9) and then by a read. Nothing is decided here.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from bot.core import messages as m
from bot.core.inconsistency import Inconsistency
from bot.core.market_data.book import book_seen
from bot.core.market_data.venue_clock import VenueClock
from bot.core.orders.outbox import NEVER_NS, Outbox
from bot.core.quoting.event_quoter import EventQuoter, MarketQuoter
from bot.core.settings import StalenessSettings
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.names import MarketId, ProjectId

READS_PER_BEAT: Final = 2

_LOOK_NS: Final = NS_PER_SECOND // 4
"""Between two looks."""

_LEAD_NS: Final = NS_PER_SECOND
"""A write may be dated by another clock than a book: by so much they need not agree, as with
prints."""


class _Owed(msgspec.Struct):
    """A change of ours that a book lacks: the venue's time of it, and when to ask, by ours."""

    at_ns: int
    due_ns: int


class StuckFeedDetector:
    """The rungs whose books lack changes of ours: the feed is stuck there.

    A far end that has lost its own source goes on to answer pings, and sends the same old books at
    each subscribe. But the venue dates our own writes, and a book of a market that is older than
    one of them cannot hold it. Such a book is read by REST. look_ns: when to look again.
    """

    def __init__(self, staleness: StalenessSettings) -> None:
        self._staleness = staleness
        self._owed: dict[MarketId, _Owed] = {}
        self.look_ns = 0

    def to_read(self, ladders: Iterable[EventQuoter], now_ns: int) -> list[MarketId]:
        """The rungs of these that take orders and whose book is to be read now, a few at a time."""
        self.look_ns = now_ns + _LOOK_NS
        owed: dict[MarketId, _Owed] = {}
        out: list[MarketId] = []
        for rung in [rung for each in ladders if each.is_open for rung in each.rungs]:
            owed_ns = rung.others.owed_ns
            # A book as new as our newest change holds the older one, too: most are.
            if not owed_ns or not _is_before(rung.book.ts_ns, owed_ns) or not rung.is_active:
                continue
            held = self._owed.get(rung.market_id)
            if held is None or not _is_before(rung.book.ts_ns, held.at_ns):
                # By then a read shows it, too, so that an equal one says that nothing is lacking.
                held = _Owed(owed_ns, now_ns + self._staleness.read_lag_ns)
            owed[rung.market_id] = held
            if now_ns < held.due_ns or not rung.book.known:
                continue
            if len(out) == READS_PER_BEAT:
                self.look_ns = now_ns
                continue
            held.due_ns = now_ns + self._staleness.recheck_ns
            rung.read_asked_ns = now_ns
            out.append(rung.market_id)
        self._owed = owed
        return out

    def is_paid_by(self, rung: MarketQuoter, ts_ns: int) -> bool:
        """Whether a read of this instant holds a change that the rung's book has long lacked."""
        held = self._owed.get(rung.market_id)
        if held is None or not rung.book.known:
            return False
        return _is_before(rung.book.ts_ns, held.at_ns) and not _is_before(ts_ns, held.at_ns)


def _is_before(book_ns: int | None, at_ns: int) -> bool:
    return book_ns is None or book_ns < at_ns - _LEAD_NS


_LAG_WINDOW_NS: Final = 60 * NS_PER_SECOND
_LAG_MAX_NS: Final = 10 * NS_PER_SECOND
"""What always comes as late is in time, but not with more than this beside the venue's clock."""

_LATE_WINDOW_NS: Final = NS_PER_SECOND
_SILENCE_NS: Final = 2 * NS_PER_SECOND
_SILENCE_MAX_NS: Final = 8 * NS_PER_SECOND


class FeedLatency:
    """How late prints come, against the earliest they have come of late, or against the venue's
    clock where even those came far too late.

    Only prints tell: they are sent once, when they happen, while a book of a quiet market is as
    old as its last change. The clocks of the two ends need not agree, nor run alike. One print
    that comes late is an accident: late is a second in which none came in time.

    allowed_ns: how much later is in time. Where nothing trades there is no telling, and late is
    forgotten after two seconds; after twice as long, up to eight, each time that what comes then is
    late again.
    """

    __slots__ = (
        "_allowed_ns",
        "_earliest",
        "_earliest_before",
        "_excess",
        "_silence_ns",
        "_since_ns",
        "_window_ns",
    )

    def __init__(self, allowed_ns: int) -> None:
        self._allowed_ns = allowed_ns
        self._silence_ns = _SILENCE_NS
        self._earliest: int | None = None
        self._earliest_before: int | None = None
        self._since_ns = 0
        self._excess: int | None = None
        self._window_ns = 0

    def seen(self, ts_ns: int, now_ns: int, ahead_ns: int | None = None) -> None:
        """A print of the venue's `ts_ns` arrived now. ahead_ns: how far the venue's clock leads, by
        what else was stamped there: the first print may be late by that, and all of them may by far
        more than any other thing; None where nobody knows.
        """
        took = now_ns - ts_ns
        likely = took if ahead_ns is None else min(took, _LAG_MAX_NS - ahead_ns)
        if self._earliest is None or took < self._earliest - _LAG_MAX_NS:
            # The first, or the first by a clock set ahead, of which what came before tells nothing.
            self._since_ns = now_ns
            self._earliest = took if ahead_ns is None else min(took, -ahead_ns)
        elif now_ns >= self._since_ns + _LAG_WINDOW_NS:
            self._earliest_before, self._earliest = self._earliest, likely
            self._since_ns = now_ns
        self._earliest = min(self._earliest, likely)
        least = self.least_ns
        assert least is not None
        if self._excess is None or now_ns >= self._window_ns + _LATE_WINDOW_NS:
            # A quoter of a channel that is late now and then would come and go with each print.
            if self._excess is None or self._excess <= self._allowed_ns:
                self._silence_ns = _SILENCE_NS
            elif took - least > self._allowed_ns and not self.is_late(now_ns):
                self._silence_ns = min(2 * self._silence_ns, _SILENCE_MAX_NS)
            self._excess, self._window_ns = took - least, now_ns
        else:
            self._excess = min(self._excess, took - least)

    @property
    def least_ns(self) -> int | None:
        """The least that lay of late between a print, by the venue's clock, and its coming, by
        ours; None before the first one. Below zero where the venue's clock is ahead."""
        if self._earliest is None or self._earliest_before is None:
            return self._earliest
        return min(self._earliest, self._earliest_before)

    def is_late(self, now_ns: int) -> bool:
        """Whether prints come later than allowed. Without prints of late there is no telling, and
        the age of the books speaks alone."""
        is_fresh = now_ns < self._window_ns + self._silence_ns
        return is_fresh and self._excess is not None and self._excess > self._allowed_ns


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
        staleness: StalenessSettings,
        ladders: list[EventQuoter],
        rungs: Mapping[MarketId, MarketQuoter],
        venue_time: VenueClock,
        out: Outbox,
    ) -> None:
        self._staleness = staleness
        self._venue_time = venue_time
        self._ladders = ladders
        self._rungs = rungs
        self._out = out
        self._is_open = False
        self._was_open = False
        self.heard_ns: int | None = None
        self._lag = FeedLatency(staleness.lag_ns)
        self.lag_ns: int | None = None
        """The least delay of prints (`FeedLatency.least_ns`): an instant of the venue's plus this
        is the soonest that we could hear of it."""
        self._stepped_ns = NEVER_NS
        self._why = ""
        self._judge_ns = 0
        self._read_ns = 0
        self._recheck_ns = 0
        self._subscribe_due_ns = NEVER_NS
        self._subscribed: tuple[tuple[MarketId, ...], tuple[ProjectId, ...]] | None = None
        self._subscribed_ns = 0
        self._set_changed_ns = 0
        self._owing = StuckFeedDetector(staleness)

    # --- events -----------------------------------------------------------------------------------

    def opened(self, now_ns: int) -> None:
        """The channel is there again; subscribe to everything. That it opens is no sign of life: a
        far end that says nothing opens, too, as often as it is asked."""
        self._is_open = True
        self.heard_ns = None
        self._lag, self.lag_ns = FeedLatency(self._staleness.lag_ns), None
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
        self.lag_ns = self._lag.least_ns

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
                rung.judge(self._why, self._staleness, now_ns)
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
        if (
            not self._is_open
            or heard_ns is None
            or now_ns - heard_ns > self._staleness.feed_silence_ns
        ):
            return "channel silent"
        return _LATE if self._lag.is_late(now_ns) else ""

    def _recheck(self, now_ns: int) -> None:
        """Ask anew for books whose last confirmation is getting old; once a second at most."""
        if now_ns - self._subscribed_ns < _RESUBSCRIBE_NS:
            return
        oldest_ns = NEVER_NS  # when the book was confirmed that has waited longest
        for rung in self.active_rungs():
            if rung.suspect_since_ns is not None:
                oldest_ns = now_ns - self._staleness.recheck_ns
                break
            if rung.confirmed_ns < oldest_ns:
                oldest_ns = rung.confirmed_ns
        self._recheck_ns = oldest_ns + self._staleness.recheck_ns
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
        late_ns = 3 * self._staleness.recheck_ns // 2
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
            rung.read_book(seen, self._staleness, now_ns)

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
        self._lag, self.lag_ns = FeedLatency(self._staleness.lag_ns), None
        for each in self._rungs.values():
            each.forget_stamps()
        for ladder in self._ladders:
            ladder.dirty = True
        self._ask_anew(now_ns)
