"""The long form: `python -m tests.fuzz --examples 2000`, over REST and over the channel.

Ends with 0 when nothing was found and 1 otherwise; each finding is shown with its request.
"""

import argparse
import re
import secrets
import sys
import tempfile
import traceback
from pathlib import Path

from tests.fuzz.channel import FRAMES_PER_EXAMPLE, converse
from tests.fuzz.rest import STATEFUL, fuzz
from tests.fuzz.site import Site, served


def main() -> int:
    """Fuzz a venue of its own; the exit code."""
    options = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    options.add_argument("--examples", type=int, default=2_000, help="cases per operation")
    options.add_argument("--frames", type=int, default=200_000, help="frames over the channel")
    options.add_argument("--seed", type=int, default=None, help="repeats an earlier run")
    asked = options.parse_args()
    seed = secrets.randbelow(2**32) if asked.seed is None else asked.seed
    print(f"seed {seed}; repeat with --examples {asked.examples} --seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as name, served(Path(name)) as (site, process):
        folder = Path(name)
        found = fuzz(
            site,
            folder,
            examples=asked.examples,
            sequences=asked.examples,
            seed=seed,
            deterministic=False,
        )
        print(found.stdout, found.stderr, sep="\n", flush=True)
        codes = [found.returncode, *_walks(site, folder, asked.examples, seed)]
        broken = _broken_channel(site, asked.frames, seed)
        alive = process.poll() is None
        faults = (folder / "venue.log").read_text(encoding="utf-8").count("internal_error")
        print(f"venue alive: {alive}; internal errors logged: {faults}")
    return 0 if not any(codes) and not broken and alive and not faults else 1


def _walks(site: Site, folder: Path, examples: int, seed: int) -> list[int]:
    """Half as many walks along the links as there are examples; the exit code of each round."""
    codes: list[int] = []
    walks = rounds = 0
    while walks < examples // 2 and rounds < examples:
        rounds += 1
        found = fuzz(
            site,
            folder,
            examples=examples,
            sequences=examples,
            seed=seed + rounds,
            deterministic=False,
            phases=STATEFUL,
        )
        codes.append(found.returncode)
        if found.returncode:
            print(found.stdout, found.stderr, sep="\n", flush=True)
        counted = re.search(r"Scenarios: +([0-9]+)", found.stdout)
        walks += 0 if counted is None else int(counted[1])
    print(f"walks: {walks} in {rounds} rounds, {sum(map(bool, codes))} with findings", flush=True)
    return codes


def _broken_channel(site: Site, frames: int, seed: int) -> bool:
    """Whether something was found over the channel; says what."""
    try:
        judged = converse(site, max(frames // FRAMES_PER_EXAMPLE, 1), seed)
    except Exception:  # noqa: BLE001 - whatever it is, it is the finding
        traceback.print_exc(file=sys.stdout)
        return True
    print(f"channel: {judged} messages, nothing found", flush=True)
    return False


if __name__ == "__main__":
    sys.exit(main())
