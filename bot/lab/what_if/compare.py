"""A journalled run with another configuration, beside what happened and the model's own error.

Three rows for each reading of the queue: what happened; what the model makes of the configuration
that the run had, and so how far the model is from what happened; what it makes of the other one. A
difference between the last two is worth what the model is worth.
"""

import time
from collections.abc import Callable, Sequence

from msgspec import Struct, structs

from bot.config.diff import Change
from bot.core import messages as m
from bot.core.reconfigure import Remake
from bot.io.journal.records import JournalFault
from bot.lab.exchange.queue_model import QueueModel
from bot.lab.exchange.terms import Terms
from bot.lab.journal_market import JournalMarket, read_market
from bot.lab.replay.replay import Replayer, replay
from bot.lab.session import Run, Until, beside_of, placed_entries, version_of
from bot.lab.what_if.figures import RunFigures, figures_of
from bot.lab.what_if.run import Setup, WhatIfRun
from bot.lab.what_if.trial import Trial
from venue.wire.names import Ticker

Progress = Callable[[str, int, int], None]
"""Called now and then: what is done, how much of it is through, and of how much."""


class ModelResult(Struct, frozen=True):
    """What the model makes of the run under one reading. unchanged: of the configuration that
    it had; changed: of the other one, None where none was wanted."""

    reading: str
    unchanged: RunFigures
    changed: RunFigures | None


class ModelTerms(Struct, frozen=True):
    """What the model was told; round trips and fees are those of the run."""

    read_lag_ns: int
    power: float
    seed: int


class WhatIfResult(Struct, frozen=True, kw_only=True):
    """All of it. version: of the journal. cut: why it is told up to there alone, else empty.
    short_qty: shares of ours that books should have shown and did not: 0 where the market without
    us is known exactly. given_back: prints that filled us then. beside: the other series of its
    process then, of which nothing is there."""

    nonce: str
    beside: tuple[Ticker, ...]
    segments: tuple[str, ...]
    version: int
    begun_ns: int
    ended_ns: int
    cut: str
    changed: tuple[Change, ...]
    happened: RunFigures
    played: tuple[ModelResult, ...]
    records: int
    given_back: int
    short_qty: int
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
    """Play a run as it was configured and otherwise. again: the run, not replayed yet. had: what it
    was configured with.

    Raises ConfigFault for a configuration that cannot be, JournalFault for a run that cannot be
    replayed (then this is another program than wrote the journal) or saw no market, and Stalled
    when the strategy does not come back.
    """
    began_s = time.process_time()
    wanted = None if trial.is_empty else trial.on(had)
    market = read_market(placed_entries(run.paths), beside_of(run), until, ends_at_payout=True)
    if not market.books or not market.markets:
        raise JournalFault(
            f"{run.paths[0]}: the run saw no book of any rung: no market to trade in"
        )
    happened = _happened(run, again, market, until, progress)
    setups = {"unchanged": Setup(had, remake)}
    if wanted is not None:

        def reconfigured(event: m.Reconfigured) -> m.Reconfigured | None:
            # A file stands for the whole run; sets stand on top of every change of its own.
            if trial.file is not None:
                return None
            return structs.replace(event, configured=trial.on(event.configured).configured)

        setups["changed"] = Setup(wanted.configured, remake, reconfigured)
    played = []
    for reading in readings:
        came = {}
        for name, setup in setups.items():

            def told(done: int, what: str = f"{reading}, {name}") -> None:
                progress(what, done, len(market.history))

            came[name] = WhatIfRun(market, run.started, setup, terms, reading).run(told)
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
    """Raises JournalFault when the run cannot be replayed."""
    upto = Until(min(market.ended_ns, until.at_ns), until.number, until.place)
    found = replay(again, upto, lambda done: progress("what happened", done, 0))
    if found.difference is not None:
        at = found.difference.before[-1].place
        raise JournalFault(
            f"{run.paths[0].parent}: this program decides otherwise than the one that wrote the "
            f"journal, from {at.segment}:{at.entry} on (`bot replay` shows what); what happened "
            "cannot be told beside what would have"
        )
    if found.damage:
        raise JournalFault(found.damage)
    span_ns = (run.begun_ns, market.ended_ns)
    tickers = {each.market_id: each.ticker for each in market.markets.values()}
    ahead_ns = market.clock_ahead_ns
    return figures_of(again.trader, market.own, span_ns, tickers, found.events, ahead_ns)
