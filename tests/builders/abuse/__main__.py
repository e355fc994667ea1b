"""Every attack at once, three times over on one venue, and what it came to.

`python -m tests.abuse` once, `python -m tests.abuse --whole` three times. Exit code 1 if an attack
went through.
"""

import sys
import tempfile
from pathlib import Path

from tests.builders.abuse.good import quantile
from tests.builders.abuse.storm import Waits, weathered

WHOLE_TIMES = 3


def _shown(name: str, waits: Waits) -> str:
    parts = [
        f"{kind} p50 {quantile(all_ms, 0.5):.1f} p99 {quantile(all_ms, 0.99):.1f} ms"
        for kind, all_ms in (("rest", waits.rest), ("stream", waits.stream))
    ]
    return f"{name:8} {', '.join(parts)}"


def main() -> int:
    """Print the storm; the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        storm = weathered(Path(folder), WHOLE_TIMES if "--whole" in sys.argv[1:] else 1)
    for name, waits in (
        *(("before", storm.before), ("during", storm.during)),
        ("after", storm.after),
    ):
        print(_shown(name, waits))
    print(f"memory grew by {storm.memory_growth_kib / 1024:.0f} MiB at its highest")
    print(f"sockets {storm.sockets_before} before, {storm.sockets_after} after")
    for attack, fault in storm.faults.items():
        print(f"NOT HELD {attack}: {fault}")
    return 1 if storm.faults else 0


if __name__ == "__main__":
    sys.exit(main())
