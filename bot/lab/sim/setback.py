"""A venue that is set back: a backup is put back, and what happened since is gone.

While all else is quiet, or in some worlds amid faults of requests, reads and frames, the crowd
trades for as long as the backup is old, and takes of the bot's orders. Then the venue is what it
was before: orders, fills, cash and positions are those of then, and ids are used anew. The channel
breaks, as it does where a venue begins anew.

Source: docs/runbooks/ReconcileDifference.md; reliability, rows 29, 36, 54, 62.
"""

import random
from functools import partial
from typing import TYPE_CHECKING, Final

from bot.core import messages as m
from bot.core.account.gonefill import GONE_NS
from bot.lab.sim.judge.broken import check
from bot.lab.sim.odds import MS, SECOND
from venue.core import messages as v
from venue.wire.money import Side

if TYPE_CHECKING:
    from bot.lab.sim.world import World

_TRADES: Final = 0.6
_TAKES: Final = (0, 0, 1, 2, 4)
_MOVES: Final = 8
_PAUSED: Final = 0.4
_PAUSED_NS: Final = 300 * MS
_AWAY_NS: Final = (100 * MS, 3 * SECOND)
_TOLD_NS: Final = 30 * SECOND
"""Longer than it takes beside `GONE_NS` until cash, shares and fills have been read."""

_GONE_NS: Final = 20 * SECOND
"""Longer than it takes until all that could show an order that is gone has been asked."""


def go_back(world: "World", rng: random.Random) -> list[v.FillBooked]:
    """Let the crowd trade, and put back the backup that was made before. Returns the fills of the
    account that are gone."""
    age_ns = world.odds.set_back_ns
    assert age_ns is not None
    first = world.first
    for each in first.together:
        each.faulty = world.odds.back_amid_ns is not None
    backup, books = first.exchange.backup(world.now_ns), first.venue_audit.kept()
    kept = [each.auditor.kept() for each in first.together]
    until_ns = world.now_ns + age_ns
    trades = rng.random() < _TRADES
    for each in first.together:
        if trades:
            each.after(0, partial(each.crowd_acts, until_ns))
        takes = rng.choice(_TAKES) if trades else 0
        if rng.random() < _PAUSED:
            each.at(world.now_ns + int(rng.random() * age_ns), partial(_step_back, each))
        for act in (*(_take,) * takes, *(_move,) * _MOVES):
            each.at(world.now_ns + int(rng.random() * age_ns), partial(act, each, rng))
    world.run_until(until_ns)
    gone = [
        fill
        for each, was in zip(first.together, kept, strict=True)
        for _, fill in each.auditor.truth.fills[len(was.truth.fills) :]
    ]
    world.seen.fault("set_back")
    world.seen.hit("fill_gone", len(gone))
    world.trace.append((world.now_ns, "!", f"set back by {age_ns / SECOND} s, {len(gone)} fills"))
    first.exchange.put_back(backup)
    first.venue_audit.put_back(books)
    away_ns = rng.choice(_AWAY_NS)
    for each, was in zip(first.together, kept, strict=True):
        each.auditor.put_back(was)
        each.channel.close(away_ns)
        for market in each.crowd.value:
            each.crowd.unflick(market, world.now_ns)
    return gone


def be_quiet(world: "World") -> None:
    """Faults that went on around it go on for a while, and stop."""
    if world.odds.back_amid_ns is None:
        return
    world.run_until(world.now_ns + world.odds.back_amid_ns)
    for each in world.together:
        each.faulty = False
    world.seen.hit("set_back_amid")
    world.run_until(world.now_ns + world.odds.timeout_ns + world.odds.late_ns)
    for each in world.together:
        # A create that was on its way, or came twice, may have landed once more.
        each.auditor.limits_are(each.process.settings.risk)


def _take(world: "World", rng: random.Random) -> None:
    ours = list(world.auditor.truth.ours())
    if ours:
        world.crowd.take(rng.choice(ours), rng, world.now_ns)


def _step_back(world: "World") -> None:
    """The operator pauses the bot for a moment: all that rests is cancelled, and made anew."""
    world.deliver(world.process, m.PauseRequested("drawn"))
    world.after(_PAUSED_NS, lambda: world.deliver(world.process, m.ResumeRequested()))


def _move(world: "World", rng: random.Random) -> None:
    """The best price of others goes a tick up or down, and no share trades."""
    open_markets = [each for each in world.crowd.value if each not in world.auditor.truth.resolved]
    market = rng.choice(open_markets)
    if market != world.crowd.dead:
        world.crowd.flick(market, rng.random() < 0.5, world.now_ns)


def live_on(world: "World", gone: list[v.FillBooked]) -> bool:
    """Let the bot find it out. Whether it needs a person, who begins it anew: where fills that it
    has booked are gone, and cash with them, each series says so in time."""
    before = [len(each.auditor.truth.fills) for each in world.together]
    # What was answered just before may come after it, and what was under way fill anew.
    world.run_until(world.now_ns + world.odds.timeout_ns + SECOND)
    known = [_known(each, gone) for each in world.together]
    booked = [_forgets(each, its) for each, its in zip(world.together, known, strict=True)]
    lags_ns = 6 * world.odds.trust_lag_ns
    if not any(booked):
        world.run_until(world.now_ns + _GONE_NS + lags_ns)
        # What an answer has told of may never come into any list.
        found = [each.process.trader.out.findings for each in world.together]
        return any(known) or any("fills_missing" in each for each in found)
    told = world.run_until(
        world.now_ns + GONE_NS + _TOLD_NS + lags_ns,
        lambda: all(
            not due or "fills_forgotten" in each.process.trader.out.findings
            for each, due in zip(world.together, booked, strict=True)
        ),
    )
    after = [len(each.auditor.truth.fills) for each in world.together]
    if before != after:
        return True  # what has come back to life has filled once more: all may be as it was
    found = [dict(each.process.trader.out.findings) for each in world.together]
    check(told, "findings", f"fills that were booked are gone, and nothing says so: {found}")
    world.seen.hit("set_back_told")
    return True


def _known(world: "World", gone: list[v.FillBooked]) -> list[v.FillBooked]:
    """Those of these fills that a series has booked; what was under way may have filled anew, under
    the same id."""
    ids = world.process.trader.ledgers.book.ids
    return [fill for fill in gone if fill.fill_id in ids.of_instant(fill.at_ns)]


def _forgets(world: "World", booked: list[v.FillBooked]) -> bool:
    """Whether cash is not what a series believes that has booked these, the newest among them."""
    ids = world.process.trader.ledgers.book.ids
    newest = ids.newest, ids.newest_ns
    cents = sum(_cents(fill) for fill in booked)
    return bool(cents) and any((fill.fill_id, fill.at_ns) == newest for fill in booked)


def _cents(fill: v.FillBooked) -> int:
    sign = -1 if fill.side is Side.BUY else 1
    return sign * fill.qty * fill.outcome_price - fill.fee_cents


def begin_anew(world: "World", rng: random.Random, *, killed: bool) -> None:
    """A person stops the bot and starts it again, or it is killed."""
    first = world.first
    if not killed:
        for each in first.together:
            each.deliver(each.process, m.StopRequested("the venue was set back"))
    else:
        first.replace(first.process, rng.choice((SECOND // 20, 2 * SECOND)), rng)
