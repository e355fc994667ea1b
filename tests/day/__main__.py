"""`python -m tests.day --hours 24`: a day of the bot in virtual time, and what it cost.

Ends with 0 when memory, log and metrics stayed within the bounds, with 1 when one did not.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import msgspec

from tests.day.day import Asked, Day, Grown, distant_market, live

GROWTH_MB_MAX = 1.0
LOG_MB_MAX = 250.0
COUNT_S = 300.0


def _rows(day: Day) -> list[tuple[str, str]]:
    before, after = day.series
    return [
        ("virtual hours", f"{day.virtual_hours:.2f} in {day.wall_s / 60:.1f} min"),
        ("book frames", f"{day.frames:,} (and {day.other_frames:,} of prints)"),
        ("decisions, requests, fills", f"{day.decisions:,} {day.requests:,} {day.fills:,}"),
        ("processor of the bot", f"{day.cpu_share:.1%} of a core in real time"),
        ("memory", f"{day.resident_mb[0]:.1f} -> {day.resident_mb[1]:.1f} MB"),
        ("growth", f"{day.growth_mb_per_million:+.2f} MB a million frames (<= {GROWTH_MB_MAX:g})"),
        ("of it in the bot's objects", f"{day.held_mb_per_million:+.2f} MB a million frames"),
        (
            "log",
            f"{day.log_mb_per_day:.1f} MB in 24 h (<= {LOG_MB_MAX:g}), {day.log_lines:,} lines",
        ),
        ("journal", f"{day.journal_mb_per_day:,.0f} MB in 24 h, {day.journal_kept_mb:,.0f} kept"),
        ("metric series", f"{before} -> {after}"),
        ("findings", ", ".join(day.findings) or "none"),
        ("exit code of the bot", str(day.ended)),
    ]


def _grown(title: str, rows: list[Grown]) -> None:
    print(title)
    for row in rows:
        print(f"  {row.before:>9,} -> {row.after:>9,}  {row.name}")


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.day", description=__doc__)
    options.add_argument("--hours", type=float, default=24.0, help="virtual hours")
    options.add_argument("--minutes", type=float, default=None, help="of wall time at most")
    options.add_argument("--warm", type=float, default=1.0, help="virtual hours not counted")
    options.add_argument("--seed", type=int, default=1, help="of the market")
    options.add_argument("--json", action="store_true", help="all of it, as JSON")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as folder, distant_market(asked.seed) as market:
        run = Asked(
            hours=asked.hours,
            minutes=asked.minutes,
            warm_s=3600 * asked.warm,
            count_s=COUNT_S,
            quiet=False,
        )
        day = live(Path(folder), market, run)
    if asked.json:
        print(msgspec.json.encode(day).decode())
    else:
        for name, text in _rows(day):
            print(f"{name:28} {text}")
        _grown("objects that grew since the warm-up:", day.objects)
        _grown("entries that grew since the warm-up, by attribute:", day.entries)
        _grown("bytes that grew since the warm-up, by attribute:", day.held_bytes)
        for name in day.new_series:
            print(f"new series: {name}")
    before, after = day.series
    held = (
        day.growth_mb_per_million <= GROWTH_MB_MAX
        and day.log_mb_per_day <= LOG_MB_MAX
        and before == after
        and not day.ended
    )
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
