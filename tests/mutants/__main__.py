"""`python -m tests.mutants`: hunt planted bugs, all of them or those named, in seed after seed.

Ends with 0 when each was found within its bound of simulated events, and with 1 otherwise. With
--seed one bug is planted in that seed, and the last events of its world are shown.
"""

import argparse
import sys

from bot.lab.sim.run import last_events
from tests.mutants.hunt import BUGS, CANARY, HEAD, hunt_all, hunt_in, line, named, summary


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    names = ", ".join(bug.name for bug in (*BUGS, CANARY))
    options.add_argument("names", nargs="*", metavar="NAME", help=f"of: {names}")
    options.add_argument("--jobs", type=int, default=2, help="processes")
    options.add_argument("--seed", type=int, help="of one bug, this seed alone")
    options.add_argument("--profile", default="", help="of that seed, instead of the bug's own")
    asked = options.parse_args()
    try:
        bugs = [named(name) for name in asked.names] or list(BUGS)
    except ValueError as fault:
        options.error(str(fault))
    if asked.seed is None:
        print(HEAD, flush=True)
        results = []
        for found in hunt_all(bugs, asked.jobs):
            results.append(found)
            print(line(found), flush=True)
        print(summary(results))
        return 0 if all(each.is_found for each in results) else 1
    if len(bugs) != 1:
        options.error("--seed wants one bug")
    found, world = hunt_in(bugs[0], asked.seed, asked.profile)
    print(
        f"{bugs[0].name}: {bugs[0].mistake}", last_events(world), line(found), found.text, sep="\n"
    )
    return 0 if found.is_found else 1


if __name__ == "__main__":
    sys.exit(main())
