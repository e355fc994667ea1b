"""Many seeds of the shell in virtual time: `python -m tests.builders.shell --seeds 500 --first 0`.

Prints what was drawn how often, and on a failure the seed, what befell it, and what broke.
"""

import argparse
import time
from collections import Counter

from tests.builders.shell.life import assert_exact
from tests.builders.shell.weather import Weather, weathered


def main() -> int:
    """Live through the seeds asked for. 1 if one of them broke, else 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    begun, seen, requests, broken = time.monotonic(), Counter[str](), 0, 0
    for seed in range(options.first, options.first + options.seeds):
        weather = Weather(seed)
        try:
            life = weathered(seed, weather)
            assert_exact(life)
        except AssertionError as fault:
            broken += 1
            again = f"python -m tests.builders.shell --first {seed} --seeds 1"
            print(f"seed {seed}: {weather.drawn}: {str(fault)[:500]}\n  again: {again}")
            continue
        seen += weather.seen
        requests += len(life.site.requests)
    seconds = time.monotonic() - begun
    print(f"{options.seeds} seeds, {requests} requests, {broken} broken, {seconds:.1f} s")
    print(", ".join(f"{name} {count}" for name, count in sorted(seen.items())))
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
