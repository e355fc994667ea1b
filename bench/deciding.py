"""Deciding: own CPU of one decision in which one rung moved, ladders of twelve and of forty rungs.

The books of the rungs move one at a time, by a cent or two around a value that swings slowly; a
decision after each, with the default throttle, but none is postponed. Timed is the tick alone,
with no decoding and no bodies encoded, and within it its parts: the view with its fair curve, the
strategy, limits and wanted quotes, and the rest (plan, budget, guard, learning). What timing costs
is in the parts too. The venue's answers are given at once and outside the clock. Anchor of the same
run: a floor loop that decodes a frame, compares one price and encodes one body.
"""

import math
import time
from collections.abc import Callable
from statistics import NormalDist
from typing import Any
from unittest import mock

from bench.tick_to_order import Stand, floor_us_of, frame_of, percentiles, seen_in, started
from bot.core import messages as m
from bot.core.quoting.event_quoter import EventQuoter
from bot.core.settings import PaceSettings
from venue.wire.instant import NS_PER_MS

_SIZES = ((12, 150), (40, 400))
"""Rungs, and the aim for the median of a whole decision in us."""

_STRIKE_LOW, _STRIKE_STEP = 100, 10
_SWING_FRAMES = 600.0
_STEP_NS = 100 * NS_PER_MS


def _value_cents(rungs: int) -> Callable[[int, int], int]:
    """The middle of a rung's book as of a frame: that of a lognormal value which swings slowly by
    3% either way, and up to a cent off it, by turns."""
    high = _STRIKE_LOW + _STRIKE_STEP * (rungs - 1)
    middle = math.sqrt(_STRIKE_LOW * high)
    log_sd = math.log(high / middle) / 1.5

    def mid(index: int, frame: int) -> int:
        value = middle * (1 + 0.03 * math.sin(frame / _SWING_FRAMES))
        strike = _STRIKE_LOW + _STRIKE_STEP * index
        cents = 100 * NormalDist().cdf(math.log(value / strike) / log_sd)
        return min(96, max(4, round(cents) + (frame // rungs + index) % 3 - 1))

    return mid


class _Parts:
    """Takes the time of calls while a decision runs; one sample per part and decision."""

    def __init__(self) -> None:
        self.spent_ns: dict[str, int] = {}
        self.samples: dict[str, list[int]] = {}

    def timed(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            begun = time.thread_time_ns()
            try:
                return call(*args, **kwargs)
            finally:
                self.spent_ns[name] = self.spent_ns.get(name, 0) + time.thread_time_ns() - begun

        return wrapped

    def book(self, whole_ns: int) -> None:
        view = self.spent_ns.get("view + curve", 0)
        strategy = self.spent_ns.get("strategy", 0)
        deciding = self.spent_ns.get("deciding", 0)
        sample = {
            "whole": whole_ns,
            "view + curve": view,
            "strategy": strategy,
            "limits + want": deciding - view - strategy,
            "rest": whole_ns - deciding,
        }
        for name, spent in sample.items():
            self.samples.setdefault(name, []).append(spent)


def _instrumented(stand: Stand) -> _Parts:
    parts = _Parts()
    quoting: Any = stand.trader.quoting
    for ladder in quoting.ladders:
        ladder.strategy.quote = parts.timed("strategy", ladder.strategy.quote)
    quoting._decide_event = parts.timed("deciding", quoting._decide_event)
    return parts


def _measure(rungs: int, decisions: int) -> tuple[_Parts, list[bytes]]:
    mid = _value_cents(rungs)
    stand = started(rungs, mid, PaceSettings(decide_ns=0))
    parts = _instrumented(stand)
    shown = [mid(index, 0) for index in range(rungs)]
    frames: list[bytes] = []
    frame = 0
    with mock.patch.object(EventQuoter, "view", parts.timed("view + curve", EventQuoter.view)):
        while len(frames) < decisions:
            frame += 1
            index = frame % rungs
            stand.now_ns += _STEP_NS
            if mid(index, frame) == shown[index]:
                continue
            shown[index] = mid(index, frame)
            data = frame_of(index, shown[index], stand.now_ns)
            frames.append(data)
            stand.trader.receive(seen_in(data), stand.now_ns)
            parts.spent_ns.clear()
            begun = time.thread_time_ns()
            effects = stand.trader.receive(m.Tick(), stand.now_ns)
            whole_ns = time.thread_time_ns() - begun
            if "view + curve" in parts.spent_ns:
                parts.book(whole_ns)
            stand.answer_all(effects)
    return parts, frames


def run(quick: bool) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    floor_us = 0.0
    for rungs, aim_us in _SIZES:
        parts, frames = _measure(rungs, 500 if quick else 2_000)
        floor_us = floor_us_of(frames)
        whole_us = 0.0
        for name, samples in parts.samples.items():
            p50, p99 = percentiles(samples)
            whole_us = p50 if name == "whole" else whole_us
            aim = f" (aim {aim_us})" if name == "whole" else ""
            rows.append((f"{rungs} rungs, {name}", f"p50 {p50:.0f} us{aim}, p99 {p99:.0f} us"))
        rows.append((f"{rungs} rungs, whole / floor loop", f"{whole_us / floor_us:.1f} x"))
    return [*rows, ("floor loop p50", f"{floor_us:.0f} us")]
