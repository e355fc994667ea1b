"""`bot replay`: events a second of one core, of runs among faults in a simulated world.

Lost and late responses, refusals, halts, crashes and restarts, quoted by the whole curve. Anchor:
reading and decoding every entry of the same journals, and nothing else. The rest is the trader
itself, and comparing its effects. Aim: 40,000 events a second. `writes` is `--writes`.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.simulated_journals import brutal, recorded
from bot.config.strategies import Makers
from bot.io.journal.records import entry_of
from bot.lab.replay import replay, replayer_of
from bot.lab.session import payloads_of, runs_meant
from bot.lab.writes import WriteReplayer
from venue.wire.instant import NS_PER_SECOND

_SEED = 16


def _cpu_s(work: Callable[[], object]) -> float:
    begun_s = time.process_time()
    work()
    return time.process_time() - begun_s


def run(quick: bool) -> list[tuple[str, str]]:
    floors_s: list[float] = []
    replays_s: list[float] = []
    writes_s: list[float] = []
    with tempfile.TemporaryDirectory(prefix="bench-replay-") as folder:
        state = Path(folder) / "state"
        recorded(brutal(_SEED, (10 if quick else 180) * NS_PER_SECOND), state)
        runs = runs_meant(state, every=True)
        paths = [path for each in runs for path in each.paths]
        size = sum(path.stat().st_size for path in paths)

        def decode() -> None:
            for segment, _, payload in payloads_of(paths):
                entry_of(payload, segment)

        for _ in range(1 if quick else 5):
            floors_s.append(_cpu_s(decode))
            replayed = [replay(replayer_of(each, Makers(Path()), notes=True)) for each in runs]
            assert not any(each.difference or each.damage for each in replayed)
            replays_s.append(sum(each.cpu_s for each in replayed))
            compared = [WriteReplayer(each, Makers(Path())).compare() for each in runs]
            assert not any(each.differences for each in compared)
            writes_s.append(sum(each.cpu_s for each in compared))
    events = sum(each.events for each in replayed)
    floor_s, replay_s, write_s = min(floors_s), min(replays_s), min(writes_s)
    return [
        ("journal", f"{events:,} events in {len(runs)} runs, {size / 1e6:.1f} MB"),
        ("decoding alone", f"{events / floor_s:,.0f} events/s"),
        ("replay", f"{events / replay_s:,.0f} events/s, {replay_s / floor_s:.0f}x the decoding"),
        ("writes", f"{events / write_s:,.0f} events/s, {write_s / floor_s:.0f}x the decoding"),
    ]
