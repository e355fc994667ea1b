"""Keeps the records beside a running bot: follows its journal and writes down what it tells.

All that blocks happens in one thread of its own, which no end of the bot waits for. A store that
fails or hangs is told once, counted, and tried again ever less often; the journal has everything
meanwhile, and what was drawn of the trader waits in bounded memory. Nothing here stops trading.
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
from bot.core.report import ProfitReport, Report, RungReport
from bot.io.faults import OperatorError
from bot.io.metrics.table import RECORDS, Family
from bot.io.secret import Secret
from bot.records.database import StoreFault
from bot.records.day import DAY_NS
from bot.records.follow import Follower
from bot.records.rows import AccountRow, MarkRow, Picture, ProfitRow, account_of
from bot.records.store import Store
from bot.records.telling import Teller
from venue.wire.instant import NS_PER_SECOND

LOOK_S: Final = 2.0
"""The journal is followed so often."""

PICTURE_NS: Final = 5 * NS_PER_SECOND
HEARD_NS: Final = 8 * NS_PER_SECOND
"""No picture is taken where the fills were read longer ago, as right behind a pause of the process:
what it shows is held to the fills within `bot.records.day.AROUND_NS` of it."""

PICTURES_MAX: Final = 720
"""Pictures that wait for a store that fails; the oldest go first."""

RETRY_MAX_S: Final = 60.0
HANG_S: Final = 30.0
"""A store that is away for so long in one look counts as failed; what it does is still waited for,
and nothing else is asked of it."""

FINISH_S: Final = 3.0
"""How long the end of a run waits for its last rows; the next start finds them in the journal."""

_FAR_BEHIND_BYTES: Final = 256 * 1024
_CATCH_UP_S: Final = 0.1
"""Between two looks while there is much to catch up with: the loop shall not notice."""

_DAY_OVER_NS: Final = 60 * NS_PER_SECOND
"""So long after midnight a day is taken for told."""

_TRIES_A_DAY: Final = 3
"""Each may take ten minutes, in which nothing is kept."""


class Hand(threading.Thread):
    """One thread that does one thing after another. Being a daemon, it keeps no process alive."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self._tasks: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.start()

    def run(self) -> None:
        """Do what is asked, for ever."""
        while True:
            self._tasks.get()()

    async def do(self, work: Callable[[], Any]) -> Any:
        """Have it done there; what it returns or raises."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Any] = loop.create_future()

        def told(answer: Any, fault: BaseException | None) -> None:
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
            except Exception as found:  # noqa: BLE001 - carried over to whoever waits
                fault = found
            if not loop.is_closed():
                loop.call_soon_threadsafe(told, answer, fault)

        self._tasks.put(task)
        return await done


class _Over(msgspec.Struct, frozen=True):
    """A day of an account that is over. number: of the one after it, counted from 1970."""

    account: int
    day: datetime.date
    number: int


class Progress(msgspec.Struct):
    """How the records stand, for the metrics. fault: empty while they are kept. age_ns: since they
    were last written, None before."""

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
        look_s: float = LOOK_S,
        hang_s: float = HANG_S,
        teller: Teller | None = None,
        told: Callable[[str, int], None] = lambda _text, _at_ns: None,
    ) -> None:
        """folder: where the journal stands. label: of what is traded, see `rows.AccountRow`.
        series: its own, see `Follower`. is_lasting: whether the account outlives the run.
        keep_days: what is older is forgotten. teller: sums up each day that ends, and `told` is
        told; None: nobody wants to know."""
        self._open_store = open_store
        self._folder = folder
        self._label = label
        self._series = series
        self._is_lasting = is_lasting
        self._keep_ns = keep_days * DAY_NS
        self._look_s = look_s
        self._hang_s = hang_s
        self._under_way: asyncio.Future[_Over | None] | None = None
        self._teller = teller
        self._told = told
        self.secrets: tuple[Secret, ...] = () if password is None else (password,)
        self._look: Callable[[], Report | None] = lambda: None
        self._now_ns: Callable[[], int] = lambda: 0
        self._hand = Hand("records")
        self._store: Store | None = None
        self._follower: Follower | None = None
        self._pictures: deque[Picture] = deque(maxlen=PICTURES_MAX)
        self._fair: dict[str, int] = {}
        self._drawn_ns = 0
        self._pruned_day = -1
        self._told_day = -1
        self._tries = 0
        self._wait_s = look_s
        self._log = structlog.stdlib.get_logger("bot")
        self.progress = Progress()

    @property
    def families(self) -> tuple[tuple[Family[Any], Any], ...]:
        """See Companion."""
        progress = self.progress
        if progress.written_ns is not None:
            progress.age_ns = self._now_ns() - progress.written_ns
        return tuple((family, progress) for family in RECORDS)

    def on_run_start(self, look: Callable[[], Report | None], now_ns: Callable[[], int]) -> None:
        """See Companion."""
        self._look = look
        self._now_ns = now_ns
        self._told_day = self._day_told_of()

    def did(self, effect: m.Effect, at_ns: int) -> None:
        """Nothing: the journal tells all of it, in order and for as long as it takes."""

    async def run(self) -> None:
        """Keep the records for ever; end it by cancelling, then call `finish`."""
        while True:
            await self._once()
            await asyncio.sleep(self._wait_s)

    async def on_run_end(self) -> None:
        """Write what the journal has by now, if the store takes it in a few seconds."""
        if self._teller is not None:
            await self._teller.end()
            self._teller = None
        try:
            async with asyncio.timeout(FINISH_S):
                if self._under_way is not None:
                    # That look began before the run's last words.
                    await self._once()
                self._drawn_ns = 0
                await self._once()
                behind = None
                while self.progress.behind_bytes not in (0, behind) and not self.progress.fault:
                    behind = self.progress.behind_bytes
                    await self._once()
                await self._hand.do(self._close)
        except TimeoutError:
            self._log.warning("records_unfinished", advice="the next start goes on from there")

    async def _once(self) -> None:
        """One look; what goes wrong is told when it is new."""
        fault = ""
        try:
            self._draw()
            over = await self._worked()
            if over is not None and self._teller is not None:
                await self._tell(over, self._teller)
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
            self._wait_s = _CATCH_UP_S if far else self._look_s
        progress.fault = fault

    async def _tell(self, over: "_Over", teller: Teller) -> None:
        """Tell of a day. One that cannot be stated is tried again, a few times."""
        self._tries += 1
        if self._tries == _TRIES_A_DAY:
            self._done_with(over)
        line = await teller.line(over.account, over.day)
        self._done_with(over)
        self._told(line, self._now_ns())

    def _done_with(self, over: "_Over") -> None:
        self._told_day, self._tries = over.number, 0

    async def _worked(self) -> "_Over | None":
        """One look in the thread: the day that is to be told of, if there is one.

        Raises StoreFault while a store does not come back from it.
        """
        if self._under_way is None:
            self._under_way = asyncio.ensure_future(self._hand.do(self._work))
        await asyncio.wait([self._under_way], timeout=self._hang_s)
        if not self._under_way.done():
            raise StoreFault("the store does not answer")
        done, self._under_way = self._under_way, None
        return done.result()

    # --- on the loop ------------------------------------------------------------------------------

    def _draw(self) -> None:
        """A picture of the trader, now and then."""
        now_ns = self._now_ns()
        if now_ns - self._drawn_ns < PICTURE_NS:
            return
        report = self._look()
        # Before the books are open it is not known what is held.
        if report is None or report.profit is None or report.fills_from_ns is None:
            return
        if report.now_ns - report.fills_from_ns <= HEARD_NS:
            self._drawn_ns = now_ns
            self._pictures.append(self._picture(report, report.profit))

    def _picture(self, report: Report, profit: ProfitReport) -> Picture:
        rungs = [rung for event in report.events for rung in event.rungs]
        return Picture(
            tuple(self._mark(rung, report.now_ns) for rung in rungs),
            ProfitRow(
                report.now_ns,
                report.started_ns,
                profit.total.profit_millicents,
                profit.total.spread_millicents,
                profit.total.adverse_millicents,
                profit.total.drift_millicents,
                profit.total.fees_cents,
                report.worst_case_cents,
                report.worst_case_limit_cents,
            ),
        )

    def _mark(self, rung: RungReport, at_ns: int) -> MarkRow:
        """A rung's value as the account of profit takes it: the newest fair value there was, else
        the mid of others, else the last price."""
        if rung.fair_cents is not None:
            self._fair[rung.market_id] = round(rung.fair_cents * 1_000)
        value = self._fair.get(rung.market_id)
        if value is None and rung.bids and rung.asks:
            value = (rung.bids[0][0] + rung.asks[0][0]) * 500
        if value is None and rung.last_price is not None:
            value = rung.last_price * 1_000
        return MarkRow(rung.market_id, at_ns, value, rung.yes_qty, rung.no_qty)

    # --- in the thread ----------------------------------------------------------------------------

    def _work(self) -> "_Over | None":
        """Write what is new; a day that is over by now and was not told of, else None.

        Raises ShellFault, everything let go of, to begin anew next time.
        """
        with ExitStack() as undo:
            undo.callback(self._close)
            store, follower = self._opened()
            found = follower.look()
            if follower.account is None and found.behind <= _FAR_BEHIND_BYTES:
                amid = self._from_amid(store)
                if amid is not None:
                    follower, found = amid, amid.look()
            # What was read for no account is read again once there is one.
            cursor = None if follower.account is None else found.cursor
            self.progress.fills += store.write(found.batches, cursor)
            self.progress.gaps += found.gap
            self.progress.unreadable = follower.unreadable
            account = follower.account
            while account is not None and self._pictures and self._is_of(account):
                store.write_picture(account.account, self._pictures[0])
                self._pictures.popleft()
            self._prune(store)
            undo.pop_all()
        self.progress.behind_bytes = found.behind
        # A day is stated of what was read of it: of a part it would be another one.
        return None if found.behind > _FAR_BEHIND_BYTES else self._day_over(account)

    def _from_amid(self, store: Store) -> Follower | None:
        """A follower from the oldest entry that is kept, where the journal was read to its end and
        tells of no start: all of it is of this run then, for each begins with its own. None where
        nobody knows yet that the run has begun, or what its account is."""
        shown = self._pictures[0].profit if self._pictures else None
        if shown is None or not self._is_lasting:
            return None
        book, label = store.book, self._label
        begun = AccountRow(account_of(book, label), book, label, shown.started_ns)
        self._follower = Follower(self._folder, book, label, series=self._series, amid=begun)
        return self._follower

    def _is_of(self, account: AccountRow) -> bool:
        """Whether the oldest picture is of the account that the journal has been read up to. Each
        run on an embedded venue has its own: those before it may not be read to their ends yet."""
        shown = self._pictures[0].profit
        return account.label == self._label or (
            shown is not None and account.begun_ns == shown.started_ns
        )

    def _day_told_of(self) -> int:
        """The day, counted from 1970, on which that before it is told of by now."""
        return (self._now_ns() - _DAY_OVER_NS) // DAY_NS

    def _day_over(self, account: AccountRow | None) -> "_Over | None":
        """Yesterday, once its last fills have been read, until it was told of."""
        day = self._day_told_of()
        if day <= self._told_day:
            return None
        if account is None:
            self._told_day = day
            return None
        date = datetime.datetime.fromtimestamp((day - 1) * 86_400, datetime.UTC).date()
        return _Over(account.account, date, day)

    def _opened(self) -> tuple[Store, Follower]:
        if self._store is None:
            self._store = self._open_store()
        if self._follower is None:
            self._follower = follower_of(self._store, self._folder, self._label, self._series)
        return self._store, self._follower

    def _prune(self, store: Store) -> None:
        """Once a day, and at the start: forget what is too old."""
        now_ns = self._now_ns()
        day = now_ns // DAY_NS
        if day != self._pruned_day:
            store.prune((day * DAY_NS) - self._keep_ns)
            self._pruned_day = day

    def _close(self) -> None:
        store, self._store, self._follower = self._store, None, None
        if store is not None:
            store.close()


def follower_of(store: Store, folder: Path, label: str, series: str = "") -> Follower:
    """A follower that goes on where the store says it got to. series: as of `Follower`."""
    cursor = store.cursor()
    rungs = [] if cursor is None else store.rungs(cursor.account)
    return Follower(folder, store.book, label, cursor, store.accounts(), rungs, series=series)
