"""The feed: is it alive, its latency, and the stale books to confirm.

A silent or late feed and a pause of this process block every rung. A stale book is requested by a
subscribe, which costs no token (S9), and then by a read. Nothing is decided here.
"""

from collections.abc import Mapping
from typing import Final

from bot.core import messages as m
from bot.core.inconsistency import Inconsistency
from bot.core.market_data.market_state import VenueClock, frame_of_read
from bot.core.orders.outbox import NEVER_NS, Outbox
from bot.core.quoting.event_quoter import EventQuoter, MarketQuoter
from bot.core.settings import StalenessSettings
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.names import MarketId, ProjectId

READS_PER_BEAT: Final = 2

_STUCK_LOOK_NS: Final = NS_PER_SECOND // 4
"""From a write to the first look for a stuck feed, and between two looks."""

_LEAD_NS: Final = NS_PER_SECOND
"""A write and a book may be stamped by two clocks, which need not agree better than this."""

_LAG_WINDOW_NS: Final = 60 * NS_PER_SECOND
_LAG_MAX_NS: Final = 10 * NS_PER_SECOND
"""A constant latency is in time, up to this much by the venue's clock."""

_LATE_WINDOW_NS: Final = NS_PER_SECOND
_SILENCE_NS: Final = 2 * NS_PER_SECOND
_SILENCE_MAX_NS: Final = 8 * NS_PER_SECOND


class FeedLatency:
    """The latency of prints, against the earliest recent ones, or against the venue's clock if even
    those came far too late.

    Only prints show it: they are sent once, when they happen, while a book of a quiet market is as
    old as its last change. The clocks of the two ends need not agree, nor run alike. One late print
    is an accident: the feed is late after a second in which no print came in time.

    Without prints the feed counts as late for two seconds more; for twice as long, up to eight,
    each time that the next prints are late again.
    """

    def __init__(self, allowed_ns: int) -> None:
        self._allowed_ns = allowed_ns
        self._silence_ns = _SILENCE_NS
        self._earliest: int | None = None
        self._earliest_before: int | None = None
        self._since_ns = 0
        self._excess: int | None = None
        self._window_ns = 0
        self.late_until_ns = 0
        """The feed is late until then, unless a print shows otherwise."""

    def on_print(self, ts_ns: int, now_ns: int, ahead_ns: int | None = None) -> None:
        """A print of the venue's `ts_ns` arrived now. ahead_ns: how far the venue's clock leads by
        all its stamps, None while unknown: the first print may be late, and prints may be far later
        than everything else.
        """
        took = now_ns - ts_ns
        likely = took if ahead_ns is None else min(took, _LAG_MAX_NS - ahead_ns)
        if self._earliest is None or took < self._earliest - _LAG_MAX_NS:
            # The first print, or the first by a clock set ahead: nothing before it compares.
            self._since_ns = now_ns
            self._earliest = took if ahead_ns is None else min(took, -ahead_ns)
        elif now_ns >= self._since_ns + _LAG_WINDOW_NS:
            self._earliest_before, self._earliest = self._earliest, likely
            self._since_ns = now_ns
        self._earliest = min(self._earliest, likely)
        least = self.least_ns
        assert least is not None
        if self._excess is None or now_ns >= self._window_ns + _LATE_WINDOW_NS:
            # Else quotes on a feed that is late now and then would come and go with each print.
            if self._excess is None or self._excess <= self._allowed_ns:
                self._silence_ns = _SILENCE_NS
            elif took - least > self._allowed_ns and now_ns >= self.late_until_ns:
                self._silence_ns = min(2 * self._silence_ns, _SILENCE_MAX_NS)
            self._excess, self._window_ns = took - least, now_ns
        else:
            self._excess = min(self._excess, took - least)
        is_late = self._excess > self._allowed_ns
        self.late_until_ns = self._window_ns + self._silence_ns if is_late else 0

    @property
    def least_ns(self) -> int | None:
        """The least recent latency of a print: arrival by our clock less its time by the venue's.
        Add it to a venue instant for the soonest that we could know of it. None before the first
        print. Below zero where the venue's clock is ahead."""
        if self._earliest is None or self._earliest_before is None:
            return self._earliest
        return min(self._earliest, self._earliest_before)


_LATE: Final = "channel late"
_SILENT: Final = "channel silent"
_RESUBSCRIBE_NS: Final = NS_PER_SECOND
_REFUSED_SUBSCRIBE_NS: Final = 5 * NS_PER_SECOND
_SILENT_NS: Final = 10 * NS_PER_SECOND
"""A target without a book by then is reported: its UUID may be a wrong one."""

STEP_AGAIN_NS: Final = 60 * NS_PER_SECOND


class MarketDataMonitor:
    """The subscriptions of one series. ladders, rungs, clock: those of `QuotingEngine`, which keeps
    them up to date."""

    def __init__(
        self,
        staleness: StalenessSettings,
        ladders: list[EventQuoter],
        rungs: Mapping[MarketId, MarketQuoter],
        clock: VenueClock,
        out: Outbox,
    ) -> None:
        self._staleness = staleness
        self._clock = clock
        self._ladders = ladders
        self._rungs = rungs
        self._out = out
        self._is_open = False
        self._was_open = False
        self.heard_ns: int | None = None
        self.latency = FeedLatency(staleness.lag_ns)
        self._stamps: dict[MarketId, int] = {}  # of the newest frame of each book
        self._stepped_ns = NEVER_NS
        self._why = ""
        self.is_silent = False
        """No sign of life came for too long, as of the last `watch`."""
        self._judge_ns = 0
        self._read_ns = 0
        self._recheck_ns = 0
        self.active: list[MarketQuoter] = []
        """Rungs that take orders, of events that are open: not to be changed by the caller."""
        self._subscribe_due_ns = NEVER_NS
        self._subscribed: tuple[tuple[MarketId, ...], tuple[ProjectId, ...]] | None = None
        self._subscribed_ns = 0
        self._set_changed_ns = 0
        # Our changes that a stale book lacks: the venue's time of each, and when to read, by ours.
        self._missing: dict[MarketId, tuple[int, int]] = {}
        self._stuck_look_ns = NEVER_NS

    # --- events -----------------------------------------------------------------------------------

    def on_feed_opened(self, now_ns: int) -> None:
        """Subscribe to everything. An open feed is no sign of life: a silent far end opens, too."""
        self._is_open = True
        self.heard_ns = None
        self.latency = FeedLatency(self._staleness.lag_ns)
        self._subscribed = None
        if self._was_open:
            self._out.purse.outage_over(now_ns)
        self._was_open = True
        for rung in self._rungs.values():
            rung.state.read_asked_ns = now_ns
        self.series_changed(now_ns)

    def on_feed_closed(self) -> None:
        """The feed is gone: every book is stale until it is shown again."""
        self._is_open = False
        for rung in self._rungs.values():
            rung.state.forget_book()
        for ladder in self._ladders:
            ladder.needs_decision = True

    def on_feed_alive(self, now_ns: int) -> None:
        self.heard_ns = now_ns

    def admits(self, seen: m.BookUpdate | m.Trade, rung: MarketQuoter | None, now_ns: int) -> bool:
        """A frame arrived. False if it must be dropped: its market is none of ours, or it is
        stamped in the future.

        A book with another stamp than the last one, or a new print, has just happened: its stamp is
        the venue's time.
        """
        self.heard_ns = now_ns
        if rung is None:
            return False
        if isinstance(seen, m.Trade):
            is_new = not rung.state.has_printed(seen.trade_id)
        else:
            is_new = self._stamps.get(seen.market_id, seen.ts_ns) != seen.ts_ns
            self._stamps[seen.market_id] = seen.ts_ns
        if is_new:
            self._clock.on_stamp(seen.ts_ns, now_ns)
        if self._clock.is_beyond(seen.ts_ns, now_ns):
            rung.state.suspect_book(now_ns)
            self._recheck_ns = now_ns
            return False
        if isinstance(seen, m.Trade):
            self.latency.on_print(seen.ts_ns, now_ns, self._clock.ahead_ns)
        return True

    def on_pause(self, gap_ns: int, now_ns: int) -> None:
        """This process paused: nothing is sent on a rung before its book is confirmed, and the
        frames that waited confirm nothing. An older doubt goes on, so that pause after pause does
        not put off for ever that quotes are pulled."""
        self._out.note("warning", "process_paused", gap_ns=gap_ns)
        for rung in self._rungs.values():
            rung.state.on_pause(now_ns, is_subscribed=self._subscribed is not None)
        self._subscribe_due_ns = now_ns

    def on_malformed_frame(self, known: bool, now_ns: int) -> None:
        """Request all books again after a frame that could not be read."""
        if known:
            for rung in self._rungs.values():
                rung.state.suspect_book(now_ns)
            self._recheck_ns = now_ns

    def on_own_write(self, now_ns: int) -> None:
        """The books owe us the effect of a write: look soon if they show it."""
        self._stuck_look_ns = min(self._stuck_look_ns, now_ns + _STUCK_LOOK_NS)

    def on_subscription_refused(self, now_ns: int) -> None:
        """Retry the subscription after a while."""
        self._subscribe_due_ns = now_ns + _REFUSED_SUBSCRIBE_NS

    def series_changed(self, now_ns: int) -> None:
        """Rungs may have come or gone: subscribe to them, if that is another set."""
        self._judge_ns = self._read_ns = self._recheck_ns = self._stuck_look_ns = 0
        self.active = [
            rung
            for ladder in self._ladders
            if ladder.is_open
            for rung in ladder.rungs
            if rung.is_active
        ]
        self._stamps = {key: at for key, at in self._stamps.items() if key in self._rungs}
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
        # Without a market that trades the old set is kept; without any event it goes.
        some = rungs or (self._subscribed is not None and not self._ladders)
        if some and (rungs, companies) != self._subscribed:
            self._subscribed = (rungs, companies)
            self._subscribe_due_ns = self._set_changed_ns = now_ns

    # --- the tick ---------------------------------------------------------------------------------

    def watch(self, now_ns: int) -> bool:
        """Request books where that is due, and judge the rungs whose judgement may change. True if
        some were judged."""
        if self._is_open and self._subscribed is not None:
            if now_ns >= max(self._recheck_ns, self._subscribed_ns + _RESUBSCRIBE_NS):
                self._recheck(now_ns)
            if now_ns >= self._subscribe_due_ns:
                self._subscribe_due_ns = NEVER_NS
                self._subscribed_ns = now_ns
                for rung in self._rungs.values():
                    rung.state.on_subscribe()
                self._out.effects.append(m.SubscribeTo(*self._subscribed))
        heard_ns, why = self.heard_ns, ""
        if (
            not self._is_open
            or heard_ns is None
            or now_ns - heard_ns > self._staleness.feed_silence_ns
        ):
            why = _SILENT
        elif now_ns < self.latency.late_until_ns:
            why = _LATE
        everyone = why != self._why or now_ns >= self._judge_ns
        self._why, self.is_silent = why, why is _SILENT
        if everyone:
            self._judge_ns = NEVER_NS
        some = everyone
        for ladder in self._ladders:
            for rung in ladder.rungs:
                if everyone or now_ns >= rung.state.judge_ns:
                    self._judge(ladder, everyone, now_ns)
                    some = True
                    break
        if everyone:
            self._report_silent(now_ns)
        return some

    @property
    def watch_due_ns(self) -> int:
        """When `watch` has something to do though no frame came and no rung is to be judged."""
        due_ns = self._judge_ns
        if self._is_open and self._subscribed is not None:
            recheck_ns = max(self._recheck_ns, self._subscribed_ns + _RESUBSCRIBE_NS)
            due_ns = min(due_ns, recheck_ns, self._subscribe_due_ns)
        if self._is_open and self.heard_ns is not None and not self.is_silent:
            due_ns = min(due_ns, self.heard_ns + self._staleness.feed_silence_ns + 1)
        return min(due_ns, self.latency.late_until_ns) if self._why == _LATE else due_ns

    def _judge(self, ladder: EventQuoter, everyone: bool, now_ns: int) -> None:
        for rung in ladder.rungs:
            state = rung.state
            if everyone or now_ns >= state.judge_ns:
                rung.judge_eligibility(self._why, self._staleness, now_ns)
                if state.suspect_since_ns is not None:
                    self._recheck_ns = min(self._recheck_ns, now_ns)
        ladder.some_blocked = any(rung.blocked for rung in ladder.rungs)

    def _recheck(self, now_ns: int) -> None:
        """Request books before they get stale; called once a second at most."""
        oldest_ns = NEVER_NS  # when the book was confirmed that has waited longest
        for rung in self.active:
            if rung.state.suspect_since_ns is not None:
                oldest_ns = now_ns - self._staleness.recheck_ns
                break
            if rung.state.confirmed_ns < oldest_ns:
                oldest_ns = rung.state.confirmed_ns
        self._recheck_ns = oldest_ns + self._staleness.recheck_ns
        if now_ns >= self._recheck_ns:
            self._request_books(now_ns)

    def _request_books(self, now_ns: int) -> None:
        """Request all books again; throttled to once a second."""
        due_ns = max(now_ns, self._subscribed_ns + _RESUBSCRIBE_NS)
        self._subscribe_due_ns = min(self._subscribe_due_ns, due_ns)

    def _report_silent(self, now_ns: int) -> None:
        """Raise an alert while a target that was requested long ago has no book."""
        silent = (
            [rung.market.ticker for rung in self.active if not rung.state.is_known]
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

    @property
    def reads_due_ns(self) -> int:
        """When `books_to_read` is to be asked again."""
        return min(self._stuck_look_ns, self._read_ns) if self._is_open else NEVER_NS

    def books_to_read(self, now_ns: int) -> list[MarketId]:
        """Rungs with stale books in spite of a subscribe, a few at a time: read them."""
        if not self._is_open:
            return []
        out: list[MarketId] = []
        if now_ns >= self._stuck_look_ns:
            out += self._stuck_books(now_ns)
        if now_ns < self._read_ns:
            return out
        late_ns = 3 * self._staleness.recheck_ns // 2
        self._read_ns = NEVER_NS
        for rung in self.active:
            state = rung.state
            due_ns = max(state.confirmed_ns + late_ns, state.read_asked_ns + NS_PER_SECOND)
            if now_ns < due_ns:
                self._read_ns = min(self._read_ns, due_ns)
                continue
            state.read_asked_ns = now_ns
            out.append(rung.market_id)
            if len(out) >= READS_PER_BEAT:
                self._read_ns = now_ns
                break
            self._read_ns = min(self._read_ns, now_ns + NS_PER_SECOND)
        return out

    def _stuck_books(self, now_ns: int) -> list[MarketId]:
        """Rungs whose books lack changes of ours, a few at a time: the feed is stuck there.

        A far end that has lost its own source still answers pings, and sends the same old books at
        each subscribe. But the venue stamps our own writes, and a book that is older than one of
        them cannot show it.
        """
        self._stuck_look_ns = NEVER_NS
        missing: dict[MarketId, tuple[int, int]] = {}
        out: list[MarketId] = []
        for rung in [rung for each in self._ladders if each.is_open for rung in each.rungs]:
            state = rung.state
            # A book as new as our newest change holds the older one, too: most are.
            if not state.owed_ts_ns or not rung.is_active:
                continue
            if not _is_before(state.ts_ns, state.owed_ts_ns):
                continue
            held = self._missing.get(rung.market_id)
            if held is not None and _is_before(state.ts_ns, held[0]):
                at_ns, due_ns = held
            else:
                # By then a read shows it, too, so that an equal one shows that nothing is missing.
                at_ns, due_ns = state.owed_ts_ns, now_ns + self._staleness.read_lag_ns
            if now_ns >= due_ns and state.ts_ns is not None:
                if len(out) < READS_PER_BEAT:
                    due_ns = now_ns + self._staleness.recheck_ns
                    state.read_asked_ns = now_ns
                    out.append(rung.market_id)
                else:
                    self._stuck_look_ns = now_ns
            missing[rung.market_id] = (at_ns, due_ns)
            look_ns = max(due_ns, now_ns + _STUCK_LOOK_NS)
            self._stuck_look_ns = min(self._stuck_look_ns, look_ns)
        self._missing = missing
        return out

    def on_book_read(self, market_id: MarketId, answer: m.Answer, now_ns: int) -> None:
        """A book read by REST confirms ours when equal; the zero instant says nothing (S28)."""
        rung = self._rungs.get(market_id)
        if rung is None or not isinstance(answer, m.Ok) or not isinstance(answer.body, m.BookBody):
            return
        shown = answer.body.book
        if instant.is_zero(shown.as_of):
            return
        if rung.state.on_read(shown, now_ns, is_blocked=bool(rung.blocked)):
            return
        # Newer than ours, or ours is missing: the feed owes us a frame. Until it comes this is the
        # best there is, once a second read shows the same; an older one is stale.
        self._request_books(now_ns)
        seen = frame_of_read(shown)
        if seen is not None:
            missing, book_ns = self._missing.get(market_id), rung.state.ts_ns
            if missing and book_ns is not None and book_ns < missing[0] - _LEAD_NS <= seen.ts_ns:
                self._out.note("warning", "channel_behind", ticker=rung.market.ticker)
            rung.state.adopt_read(seen, self._staleness, now_ns)

    def on_clock_step(self, rung: MarketQuoter, now_ns: int) -> None:
        """The venue's clock ran backwards: begin again with the next frames. After a second time
        within a minute it is unreliable, and the bot stops."""
        state = rung.state
        back_ns = (state.ts_ns or state.older_ns) - state.older_ns
        evidence = f"{rung.market.ticker} is stamped {back_ns // NS_PER_SECOND} s earlier"
        is_again = self._stepped_ns <= now_ns <= self._stepped_ns + STEP_AGAIN_NS
        # A second step may come before the first is certain.
        if is_again or any(each.state.has_stepped_twice for each in self._rungs.values()):
            self._out.inconsistencies.contradicts(Inconsistency.STAMPS_RUN_BACKWARDS, evidence)
        self._stepped_ns = now_ns
        self._out.note("error", "venue_clock_stepped", text=evidence)
        self._clock.reset()
        self.latency = FeedLatency(self._staleness.lag_ns)
        for each in self._rungs.values():
            each.state.forget_stamps()
        for ladder in self._ladders:
            ladder.needs_decision = True
        self._request_books(now_ns)


def _is_before(book_ns: int | None, at_ns: int) -> bool:
    return book_ns is None or book_ns < at_ns - _LEAD_NS
