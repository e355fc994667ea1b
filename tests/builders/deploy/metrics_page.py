"""The page docs/metrics.md, made from the tables; run as a module it prints the page."""

import sys
from collections.abc import Iterable

from bot.io.metrics import metrics
from bot.io.metrics.table import FEED, NOTICES, ORDERS, PROFIT, QUOTES, RECORDS, RISK, STATE, Family
from venue import metrics as venue_metrics

HEAD = """# Metrics

`make pages` makes this page from `bot/io/metrics/table.py`, `bot/io/metrics/metrics.py` and
`venue/metrics.py`. The bot serves `/metrics` on its status page, the venue on its control listener,
both with the usual `process_` metrics.

- A name ends in its unit, a counter's in `_total`. Counters over closed sets start at 0.
- Labels are in braces. Metrics of the bot also have `series`, except
  `laddermaker_process_start_time_seconds`.
- `deploy/prometheus` has scrape configuration, recording rules and alerts
  ([runbooks](runbooks/README.md)); `deploy/grafana` four dashboards.
"""
PARTS = (
    ("State, findings, breakers", STATE),
    ("The channel and fair values", FEED),
    ("Quotes and the strategy", QUOTES),
    ("Requests, orders and the budget", ORDERS),
    ("Cash, positions, limits", RISK),
    ("Fills and profit", PROFIT),
    ("Counted on this host", metrics.COUNTED),
    ("Records, if kept", RECORDS),
    ("Notices, if sent", NOTICES),
)
TABLE = "\n| metric | meaning |\n|---|---|\n"


def row(name: str, labels: Iterable[str], text: str) -> str:
    """One line of a table."""
    shown = ",".join(labels)
    return f"| `{name}{'{' + shown + '}' if shown else ''}` | {text.removesuffix('.')} |\n"


def name_of(family: Family) -> str:  # type: ignore[type-arg]
    """A metric's name as Prometheus shows it."""
    return metrics.PREFIX + family.name + ("_total" if family.is_total else "")


def page() -> str:
    """The whole page."""
    text = HEAD
    for title, families in PARTS:
        text += f"\n## {title}\n" + TABLE
        text += "".join(row(name_of(each), each.labels, each.help) for each in families)
    text += "\n## Durations (histograms)\n" + TABLE
    for timed in metrics.TIMED.values():
        text += row(metrics.PREFIX + timed.name, timed.labels, timed.help)
    text += "\n## The process\n" + TABLE
    text += row(
        metrics.PREFIX + metrics.BUILD[0], ("version", "python", "config"), metrics.BUILD[1]
    )
    text += row(metrics.PREFIX + metrics.STARTED[0], (), metrics.STARTED[1])
    text += "\n## The venue\n" + TABLE
    for family in venue_metrics.FAMILIES:
        total = "_total" if family.kind == "counter" else ""
        text += row(f"venue_{family.name}{total}", family.labels, family.help)
    return text


if __name__ == "__main__":
    sys.stdout.write(page())
