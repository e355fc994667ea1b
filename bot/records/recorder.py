"""Keeps the records of a running bot: follows its journal and stores what it finds.

All that blocks happens in one thread, for which no end of the bot waits. A store that fails or
hangs is retried with backoff: the journal has everything, and samples wait in bounded memory.
"""

import asyncio
import datetime
import threading
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final

import msgspec
import structlog

from bot.core import messages as m
from bot.core.report import Report, RungReport
from bot.io.faults import OperatorError
from bot.io.metrics.table import RECORDS, Family
from bot.io.secret import Secret
from bot.records.daily_summary import DailySummary
from bot.records.database import StoreFault
from bot.records.day import DAY_NS
from bot.records.follow import Follower
from bot.records.rows import AccountRow, MarkRow, ProfitRow, TraderSample, account_of
from bot.records.store import Store
from venue.wire.instant import NS_PER_SECOND

POLL_S: Final = 2.0
"""Time between two polls of the journal."""

SAMPLE_NS: Final = 5 * NS_PER_SECOND
FRESH_NS: Final = 8 * NS_PER_SECOND
"""No sample is taken if the fills were read longer ago, as after a pause of the process: its
inventory is reconciled with the fills within `bot.records.day.AROUND_NS` of it."""

SAMPLES_MAX: Final = 720
"""Samples that wait for a failing store; the oldest go first."""

RETRY_MAX_S: Final = 60.0
HANG_S: Final = 30.0
"""Timeout of one access: then it counts as failed, but is waited for before the next one."""

FINISH_S: Final = 3.0
"""How long the end of a run waits for its last rows; the next start finds them in the journal."""

_FAR_BEHIND_BYTES: Final = 256 * 1024
_CATCH_UP_S: Final = 0.1
"""Time between two polls while far behind: short reads, so that the loop is not delayed."""

_DAY_OVER_NS: Final = 60 * NS_PER_SECOND
"""A day is summed up this long after midnight."""

_TRIES_A_DAY: Final = 3
"""Each may take ten minutes, during which nothing is stored."""


class DaemonThread(threading.Thread):
    """A thread that runs one call after another. As a daemon it keeps no process alive."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self._tasks: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.start()

    def run(self) -> None:
        while True:
            self._tasks.get()()

    async def run_call(self, work: Callable[[], Any]) -> Any:
        """Run a call there; returns and raises as it does."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Any] = loop.create_future()

        def resolve(answer: Any, fault: BaseException | None) -> None:
            if done.cancelled():
                return
            if fault is None:
                done.set_result(answer)
            else:
                done.set_exception(fault)

        def task() -> None:
            answer, fault = None, None
            try:
                answer = work()
            except Exception as found:  # noqa: BLE001 - raised again where it is awaited
                fault = found
            if not loop.is_closed():
                loop.call_soon_threadsafe(resolve, answer, fault)

        self._tasks.put(task)
        return await done


class _FinishedDay(msgspec.Struct, frozen=True):
    """A day of an account that is over. next_number: of the day after it, counted from 1970."""

    account: int
    day: datetime.date
    next_number: int


class Progress(msgspec.Struct):
    """The state of the records, for the metrics. fault: empty while they are written. age_ns: since
    the last write, None before."""

    fills: int = 0
    failures: int = 0
    gaps: int = 0
    unreadable: int = 0
    behind_bytes: int = 0
    written_ns: int | None = None
    age_ns: int | None = None
    fault: str = ""


class Recorder:
    """The records of one run. Give `run` a task of its own; it never ends and never raises."""

    name = "records"

    def __init__(
        self,
        open_store: Callable[[], Store],
        folder: Path,
        label: str,
        *,
        keep_days: int,
        series: str = "",
        is_lasting: bool = True,
        password: Secret | None = None,
        poll_s: float = POLL_S,
        hang_s: float = HANG_S,
        summary: DailySummary | None = None,
        notify: Callable[[str, int], None] = lambda _text, _at_ns: None,
    ) -> None:
        """folder: of the journal. label: see `rows.AccountRow`. series: see `Follower`. is_lasting:
        True if the account outlives the run. keep_days: older rows are deleted. summary: computes
        the line of each day that ends, for `notify`; None if nobody receives it."""
        self._open_store = open_store
        self._folder = folder
        self._label = label
        self._series = series
        self._is_lasting = is_lasting
        self._keep_ns = keep_days * DAY_NS
        self._poll_s = poll_s
        self._hang_s = hang_s
        self._in_flight: asyncio.Future[_FinishedDay | None] | None = None
        self._summary = summary
        self._notify = notify
        self.secrets: tuple[Secret, ...] = () if password is None else (password,)
        self._report: Callable[[], Report | None] = lambda: None
        self._now_ns: Callable[[], int] = lambda: 0
        self._thread = DaemonThread("records")
        self._store: Store | None = None
        self._follower: Follower | None = None
        self._samples: deque[TraderSample] = deque(maxlen=SAMPLES_MAX)
        self._fair: dict[str, int] = {}
        self._sampled_ns = 0
        self._pruned_day = -1
        self._summed_day = -1
        self._tries = 0
        self._wait_s = poll_s
        self._log = structlog.stdlib.get_logger("bot")
        self.progress = Progress()

    @property
    def families(self) -> tuple[tuple[Family[Any], Any], ...]:
        progress = self.progress
        if progress.written_ns is not None:
            progress.age_ns = self._now_ns() - progress.written_ns
        return tuple((family, progress) for family in RECORDS)

    def on_run_start(self, look: Callable[[], Report | None], now_ns: Callable[[], int]) -> None:
        self._report = look
        self._now_ns = now_ns
        self._summed_day = self._current_day()

    def did(self, effect: m.Effect, at_ns: int) -> None:
        """See Sidecar. Nothing: the journal has all of it, in order."""

    async def run(self) -> None:
        """Keep the records for ever; cancel it, then call `finish`."""
        while True:
            await self.poll_once()
            await asyncio.sleep(self._wait_s)

    async def on_run_end(self) -> None:
        """Store what the journal has by now, if the store accepts it in a few seconds."""
        if self._summary is not None:
            await self._summary.cancel()
            self._summary = None
        try:
            async with asyncio.timeout(FINISH_S):
                if self._in_flight is not None:
                    await self.poll_once()  # that poll began before the run's last entries
                self._sampled_ns = 0
                await self.poll_once()
                behind = None
                while self.progress.behind_bytes not in (0, behind) and not self.progress.fault:
                    behind = self.progress.behind_bytes
                    await self.poll_once()
                await self._thread.run_call(self._close)
        except TimeoutError:
            self._log.warning("records_unfinished", advice="the next start goes on from there")

    async def poll_once(self) -> None:
        """One poll; a fault is logged when it is new."""
        fault = ""
        try:
            self.sample()
            over = await self._poll_in_thread()
            if over is not None and self._summary is not None:
                await self._sum_up(over, self._summary)
        except OperatorError as found:
            fault = str(found)
        except Exception as found:  # noqa: BLE001 - the task's boundary: trading goes on without it
            fault = f"a fault of ours: {type(found).__name__}"
            self._log.exception("records_broken")
        progress = self.progress
        if fault:
            progress.failures += 1
            if not progress.fault:
                self._log.error(
                    "records_failed", text=fault, advice="trading goes on; they catch up later"
                )
            self._wait_s = min(RETRY_MAX_S, 2 * self._wait_s)
        else:
            if progress.fault:
                self._log.info("records_kept_again", behind_bytes=progress.behind_bytes)
            progress.written_ns = self._now_ns()
            far = progress.behind_bytes > _FAR_BEHIND_BYTES
            self._wait_s = _CATCH_UP_S if far else self._poll_s
        progress.fault = fault

    async def _sum_up(self, over: _FinishedDay, summary: DailySummary) -> None:
        """Notify of a day; a failure is retried a few times."""
        self._tries += 1
        if self._tries == _TRIES_A_DAY:
            self._summed_day, self._tries = over.next_number, 0
        line = await summary.summary_of(over.account, over.day)
        self._summed_day, self._tries = over.next_number, 0
        self._notify(line, self._now_ns())

    async def _poll_in_thread(self) -> _FinishedDay | None:
        """One poll in the thread; the day to sum up, if there is one.

        Raises StoreFault while a store does not come back from the one before.
        """
        if self._in_flight is None:
            self._in_flight = asyncio.ensure_future(self._thread.run_call(self._poll))
        await asyncio.wait([self._in_flight], timeout=self._hang_s)
        if not self._in_flight.done():
            raise StoreFault("the store does not answer")
        done, self._in_flight = self._in_flight, None
        return done.result()

    # --- on the loop ------------------------------------------------------------------------------

    def sample(self) -> None:
        now_ns = self._now_ns()
        if now_ns - self._sampled_ns < SAMPLE_NS:
            return
        report = self._report()
        # Before the account has been read, inventory is unknown.
        if report is None or report.profit is None or report.fills_from_ns is None:
            return
        if report.now_ns - report.fills_from_ns > FRESH_NS:
            return
        self._sampled_ns = now_ns
        total = report.profit.total
        profit = ProfitRow(
            report.now_ns,
            report.started_ns,
            total.profit_millicents,
            total.spread_millicents,
            total.adverse_millicents,
            total.drift_millicents,
            total.fees_cents,
            report.worst_case_cents,
            report.worst_case_limit_cents,
        )
        rungs = [rung for event in report.events for rung in event.rungs]
        marks = tuple(self._mark(rung, report.now_ns) for rung in rungs)
        self._samples.append(TraderSample(marks, profit))

    def _mark(self, rung: RungReport, at_ns: int) -> MarkRow:
        """A market's value as the attribution takes it: the newest fair value, else the mid of
        others, else the last price."""
        if rung.fair_cents is not None:
            self._fair[rung.market_id] = round(rung.fair_cents * 1_000)
        value = self._fair.get(rung.market_id)
        if value is None and rung.bids and rung.asks:
            value = (rung.bids[0][0] + rung.asks[0][0]) * 500
        if value is None and rung.last_price is not None:
            value = rung.last_price * 1_000
        return MarkRow(rung.market_id, at_ns, value, rung.yes_qty, rung.no_qty)

    # --- in the thread ----------------------------------------------------------------------------

    def _poll(self) -> _FinishedDay | None:
        """Store the new entries. Returns a finished day without a summary yet, else None.

        Raises OperatorError after closing everything, so that the next poll opens it again.
        """
        with ExitStack() as undo:
            undo.callback(self._close)
            store, follower = self._opened()
            found = follower.poll()
            if follower.account is None and found.behind <= _FAR_BEHIND_BYTES:
                resumed = self._resumed_follower(store)
                if resumed is not None:
                    follower, found = resumed, resumed.poll()
            # Entries that were read for no account are read again once there is one.
            cursor = None if follower.account is None else found.cursor
            self.progress.fills += store.write(found.batches, cursor)
            self.progress.gaps += found.gap
            self.progress.unreadable = follower.unreadable
            account = follower.account
            while account is not None and self._samples and self._is_of(account):
                store.write_sample(account.account, self._samples[0])
                self._samples.popleft()
            day = self._now_ns() // DAY_NS
            if day != self._pruned_day:
                store.prune((day * DAY_NS) - self._keep_ns)
                self._pruned_day = day
            undo.pop_all()
        self.progress.behind_bytes = found.behind
        # A day can be stated only once all of it was read.
        return None if found.behind > _FAR_BEHIND_BYTES else self._finished_day(account)

    def _resumed_follower(self, store: Store) -> Follower | None:
        """A follower that begins at the oldest entry, if the whole journal belongs to this run: it
        was read to its end and has no start. None before the run has started, or while its account
        is unknown."""
        shown = self._samples[0].profit if self._samples else None
        if shown is None or not self._is_lasting:
            return None
        book, label = store.book, self._label
        account = AccountRow(account_of(book, label), book, label, shown.started_ns)
        self._follower = Follower(self._folder, book, label, series=self._series, account=account)
        return self._follower

    def _is_of(self, account: AccountRow) -> bool:
        """True if the oldest sample is of the account that the journal has been read up to. Each
        run on an embedded venue has its own, and those before may not be read to their ends."""
        shown = self._samples[0].profit
        return account.label == self._label or (
            shown is not None and account.begun_ns == shown.started_ns
        )

    def _current_day(self) -> int:
        """The day, counted from 1970, on which the one before can be summed up."""
        return (self._now_ns() - _DAY_OVER_NS) // DAY_NS

    def _finished_day(self, account: AccountRow | None) -> _FinishedDay | None:
        """Yesterday, once its last fills have been read, until it was summed up."""
        day = self._current_day()
        if day <= self._summed_day:
            return None
        if account is None:
            self._summed_day = day
            return None
        date = datetime.datetime.fromtimestamp((day - 1) * 86_400, datetime.UTC).date()
        return _FinishedDay(account.account, date, day)

    def _opened(self) -> tuple[Store, Follower]:
        if self._store is None:
            self._store = self._open_store()
        if self._follower is None:
            self._follower = follower_of(self._store, self._folder, self._label, self._series)
        return self._store, self._follower

    def _close(self) -> None:
        store, self._store, self._follower = self._store, None, None
        if store is not None:
            store.close()


def follower_of(store: Store, folder: Path, label: str, series: str = "") -> Follower:
    """A follower that goes on from the store's cursor. series: see `Follower`."""
    cursor = store.cursor()
    rungs = [] if cursor is None else store.rungs(cursor.account)
    return Follower(folder, store.book, label, cursor, store.accounts(), rungs, series=series)
