"""The seeds of the suite in blocks that any worker may live through, each of them once.

Workers share a folder: whoever creates a block's claim lives through it and leaves its summary
there. So the last check need not wait for a turn of its own: it lives through what nobody has
claimed, and waits only for what somebody else is at.
"""

import os
import time
from pathlib import Path

import msgspec

from bot.lab.sim.run import Summary, run_seed
from bot.lab.sim.scenario import LAG, ROWS, SimScenario, draw, often

SWARM_SEEDS = 32
BRUTAL_SEEDS = 8
HALTED_SEEDS = range(11_000, 11_005)
"""Worlds whose venue halts often: who asks a halted one rarely is rarely refused."""

REFUSED_SEEDS = range(12_005, 12_010)
"""Worlds whose venue often calls a request invalid: who asks it no more is rarely told."""

ROW_SEEDS = (13_001,)
"""One of each row of model A, and of late reads; this seed has no hours of maintenance, which take
most of the time of others."""

BLOCK = 10
WAIT_S = 900.0


def all_scenarios() -> list[SimScenario]:
    swarm = [draw(seed) for seed in range(SWARM_SEEDS)]
    brutal = [draw(seed, "brutal") for seed in range(BRUTAL_SEEDS)]
    halted = [often(draw(seed), ("venue_halted",)) for seed in HALTED_SEEDS]
    refused = [often(draw(seed), ("invalid_request",)) for seed in REFUSED_SEEDS]
    rows = [draw(seed, name) for name in (*ROWS, LAG) for seed in ROW_SEEDS]
    return swarm + brutal + halted + refused + rows


BLOCKS = -(-len(all_scenarios()) // BLOCK)


def shared_folder(base: Path, worker: str) -> Path:
    """A folder that all workers of this run of the suite share. worker: empty without workers."""
    folder = (base.parent if worker else base) / "sim-blocks"
    folder.mkdir(exist_ok=True)
    return folder


def block(number: int, folder: Path) -> Summary:
    """What came of a block, run here or elsewhere. Raises TimeoutError."""
    result = folder / f"block-{number:03d}.json"
    try:
        os.close(os.open(result.with_suffix(".claim"), os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        end_s = time.monotonic() + WAIT_S
        while not result.exists():
            if time.monotonic() > end_s:
                raise TimeoutError(f"block {number} does not end") from None
            time.sleep(0.1)
        return msgspec.json.decode(result.read_bytes(), type=Summary)
    summary = Summary()
    for odds in all_scenarios()[number * BLOCK : (number + 1) * BLOCK]:
        summary.add_summary(run_seed(odds).summary)
    half = result.with_suffix(".half")
    half.write_bytes(msgspec.json.encode(summary))
    half.rename(result)
    return summary
