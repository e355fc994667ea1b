"""The page docs/metrics.md, made from the tables; run as a module it prints the page."""

import sys
from collections.abc import Iterable

from bot.io.metrics import metrics
from bot.io.metrics.table import FEED, NOTICES, ORDERS, PROFIT, QUOTES, RECORDS, RISK, STATE, Family
from venue import metrics as venue_metrics

HEAD = """# Metrics

`python -m tests.builders.deploy.metrics_page` makes this page from `bot/io/metrics/table.py`,
`bot/io/metrics/metrics.py` and `venue/metrics.py`; a test keeps it current.

The bot serves `/metrics` on its status page, the venue on its control listener. Both also serve the
usual `process_` metrics.

- A name ends in its unit, a counter's in `_total`. Counters over closed sets start at 0.
- Labels come from closed sets and from a series' rungs and events, never from an order: the number
  of time series depends on the rungs alone.
- Metrics of the bot have the label `series` as well, except
  `laddermaker_process_start_time_seconds`.

| folder | has |
|---|---|
| `deploy/prometheus` | scrape configuration, recording rules, alerts and their tests |
| `deploy/alertmanager` | who gets which alert |
| `deploy/grafana` | four dashboards |
| [runbooks](runbooks/README.md) | a page per alert |
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
TABLE = "\n| metric | labels | meaning |\n|---|---|---|\n"


def row(name: str, labels: Iterable[str], text: str) -> str:
    return f"| `{name}` | {', '.join(f'`{label}`' for label in labels) or '-'} | {text} |\n"


def name_of(family: Family) -> str:  # type: ignore[type-arg]
    return metrics.PREFIX + family.name + ("_total" if family.is_total else "")


def page() -> str:
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
