"""Reaction: from the frame that moves the market against a resting order to the request that
withdraws it, as the bot measures it itself; the demo, live, on its embedded venue.

The venue and its crowd are another process. An adverse reaction ends with the amend or cancel of an
order that is bolder than its quotes allow, a favourable one with an amend toward the touch. The
part until the trader decided is replayed from the journal: the rest is processor, disk and loop.
Also of the same run: markouts, requests, and how soon a fill is in the books. Ten minutes. Anchor:
the favourable reactions, which the throttle, the dwell time and the time between decisions hold
back.
"""

import contextlib
import json
import math
import os
import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from prometheus_client.parser import text_string_to_metric_families

from bot.config.strategies import Makers
from bot.core import messages as m
from bot.lab.replay import replayer_of
from bot.lab.session import newest_run, placed_entries
from venue.wire import instant
from venue.wire.instant import NS_PER_MS

_CONFIG: Final = Path(__file__).resolve().parents[1] / "configs/demo.yaml"
_SEED: Final = 7
_WHOLE_S: Final = 600
_QUICK_S: Final = 60
_POLL_S: Final = 1.0
_HISTOGRAM: Final = "laddermaker_reaction_seconds"
_AIMS: Final = {"adverse": " (aim 5 and 50 ms)", "favourable": ""}

Buckets = list[tuple[float, float]]
"""The upper bound of each bucket in seconds, and how many are no longer than that."""


def _free_port() -> int:
    with socket.socket() as at:
        at.bind(("127.0.0.1", 0))
        port: int = at.getsockname()[1]
        return port


def _reactions(page: str) -> dict[str, Buckets]:
    found: dict[str, Buckets] = {}
    for family in text_string_to_metric_families(page):
        for sample in family.samples if family.name == _HISTOGRAM else ():
            if sample.name.endswith("_bucket"):
                buckets = found.setdefault(sample.labels["move"], [])
                buckets.append((float(sample.labels["le"]), sample.value))
    return found


def _quantile_ms(buckets: Buckets, part: float) -> float:
    """As Prometheus does: evenly spread within a bucket."""
    wanted, low_s, below = part * buckets[-1][1], 0.0, 0.0
    for high_s, count in buckets:
        if count >= wanted and math.isfinite(high_s):
            return 1_000 * (low_s + (high_s - low_s) * (wanted - below) / max(1.0, count - below))
        low_s, below = (high_s if math.isfinite(high_s) else low_s), count
    return 1_000 * low_s


def _fill_ages_ms(state: Path) -> Iterable[float]:
    """Of each fill the time from the trade to the response that put it into the books."""
    ages: dict[str, float] = {}
    for placed in placed_entries(newest_run(state).paths):
        match placed.entry.message:
            case m.Response(answer=m.Ok(body=m.FillsBody(fills=fills))):
                for fill in fills:
                    made_ns = instant.to_ns(fill.created_at)
                    ages.setdefault(fill.fill_id, (placed.entry.at_ns - made_ns) / NS_PER_MS)
    return ages.values()


def _decided_ms(state: Path) -> dict[str, list[float]]:
    """Of each reaction, by its move, the time from the frame to the tick that made it."""
    again = replayer_of(newest_run(state), Makers(_CONFIG.parent))
    found: dict[str, list[float]] = {move: [] for move in _AIMS}
    for step in again.steps():
        for reaction in again.trader.reactions.values():
            took_ms = (step.at_ns - reaction.since_ns) / NS_PER_MS
            found[reaction.move.value].append(took_ms)
    return found


def _percentiles(values: Iterable[float]) -> str:
    ranked = sorted(values)
    p50, p99 = (ranked[int(part * (len(ranked) - 1))] for part in (0.5, 0.99))
    return f"p50 {p50:.1f} ms, p99 {p99:.1f} ms"


def _live(seconds: int, state: Path) -> tuple[dict[str, Any], dict[str, Buckets]]:
    """The summary of a run of the demo, and its reactions."""
    port, page = _free_port(), ""
    command = [sys.executable, "-m", "bot", "run", str(_CONFIG), "--json", "--for", f"{seconds}s"]
    command += ["--status-port", str(port), "--state-dir", str(state), "--seed", str(_SEED)]
    with (
        (state.parent / "bot.json").open("w+b") as said,
        subprocess.Popen(command, stdout=said, stderr=subprocess.DEVNULL) as process,
    ):
        while process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_POLL_S)
            with contextlib.suppress(OSError):
                url = f"http://127.0.0.1:{port}/metrics"
                with urllib.request.urlopen(url, timeout=_POLL_S) as answer:
                    page = answer.read().decode()
        said.seek(0)
        return json.loads(said.read()), _reactions(page)


def _markouts(rows: Iterable[dict[str, Any]]) -> str:
    return ", ".join(
        f"{row['mean_cents']:+.2f} c a share against {row['against']}"
        for row in rows
        if row["horizon_s"] == 10
    )


def run(quick: bool) -> list[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "state"
        state.mkdir()
        summary, reactions = _live(_QUICK_S if quick else _WHOLE_S, state)
        ages_ms, decided_ms = _fill_ages_ms(state), _decided_ms(state)
    rows = []
    for move, aim in _AIMS.items():
        buckets = reactions[move]
        p50_ms, p99_ms = _quantile_ms(buckets, 0.5), _quantile_ms(buckets, 0.99)
        text = f"p50 {p50_ms:.1f} ms, p99 {p99_ms:.1f} ms, {buckets[-1][1]:.0f} times"
        rows.append((f"reaction, {move}", text + aim))
        if decided_ms[move]:
            rows.append((f"{move}, until decided", _percentiles(decided_ms[move])))
    sent, seconds, total = summary["requests"], summary["seconds"], summary["profit"]["total"]
    rows.append(("markouts after 10 s", f"{_markouts(total['markouts'])}; {total['fills']} fills"))
    rows.append(
        (
            "requests",
            f"{sent['create']} creates, {sent['amend']} amends, {sent['cancel']} cancels, "
            f"{sent['read'] / seconds:.1f} reads a second",
        )
    )
    if ages_ms:
        rows.append(("a fill is in the books", f"after {_percentiles(ages_ms)}"))
    rows.append(("load average", f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"))
    return rows
