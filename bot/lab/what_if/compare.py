"""A journalled run with another configuration: what happened, the model with the run's own
configuration, which shows its error, and the model with the other one."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec import Struct, structs

from bot.config.diff import Change
from bot.core import messages as m
from bot.core.reconfigure import Remake
from bot.io.journal.records import JournalFault
from bot.lab.exchange.assumptions import Terms
from bot.lab.exchange.queue_model import QueueModel
from bot.lab.journal_market import JournalMarket, read_market
from bot.lab.replay import Replayer, replay
from bot.lab.session import Run, Until, beside_of, placed_entries, version_of
from bot.lab.what_if.changes import Trial
from bot.lab.what_if.run import Quoted, RunFigures, Setup, WhatIfRun, figures_of
from venue.wire import instant
from venue.wire.instant import NS_PER_MS
from venue.wire.names import Ticker

Progress = Callable[[str, int, int], None]
"""Called now and then: the work, how much is done, and of how much."""


class ModelResult(Struct, frozen=True):
    reading: str  # the queue model
    unchanged: RunFigures
    changed: RunFigures | None  # None where no change was wanted


class ModelTerms(Struct, frozen=True):
    """The model's assumptions; latencies and fees are those of the run."""

    read_lag_ns: int
    power: float
    seed: int


class WhatIfResult(Struct, frozen=True, kw_only=True):
    nonce: str
    beside: tuple[Ticker, ...]  # the other series of its process then, which are missing
    segments: tuple[str, ...]
    version: int  # of the journal
    begun_ns: int
    ended_ns: int
    cut: str  # why it is up to there alone, else empty
    changed: tuple[Change, ...]
    happened: RunFigures
    played: tuple[ModelResult, ...]
    records: int
    given_back: int  # prints that filled us then
    short_qty: int  # shares of ours that books should have shown and did not
    feed_ns: int
    write_ns: int
    terms: ModelTerms
    cpu_s: float


def compare(
    run: Run,
    again: Replayer,
    had: m.Configuration,
    trial: Trial,
    remake: Remake,
    terms: Terms,
    readings: Sequence[QueueModel],
    until: Until,
    progress: Progress = lambda _what, _done, _of: None,
) -> WhatIfResult:
    """again: the run, not replayed yet. had: its configuration. Raises ConfigFault, JournalFault
    for a run that cannot be replayed or saw no market, and Stalled."""
    began_s = time.process_time()
    wanted = None if trial.is_empty else trial.on(had)
    market = read_market(placed_entries(run.paths), beside_of(run), until, ends_at_payout=True)
    if not market.books or not market.markets:
        raise JournalFault(
            f"{run.paths[0]}: the run saw no book of any rung: no market to trade in"
        )
    happened = _happened(run, again, market, until, progress)

    def reconfigured(event: m.Reconfigured) -> m.Reconfigured | None:
        # A file replaces the whole configuration; sets apply on top of each of its changes.
        if trial.file is not None:
            return None
        return structs.replace(event, configured=trial.on(event.configured).configured)

    setups = {"unchanged": Setup(had, remake)}
    if wanted is not None:
        setups["changed"] = Setup(wanted.configured, remake, reconfigured)
    played = []
    for reading in readings:
        came = {}
        for name, setup in setups.items():

            def on_progress(done: int, what: str = f"{reading}, {name}") -> None:
                progress(what, done, len(market.history))

            came[name] = WhatIfRun(market, run.started, setup, terms, reading).run(on_progress)
        played.append(ModelResult(reading.value, came["unchanged"], came.get("changed")))
    writes = sorted(market.write_trips_ns) or [0]
    return WhatIfResult(
        nonce=run.started.boot_nonce,
        beside=beside_of(run),
        segments=tuple(path.name for path in run.paths),
        version=version_of(run),
        begun_ns=run.begun_ns,
        ended_ns=market.ended_ns,
        cut=market.cut,
        changed=() if wanted is None else wanted.changed,
        happened=happened,
        played=tuple(played),
        records=len(market.history),
        given_back=sum(each.filled_us for each in market.history),
        short_qty=market.short_qty,
        feed_ns=market.feed_ns,
        write_ns=writes[len(writes) // 2],
        terms=ModelTerms(terms.read_lag_ns, terms.power, terms.seed),
        cpu_s=time.process_time() - began_s,
    )


def _happened(
    run: Run, again: Replayer, market: JournalMarket, until: Until, progress: Progress
) -> RunFigures:
    upto = Until(min(market.ended_ns, until.at_ns), until.number, until.place)
    found = replay(again, upto, lambda done: progress("what happened", done, 0))
    if found.difference is not None:
        at = found.difference.before[-1].place
        raise JournalFault(
            f"{run.paths[0].parent}: this program decides otherwise than the one that wrote the "
            f"journal, from {at.segment}:{at.entry} on (`bot replay` shows what); what happened "
            "cannot be compared"
        )
    if found.damage:
        raise JournalFault(found.damage)
    span_ns = (run.begun_ns, market.ended_ns)
    tickers = {each.market_id: each.ticker for each in market.markets.values()}
    ahead_ns = market.clock_ahead_ns
    return figures_of(again.trader, market.own, span_ns, tickers, found.events, ahead_ns)


_NAME: Final = 30
_WIDE: Final = 13

_Number = Callable[[RunFigures], float | None]


def _profit(part: str) -> _Number:
    return lambda of: None if of.profit is None else getattr(of.profit, part) / 100_000


_ROWS: Final[tuple[tuple[str, _Number, int], ...]] = (
    ("profit $", _profit("profit"), 2),
    ("  spread $", _profit("spread"), 2),
    ("  adverse $", _profit("adverse"), 2),
    ("  drift $", _profit("drift"), 2),
    ("  less fees $", _profit("fees"), 2),
    ("fills", lambda of: of.fills, 0),
    ("  shares that came", lambda of: of.maker_qty, 0),
    ("  shares that we took", lambda of: of.taker_qty, 0),
    ("requests: create", lambda of: of.requests["create"], 0),
    ("  amend", lambda of: of.requests["amend"], 0),
    ("  cancel", lambda of: of.requests["cancel"], 0),
    ("  read", lambda of: of.requests["read"], 0),
    ("refused", lambda of: sum(of.refused.values()), 0),
    ("unknown", lambda of: of.unknown, 0),
    ("worst case $", lambda of: of.worst_case_max_cents / 100, 2),
    ("quoted, % of time", lambda of: 100 * of.present, 1),
)


def text(result: WhatIfResult) -> str:
    return "\n".join(
        [*_head(result), "", *_figures(result), "", *_quotes(result), "", *notes(result)]
    )


def _head(result: WhatIfResult) -> Iterator[str]:
    minutes = (result.ended_ns - result.begun_ns) / 60e9
    yield (
        f"session {result.nonce}, {result.segments[0]}, from {instant.from_ns(result.begun_ns)}, "
        f"{minutes:.1f} minutes, {result.records} records of the market"
    )
    if result.cut:
        yield f"up to {instant.from_ns(result.ended_ns)} alone: {result.cut}"
    for change in result.changed:
        yield f"changed  {change.key}: {change.old} -> {change.new}"
    if not result.changed:
        yield "nothing was changed: the model and what happened"


def _cell(value: float | None, digits: int, sign: str = "") -> str:
    return f"{'-':>{_WIDE}}" if value is None else f"{value:{sign}{_WIDE},.{digits}f}"


def _less(after: float | None, before: float | None) -> float | None:
    return None if after is None or before is None else after - before


def _figures(result: WhatIfResult) -> Iterator[str]:
    for played in result.played:
        heads = ["happened", "unchanged", "model error"]
        heads += [] if played.changed is None else ["changed", "difference"]
        name = f"under {played.reading}"
        yield f"{name:<{_NAME}}" + "".join(f"{head:>{_WIDE}}" for head in heads)
        for row, number, digits in _ROWS:
            then, same = number(result.happened), number(played.unchanged)
            cells = [_cell(then, digits), _cell(same, digits)]
            cells.append(_cell(_less(same, then), digits, sign="+"))
            if played.changed is not None:
                other = number(played.changed)
                cells += [_cell(other, digits), _cell(_less(other, same), digits, sign="+")]
            yield f"{row:<{_NAME}}" + "".join(cells)
        yield ""
    yield (
        "unchanged: the model on the unchanged configuration; model error: that less what happened"
    )
    if result.changed:
        yield "difference: changed less unchanged, both of the model"


def _quotes(result: WhatIfResult) -> Iterator[str]:
    for played in result.played:
        sides = {"happened": result.happened, "unchanged": played.unchanged}
        sides |= {} if played.changed is None else {"changed": played.changed}
        longest = max((len(quoted.ticker) for quoted in result.happened.quotes), default=0)
        wide = max(_NAME, longest + 6)
        heads = "".join(f"{f'{head}: % at c x qty':>28}" for head in sides)
        yield f"{f'quotes, {played.reading}':<{wide}}{heads}"
        for row in zip(*(side.quotes for side in sides.values()), strict=True):
            cells = "".join(f"{_quote(quoted):>28}" for quoted in row)
            yield f"{f'{row[0].ticker} {row[0].side}':<{wide}}{cells}"


def _quote(quoted: Quoted) -> str:
    if quoted.price_cents is None or quoted.qty is None:
        return "never"
    return f"{100 * quoted.present:5.1f} {quoted.price_cents:6.2f} x{quoted.qty:6.1f}"


def notes(result: WhatIfResult) -> list[str]:
    lines = [
        f"{result.given_back} prints had filled us and stay in the market",
        f"requests take as long as they took then, a write {result.write_ns / NS_PER_MS:.0f} ms in "
        f"the middle, the channel {result.feed_ns / NS_PER_MS:.0f} ms",
        "the others do as they did: nobody answers to other quotes, and no request fails",
    ]
    if result.beside:
        lines.append(
            f"{', '.join(result.beside)} traded in its process: their share of the request budget "
            "and the loss limit is missing in both rows of the model"
        )
    if result.short_qty:
        lines.append(
            f"{result.short_qty} shares of ours were missing from books: the market "
            "without us is not known exactly"
        )
    lines += _troubles("happened", result.happened)
    for played in result.played:
        lines += _troubles(f"{played.reading}, unchanged", played.unchanged)
        if played.changed is not None:
            lines += _troubles(f"{played.reading}, changed", played.changed)
        lines += _doubts(result.happened, played)
    return lines


def _troubles(name: str, of: RunFigures) -> Iterator[str]:
    if of.latched:
        yield f"{name}: latched: {of.latched}"
    if of.strategy_errors:
        yield f"{name}: {of.strategy_errors} strategy errors, the first: {of.strategy_fault}"


def _doubts(happened: RunFigures, played: ModelResult) -> Iterator[str]:
    """A note where the difference in profit is within the model's error."""
    number = _profit("profit")
    then, same = number(happened), number(played.unchanged)
    other = None if played.changed is None else number(played.changed)
    error, difference = _less(same, then), _less(other, same)
    if error is not None and difference is not None and abs(difference) <= abs(error):
        yield (
            f"{played.reading}: the profit differs by {difference:+.2f} $, the model is off by "
            f"{error:+.2f} $ on the known result: that difference says nothing"
        )
