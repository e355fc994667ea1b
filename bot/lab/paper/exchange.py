"""The local exchange of a paper run: its account on disk, and its time.

Every command that changes the exchange is appended to a command log, the venue's own
(`venue.storage`), before anybody is answered. The next run applies the log again and has the same
cash, positions, fills and orders. What the log does not hold is the market: until a book has been
shown again, nothing fills, and then our orders are behind everything in it.
"""

import asyncio
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Final

import msgspec

from bot.core.market_data.venue_clock import VenueClock
from bot.io.faults import OperatorError
from bot.lab.exchange.exchange import MAKER, Exchange
from bot.lab.exchange.live import LiveMarket
from bot.lab.exchange.queue_model import QueueModel
from bot.lab.exchange.terms import Terms
from venue.engine import messages as v
from venue.storage.log import CommandLog, LogBroken, LogFull
from venue.storage.record import Entry, StateFault
from venue.storage.statedir import StateDir
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Cents

FOLDER: Final = "account"
"""In the state directory of the run."""

_FORGOTTEN_EVERY: Final = 1_000
"""So many commands that are applied again leave no more in memory than the exchange needs."""

_LATE_NS_MAX: Final = 60 * NS_PER_SECOND


class PaperFault(OperatorError):
    """The paper account cannot be read or written; the text says what to do."""


class PaperClock:
    """The time of the exchange: the bot's clock, less how late the prints of the venue come now, so
    that the trader finds the channel as late as it is. It never steps back."""

    def __init__(self, now_ns: Callable[[], int]) -> None:
        self._now_ns = now_ns
        self._venue = VenueClock()
        self._late_ns = 0
        self._reached_ns = 0

    def on_print(self, ts_ns: int) -> None:
        """A print of the venue's `ts_ns` arrived now."""
        now_ns = self._now_ns()
        self._venue.on_stamp(ts_ns, now_ns)
        ahead_ns = self._venue.ahead_ns
        if ahead_ns is not None:
            self._late_ns = min(max(0, now_ns + ahead_ns - ts_ns), _LATE_NS_MAX)

    def advance(self, at_ns: int) -> None:
        """It is no earlier than this."""
        self._reached_ns = max(self._reached_ns, at_ns)

    def now_ns(self) -> int:
        """Now."""
        self.advance(self._now_ns() - self._late_ns)
        return self._reached_ns


class CommandWriter:
    """Appends commands to a log in order, in a thread. Commands of one instant are on disk all or
    none."""

    def __init__(self, log: CommandLog) -> None:
        self._log = log
        self._waiting: list[Entry] = []
        self._given = self._written = 0
        self._progress = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._fault = ""

    def put(self, command: v.Command, at_ns: int) -> None:
        """Append a command soon."""
        self._given += 1
        self._waiting.append(Entry(self._given, at_ns, command))
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._write())

    async def durable(self) -> None:
        """Return when everything given so far is on disk. Raises PaperFault when it cannot be."""
        given = self._given
        while self._written < given and not self._fault:
            await self._progress.wait()
        if self._fault:
            raise PaperFault(self._fault)

    async def failed(self) -> None:
        """Wait until an append fails. Raises PaperFault."""
        while not self._fault:
            await self._progress.wait()
        raise PaperFault(self._fault)

    async def _write(self) -> None:
        while self._waiting and not self._fault:
            taken, self._waiting = self._waiting, []
            try:
                await asyncio.to_thread(self._append, taken)
                self._written += len(taken)
            except (LogFull, LogBroken) as fault:
                self._fault = f"{fault}; what the paper account did last may be lost"
            self._progress.set()
            self._progress = asyncio.Event()

    def _append(self, entries: list[Entry]) -> None:
        for at_ns, same in groupby(entries, key=lambda each: each.at_ns):
            self._log.append(at_ns, [each.command for each in same])

    def close(self) -> None:
        """Let go of the log."""
        self._log.close()


class PaperExchange:
    """The exchange with our account, on a live market. is_new: True if this run opened the account.

    Make it inside the event loop; end it with `close`.
    """

    def __init__(
        self,
        terms: Terms,
        queue_model: QueueModel,
        folder: Path | None,
        now_ns: Callable[[], int],
    ) -> None:
        """terms: `cash_cents` is what a new account begins with. folder: where the account is kept;
        None: it ends with this run. Raises PaperFault."""
        self.clock = PaperClock(now_ns)
        self._state: StateDir | None = None
        self._writer: CommandWriter | None = None
        # The log has the deposit, so that another setting changes no account that has begun.
        empty = msgspec.structs.replace(terms, cash_cents=Cents(0))
        self.market = LiveMarket((), empty, queue_model, self.clock.now_ns())
        try:
            self.is_new = folder is None or not self._go_on(folder)
        except StateFault as fault:
            raise PaperFault(f"the paper account: {fault}") from None
        self.exchange.watchers.append(self._keep)
        if self.is_new:
            self.exchange.apply(v.Deposit(MAKER, terms.cash_cents), self.clock.now_ns())
        self.exchange.read_all(self.clock.now_ns())

    def _go_on(self, folder: Path) -> bool:
        """Apply the log of a folder, then append to it. True if it has commands."""
        self._state = StateDir.open(folder)
        applied = 0
        for applied, entry in enumerate(self._state.entries(0), 1):
            self._apply_again(entry)
            if applied % _FORGOTTEN_EVERY == 0:
                self._forget_shown(entry.at_ns)
        self._forget_shown(self.clock.now_ns())
        self._writer = CommandWriter(self._state.log())
        return applied > 0

    def _apply_again(self, entry: Entry) -> None:
        command = entry.command
        assert not isinstance(command, v.AccessCommand)
        self.clock.advance(entry.at_ns)
        if isinstance(command, v.ResolveMarket):
            self.market.resolve(command.market_id, command.winner, entry.at_ns)
        else:
            self.exchange.apply(command, entry.at_ns)

    def _forget_shown(self, now_ns: int) -> None:
        """What the channel showed then is of no use now; what an account shows is read."""
        self.market.frames(now_ns)
        self.market.marks.clear()
        self.exchange.read_all(now_ns)

    def _keep(
        self, command: v.Command, _answer: v.Answer, events: list[v.Event], at_ns: int
    ) -> None:
        if events and self._writer is not None:
            self._writer.put(command, at_ns)

    @property
    def exchange(self) -> Exchange:
        """Where our orders are."""
        return self.market.exchange

    async def durable(self) -> None:
        """Return when everything that was done so far is on disk. Raises PaperFault when it cannot
        be."""
        if self._writer is not None:
            await self._writer.durable()

    async def failed(self) -> None:
        """Wait until the account cannot be written. Raises PaperFault."""
        if self._writer is None:
            await asyncio.Event().wait()
        else:
            await self._writer.failed()

    def close(self) -> None:
        """Let go of the account's folder."""
        if self._writer is not None:
            self._writer.close()
        if self._state is not None:
            self._state.close()
