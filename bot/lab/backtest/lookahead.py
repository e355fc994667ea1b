"""Finds strategies that look ahead, by comparing their quotes with the future present and cut off.

Each run has a process of its own, whose tape ends at its cut (docs/lab.md, Looking ahead). An audit
hook sees every file that Python code opens, so that nobody else reads the data.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Final

import msgspec

from bot.config.bot_config import finish, read_draft
from bot.lab.backtest.run import Backtest
from bot.lab.exchange.assumptions import Terms
from bot.lab.exchange.queue_model import QueueModel
from bot.lab.pool import deaf
from bot.strategy.api import EventView, Quotes, Strategy, StrategyAnswer, name_of, quotes_of
from venue.crowd.tape import Tape, closes_ns

CUTS: Final = 3
"""Instants at which the future is cut off: after a quarter, a half and three quarters of it."""

PLAYS: Final = CUTS + 1  # how often an event is played, where nothing is found
_NEAR: Final = 40  # a cut lies no further from its place than one part in so many of the records
RAISED: Final = b"it raised"  # recorded where there was no answer


class CutRun(msgspec.Struct, frozen=True):
    """One play of an event up to an instant."""

    tape: Tape
    folder: Path  # of the data, which nobody may open
    config: Path
    terms: Terms
    resolution_ns: int
    until_ns: int
    through_ns: int = 0  # the end of the quiet behind `until_ns`, which is lived as well
    sets: tuple[str, ...] = ()  # keys set over the configuration


class GuardedAnswers(msgspec.Struct, frozen=True):
    answers: tuple[tuple[int, bytes], ...]
    opened: tuple[str, ...]


class LookaheadFault(Exception):
    """The strategy looks ahead, or opened a file of the data."""


class LookaheadSign(msgspec.Struct, frozen=True):
    event: str
    at_ns: int  # of the first quotes that are others; 0 for a file
    found: str  # in words


class AnswerRecorder(Strategy):
    """A strategy whose answers are written down."""

    def __init__(self, inner: Strategy, heard: Callable[[bytes], None]) -> None:
        """heard: called with each answer as plain bytes, of `RAISED` where there was none."""
        self._inner = inner
        self._on_answer = heard
        self.name = name_of(inner)  # type: ignore[misc]
        super().__init__(inner.params)

    def quote(self, view: EventView) -> Quotes | StrategyAnswer:
        text = RAISED
        try:
            answer = self._inner.quote(view)
            quotes = quotes_of(answer)
            text = msgspec.json.encode({key: quotes[key] for key in sorted(quotes)})
        finally:
            self._on_answer(text)
        return answer


def record_answers(asked: CutRun) -> GuardedAnswers:
    """Play it and write down every answer of the strategy. Raises ConfigFault."""
    end_ns = max(asked.until_ns, asked.through_ns)
    tape, answers = asked.tape, list[tuple[int, bytes]]()
    with watched([asked.folder], asked.config) as opened:
        made = finish(read_draft(asked.config, sets=asked.sets))

        def make() -> Strategy:
            return AnswerRecorder(
                made.make_strategy(), lambda text: answers.append((run.recorded_ns, text))
            )

        queue_model, resolution_ns = QueueModel.PESSIMISTIC, asked.resolution_ns
        run = Backtest(tape, made.trader, make, queue_model, asked.terms, resolution_ns)
        run.run(lambda _records: run.recorded_ns <= asked.until_ns)
        if run.recorded_ns <= asked.until_ns:
            run.live_on(end_ns)
    return GuardedAnswers(tuple(row for row in answers if row[0] <= end_ns), tuple(opened))


def cuts(tape: Tape, records_max: int | None = None) -> list[int]:
    """The instants of the cuts, each moved to the longest quiet near its place."""
    times = [record.ts for record in tape.records[:records_max]]
    count = len(times)
    reach = count // _NEAR
    found: list[int] = []
    for part in range(1, CUTS + 1):
        place = max(1, count * part // (CUTS + 1))
        near = range(max(1, place - reach), min(count - 1, place + reach) + 1) or range(1, 2)

        def quiet(at: int, place: int = place) -> tuple[int, int]:
            return (times[at] - times[at - 1] if at < count else 0, -abs(at - place))

        found.append(times[max(near, key=quiet) - 1])
    return found


def known_at(tape: Tape, at_ns: int) -> Tape:
    records = tuple(record for record in tape.records if record.ts <= at_ns)
    values = tuple(row for row in tape.values if row[0] <= at_ns)
    return msgspec.structs.replace(tape, records=records, values=values, end_ts=records[-1].ts)


def quiet_through(tape: Tape, until_ns: int) -> int:
    """The last instant before the next record or index price; `until_ns` where none follows."""
    later = (record.ts for record in tape.records)
    priced = (at_ns for at_ns, _ in tape.values)
    ends = [
        next_ns - 1
        for times in (later, priced)
        if (next_ns := next((at_ns for at_ns in times if at_ns > until_ns), None)) is not None
    ]
    return min(ends, default=until_ns)


def lookahead_signs(
    tape: Tape,
    folder: Path,
    config: Path,
    terms: Terms,
    records_max: int | None = None,
    progress: Callable[[int], None] = lambda plays: None,
    sets: tuple[str, ...] = (),
) -> Iterator[LookaheadSign | int]:
    """After each cut the number of equal answers up to it, or one sign of looking ahead, and then
    no more. progress: runs done, of `PLAYS`. sets: keys set over the file. Raises ConfigFault."""
    instants = cuts(tape, records_max)
    whole: GuardedAnswers | None = None
    for plays, until_ns in enumerate((instants[-1], *instants), 1):
        given = tape if whole is None else known_at(tape, until_ns)
        through_ns = quiet_through(tape, until_ns)
        closing_ns = closes_ns(tape)
        heard = _alone(CutRun(given, folder, config, terms, closing_ns, until_ns, through_ns, sets))
        progress(plays)
        if heard.opened:
            yield LookaheadSign(tape.event, 0, f"opened {heard.opened[0]}")
            return
        if whole is None:
            whole = heard
            continue
        sign = _difference(tape.event, whole.answers, heard.answers, through_ns)
        yield sign or len(heard.answers)
        if sign is not None:
            return


def _alone(asked: CutRun) -> GuardedAnswers:
    """`record_answers` in a fresh process, which Ctrl-C ends: half of its answers say nothing."""
    with ProcessPoolExecutor(1, get_context("spawn"), initializer=deaf) as pool:
        try:
            return pool.submit(record_answers, asked).result()
        except KeyboardInterrupt:
            for child in active_children():
                child.kill()
            raise


def _difference(
    event: str,
    whole: Sequence[tuple[int, bytes]],
    cut: Sequence[tuple[int, bytes]],
    until_ns: int,
) -> LookaheadSign | None:
    known = [row for row in whole if row[0] <= until_ns]
    for number, (mine, theirs) in enumerate(zip(known, cut, strict=False), 1):
        if mine != theirs:
            return LookaheadSign(
                event, mine[0], f"answer {number} wants something else without the future"
            )
    if len(known) != len(cut):
        at_ns = [*known, *cut][min(len(known), len(cut))][0] if known or cut else until_ns
        return LookaheadSign(
            event, at_ns, f"{len(known)} answers with the future, {len(cut)} without"
        )
    return None


# --- who opens the data ---------------------------------------------------------------------------

_OPENS: Final = frozenset({"open", "os.link", "os.rename"})
"""Events whose first argument is a path that is opened, or gets another name."""


class _Opens:
    """The one hook of the process: a hook cannot be removed."""

    def __init__(self) -> None:
        self.folders: tuple[str, ...] = ()
        self.config = ""
        self.opened: list[str] = []
        self.is_hooked = False

    def on_audit(self, event: str, arguments: tuple[object, ...]) -> None:
        if event not in _OPENS or not self.folders:
            return
        named = arguments[0]
        if not isinstance(named, str | bytes | os.PathLike):
            return
        path = os.path.realpath(os.fsdecode(named))
        if path == self.config or _is_code(path):
            return
        # An open folder gives access to its files without their paths.
        if f"{path}{os.sep}".startswith(self.folders) and path not in self.opened:
            self.opened.append(path)


def _is_code(path: str) -> bool:
    return path.endswith(".py") or f"{os.sep}__pycache__{os.sep}" in path


_OPENED = _Opens()


@contextmanager
def watched(folders: Sequence[Path], config: Path | None = None) -> Iterator[list[str]]:
    """The files under these folders that are opened meanwhile, except `config`; the list grows."""
    if not _OPENED.is_hooked:
        sys.addaudithook(_OPENED.on_audit)
        _OPENED.is_hooked = True
    _OPENED.opened = []
    _OPENED.config = "" if config is None else os.path.realpath(config)
    _OPENED.folders = tuple(os.path.realpath(folder) + os.sep for folder in folders)
    try:
        yield _OPENED.opened
    finally:
        _OPENED.folders = ()
