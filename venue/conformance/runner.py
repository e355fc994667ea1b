"""Runs checks one after the other, in the order of the suite, patient ones last."""

import contextlib
import enum
import importlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import httpx
import msgspec
import yaml
from websockets.exceptions import WebSocketException

from venue.conformance.bench import Bench
from venue.conformance.judge import Broken, Unjudged
from venue.conformance.registry import CHECKS, Check, Needs

_SUITE: Final = (
    *("conventions", "tickers", "reads", "creates", "refusals", "orders", "cash"),
    *("access", "pace", "states", "faults", "channel", "books", "prints", "meta"),
)

_BROKEN_CONNECTION: Final = (httpx.HTTPError, WebSocketException, OSError)

# Of a reply without the field or the type that was gone on with, or that nests without an end, or
# of a description that is no YAML.
_MISSHAPEN: Final = (
    *(KeyError, IndexError, TypeError, ValueError, AttributeError),
    *(RecursionError, yaml.YAMLError),
)


class Verdict(enum.Enum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


class Result(msgspec.Struct, frozen=True):
    """What came of one check. reason: why it failed or was skipped. exchanges: the last ones."""

    name: str
    verdict: Verdict
    duration_s: float
    reason: str = ""
    exchanges: tuple[str, ...] = ()


class Wanted(msgspec.Struct, frozen=True):
    """The keys at hand, control or not, readings or not, and whether the channel's address was
    named."""

    has_control: bool
    keys: int
    readings: bool = True
    stream: bool = False


def suite(only: str = "") -> list[Check]:
    for name in _SUITE:
        importlib.import_module(f"venue.conformance.suite.{name}")
    chosen = [each for each in CHECKS if only in each.name]
    return sorted(chosen, key=lambda each: each.patient)


def why_skipped(each: Check, wanted: Wanted) -> str:
    """Why a check cannot or shall not be run; empty when it will be."""
    open_ones = [reading for reading in each.readings if reading != "S8" or not wanted.stream]
    if open_ones and not wanted.readings:
        return f"rests on {', '.join(open_ones)}, and --no-readings was asked for"
    if wanted.has_control:
        return ""
    if each.needs is Needs.CONTROL:
        return "needs the control API: give --control and --token-file"
    short = {Needs.KEY: 1, Needs.KEYS: 2}[each.needs]
    return f"needs {each.needs.value}" if wanted.keys < short else ""


def judge_one(each: Check, bench: Bench) -> Result:
    begun = time.monotonic()
    reason = ""
    try:
        each.run(bench)
    except Unjudged as unjudged:
        bench.close_check()
        return Result(each.name, Verdict.SKIPPED, time.monotonic() - begun, str(unjudged))
    except Broken as broken:
        reason = str(broken)
    except _BROKEN_CONNECTION as fault:
        reason = f"the venue broke the connection: {type(fault).__name__}: {fault}"
    except _MISSHAPEN as fault:
        reason = f"a reply is not as it should be: {type(fault).__name__}: {fault}"
    exchanges = tuple(map(str, bench.trail.exchanges)) if reason else ()
    bench.close_check()
    verdict = Verdict.FAILED if reason else Verdict.PASSED
    return Result(each.name, verdict, time.monotonic() - begun, reason, exchanges)


def judge_all(
    checks: Sequence[Check], bench: Bench, wanted: Wanted, begin: Callable[[Check], None]
) -> Iterator[Result]:
    runnable = [each for each in checks if not why_skipped(each, wanted)]
    if any(each.patient for each in runnable):
        # What cannot be made now is retried by the checks that need it, and reported there.
        with contextlib.suppress(Broken, *_BROKEN_CONNECTION, *_MISSHAPEN):
            _ = bench.handles
    for each in checks:
        reason = why_skipped(each, wanted)
        if reason:
            yield Result(each.name, Verdict.SKIPPED, 0.0, reason)
        else:
            begin(each)
            yield judge_one(each, bench)
