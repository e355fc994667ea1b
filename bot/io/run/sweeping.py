"""Carries a sweep out: the sweeper's wishes to the venue, answers and the time back to it."""

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec

from bot.core import messages as m
from bot.core.sweeper import CancelAll, SweepSettings, Verdict
from bot.io.client.rest import Rest
from bot.io.clock import Clock
from bot.io.logs.logs import log_note
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND

TOLD_NS: Final = 500 * NS_PER_MS
"""Progress is told at most this often."""


async def sweep(
    rest: Rest,
    clock: Clock,
    settings: SweepSettings,
    progress: Callable[[CancelAll], None] = lambda _: None,
) -> Verdict:
    """Sweep until there is a verdict. progress: called with the sweeper while it is at work.

    Requests still on their way at the end are left to `Rest.drain`. When this is cancelled, what
    has left stays on its way too.
    """
    answers: asyncio.Queue[m.Response] = asyncio.Queue()
    sweeper = CancelAll(settings, clock.now_ns())
    effects = sweeper.receive(m.Tick(), clock.now_ns())
    told_ns = 0
    while True:
        wake_ns = clock.now_ns() + NS_PER_SECOND
        for effect in effects:
            match effect:
                case m.Send():
                    # The sweeper knows of one key; where reads have their own, they go on it.
                    key = rest.key_for(effect.request)
                    rest.start(msgspec.structs.replace(effect, key=key), answers.put_nowait)
                case m.WakeAt():
                    wake_ns = effect.at_ns
                case m.Noted():
                    log_note(effect.level, effect.name, effect.fields)
                case _:
                    raise AssertionError(f"a sweeper does not wish for {type(effect).__name__}")
        if sweeper.verdict is not None:
            progress(sweeper)
            return sweeper.verdict
        now_ns = clock.now_ns()
        if now_ns - told_ns >= TOLD_NS:
            told_ns = now_ns
            progress(sweeper)
        event: m.Response | m.Tick = m.Tick()
        try:
            async with asyncio.timeout(max(0, wake_ns - now_ns) / NS_PER_SECOND):
                event = await answers.get()
        except TimeoutError:
            pass
        effects = sweeper.receive(event, clock.now_ns())
