"""Settings tried on a recorded tape: one sweep in as many processes as cores, and a backtest each.

The sweep decodes the tape, and makes its books, once in each process for all settings that run
there. Anchor: `bot backtest` with one setting after the other, each a process of its own. Both use
`configs/demo.yaml` and the pessimistic queue model, and their profits are compared. Wall time, and
processor time of every process. The first rows are one process: the tape from its recorded files
and from its compact file, and the books that all runs share.
"""

import itertools
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from bot.lab.backtest.compact_tape import NAME
from bot.lab.backtest.tapes import read_tapes
from bot.lab.exchange.recorded import books_of
from bot.lab.pool import cores
from venue.crowd.tape import read_tapes as read_recorded

_ROOT: Final = Path(__file__).resolve().parents[1]
_TAPE: Final = _ROOT.parent / "shared/data/inxd-23apr10"
_CONFIG: Final = _ROOT / "configs/demo.yaml"
_OVER: Final = {
    "risk.order_qty": [str(size) for size in range(10, 110, 10)],
    "throttle.dwell_ms": ["200", "300", "400", "600", "800"],
}
_ROUNDS: Final = 5


class Took(NamedTuple):
    wall_s: float
    cpu_s: float  # of the processes that were started

    def text(self, settings: int) -> str:
        each = f"{self.cpu_s / settings:.2f} s of a core each"
        return f"{settings} settings in {self.wall_s:.1f} s, {each}"


def _command(*arguments: str) -> tuple[Any, Took]:
    """What a `bot` command printed as JSON."""
    before, began_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", "from bot.cli.main import main; main()", *arguments],
        cwd=_ROOT,
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
        stdout=subprocess.PIPE,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(done.stdout), Took(time.monotonic() - began_s, cpu_s)


def _least_s(act: Callable[[], object]) -> float:
    found = []
    for _ in range(_ROUNDS):
        began_s = time.process_time()
        act()
        found.append(time.process_time() - began_s)
    return min(found)


def _reading(folder: Path) -> list[tuple[str, str]]:
    recorded_s = _least_s(lambda: [*read_recorded(folder)])
    (tape,) = read_tapes(folder)
    compact_s = _least_s(lambda: [*read_tapes(folder)])
    size = (folder / NAME).stat().st_size / 2**20
    books_s = _least_s(lambda: books_of.__wrapped__(tape))
    return [
        ("tape: from its recorded files", f"{recorded_s * 1e3:,.0f} ms"),
        (
            "tape: from the compact file",
            f"{compact_s * 1e3:,.0f} ms of {size:.1f} MiB: {recorded_s / compact_s:.1f} times less",
        ),
        ("books of the tape, once for all runs", f"{books_s * 1e3:,.0f} ms"),
    ]


def _one_by_one(folder: Path, rows: list[dict[str, str]], records: str) -> tuple[Any, Took]:
    """The profit in dollars of a backtest with each of these settings."""
    nets, wall_s, cpu_s = [], 0.0, 0.0
    for number, settings in enumerate(rows):
        path = folder / f"{number}.yaml"
        path.write_text(_with(settings))
        result, took = _command(
            *("backtest", "--data", str(folder / "tape"), "--config", str(path), "--json"),
            *("--queue-model", "pessimistic", "--records", records),
        )
        nets.append(result["results"][0]["net_millicents"] / 100_000)
        wall_s, cpu_s = wall_s + took.wall_s, cpu_s + took.cpu_s
    return nets, Took(wall_s, cpu_s)


def _with(settings: dict[str, str]) -> str:
    """The configuration with other values of these keys, each of which is in it once."""
    text = _CONFIG.read_text(encoding="utf-8")
    for key, value in settings.items():
        name = key.rpartition(".")[2]
        text, count = re.subn(rf"(?m)^(  {name}:) \S+", rf"\1 {value}", text)
        assert count == 1, key
    return text


def run(quick: bool) -> list[tuple[str, str]]:
    if not _TAPE.is_dir():
        return [("tape", f"not there: {_TAPE.name}")]
    over = {key: values[: 2 if quick else None] for key, values in _OVER.items()}
    records = "1500" if quick else "6000"
    with tempfile.TemporaryDirectory(prefix="bench-sweeping-") as scratch:
        folder = Path(scratch)
        (folder / "tape").mkdir()
        for path in _TAPE.iterdir():
            shutil.copyfile(path, folder / "tape" / path.name)
        shutil.copyfile(_CONFIG.with_name("venue.yaml"), folder / "venue.yaml")
        rows = _reading(folder / "tape")
        asked = [part for key, row in over.items() for part in ("--over", f"{key}={','.join(row)}")]
        found, swept = _command(
            *("sweep", "--data", str(folder / "tape"), "--config", str(_CONFIG), "--json"),
            *("--queue-model", "pessimistic", "--records", records, *asked),
        )
        swept_nets = {msgspec.json.encode(each["settings"]): each["mean"] for each in found["rows"]}
        settings = [dict(zip(over, row, strict=True)) for row in itertools.product(*over.values())]
        nets, alone = _one_by_one(folder, settings, records)
    same = [swept_nets[msgspec.json.encode(each)] for each in settings] == nets
    times = f"{alone.wall_s / swept.wall_s:.1f} times the wall time of the sweep"
    return [
        *rows,
        (f"sweep on {cores()} cores", swept.text(len(settings) + 1)),
        ("one backtest after the other", f"{alone.text(len(settings))}: {times}"),
        ("profit by setting", "the same in both" if same else "differs"),
    ]
