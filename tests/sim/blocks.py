"""The seeds of the suite in blocks that any worker may live through, each of them once.

Workers share a folder: whoever creates a block's claim lives through it and leaves its summary
there. So the last check need not wait for a turn of its own: it lives through what nobody has
claimed, and waits only for what somebody else is at.
"""

import json
import os
import time
from collections import Counter
from pathlib import Path

from bot.lab.sim.odds import LAG, ROWS, Odds, draw, often
from bot.lab.sim.simulate import Summary, lived

SWARM_SEEDS = 48
BRUTAL_SEEDS = 8
HALTED_SEEDS = range(11_000, 11_008)
"""Worlds whose venue halts often: who asks a halted one rarely is rarely refused."""

REFUSED_SEEDS = range(12_005, 12_013)
"""Worlds whose venue often calls a request invalid: who asks it no more is rarely told."""

ROW_SEEDS = range(13_000, 13_004)
"""Of each row of model A, and of late reads."""

BLOCK = 10
WAIT_S = 900.0


def odds_of_all() -> list[Odds]:
    """Everything that is lived through, in order."""
    swarm = [draw(seed) for seed in range(SWARM_SEEDS)]
    brutal = [draw(seed, "brutal") for seed in range(BRUTAL_SEEDS)]
    halted = [often(draw(seed), ("venue_halted",)) for seed in HALTED_SEEDS]
    refused = [often(draw(seed), ("invalid_request",)) for seed in REFUSED_SEEDS]
    rows = [draw(seed, name) for name in (*ROWS, LAG) for seed in ROW_SEEDS]
    return swarm + brutal + halted + refused + rows


BLOCKS = -(-len(odds_of_all()) // BLOCK)


def shared_folder(base: Path, worker: str) -> Path:
    """A folder that all workers of this run of the suite share. worker: empty without workers."""
    folder = (base.parent if worker else base) / "sim-blocks"
    folder.mkdir(exist_ok=True)
    return folder


def lived_block(number: int, folder: Path) -> dict[str, object] | None:
    """Live through a block unless somebody has claimed it; its result, None when claimed."""
    result = folder / f"block-{number:03d}.json"
    try:
        os.close(os.open(folder / f"block-{number:03d}.claim", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return None
    summary, broken = Summary(), []
    for odds in odds_of_all()[number * BLOCK : (number + 1) * BLOCK]:
        outcome = lived(odds)
        summary.add(outcome)
        if outcome.broken:
            broken.append(f"{outcome.broken}\nreplay: {outcome.replay}")
    told = {**summary.plain(), "cpu_s": summary.cpu_s, "texts": broken}
    half = result.with_suffix(".half")
    half.write_text(json.dumps(told))
    half.rename(result)
    return told


def block(number: int, folder: Path) -> dict[str, object]:
    """The result of a block, lived through here or elsewhere. Raises TimeoutError."""
    told = lived_block(number, folder)
    end_s = time.monotonic() + WAIT_S
    while told is None:
        try:
            told = json.loads((folder / f"block-{number:03d}.json").read_text())
        except FileNotFoundError:
            if time.monotonic() > end_s:
                raise TimeoutError(f"block {number} does not end") from None
            time.sleep(0.1)
    return told


def together(results: list[dict[str, object]]) -> Summary:
    """All blocks as one summary."""
    whole = Summary()
    for told in results:
        whole.seeds += told["seeds"]
        whole.events += told["events"]
        whole.faults += told["faults"]
        whole.cpu_s += told["cpu_s"]
        whole.counts.update(Counter(told["counts"]))
    return whole
