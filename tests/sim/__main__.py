"""`python -m tests.sim --seeds 0-999`: live through many seeds; a failure prints its replay."""

import argparse
import sys
import time
from collections import Counter

from tests.sim.audit import Broken
from tests.sim.odds import draw
from tests.sim.world import run


def main() -> int:
    """Run the seeds asked for. 0 when all held, 1 when one did not."""
    parser = argparse.ArgumentParser(prog="python -m tests.sim", description=__doc__)
    parser.add_argument("--seeds", default="0-149", help="A-B, both included, or one number")
    parser.add_argument("--quiet", action="store_true", help="odds only of seeds that fail")
    asked = parser.parse_args()
    first, _, last = asked.seeds.partition("-")
    began, steps, broken = time.perf_counter(), 0, 0
    faults: Counter[str] = Counter()
    for seed in range(int(first), int(last or first) + 1):
        if not asked.quiet:
            print(f"seed {seed}\n{draw(seed).lines()}", flush=True)
        try:
            world = run(seed)
        except Broken as fault:
            broken += 1
            print(f"BROKEN {fault}\n{draw(seed).lines()}")
            print(f"replay: python -m tests.sim --seeds {seed}", flush=True)
            continue
        steps += world.steps
        for seen in (world.network.faults_seen, world.channel.faults_seen, world.episodes_seen):
            faults.update(seen)
    print(f"{steps} steps in {time.perf_counter() - began:.1f} s; broken seeds: {broken}")
    print("faults: " + ", ".join(f"{name} {count}" for name, count in sorted(faults.items())))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
