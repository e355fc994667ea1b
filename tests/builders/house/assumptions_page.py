"""The page docs/assumptions.md, made from the table; run as a module it prints the page."""

import sys

from venue.wire.assumptions import ASSUMPTIONS

HEAD = """# What the interface leaves open, and how it is read here

Generated from `venue/wire/assumptions.py` by
`python -m tests.builders.house.assumptions_page`. Code that
follows a reading cites its number. "Change in" names the place to change when the truth is known.
A dash: no client depends on the answer.

| # | Open | The venue here | The bot also survives | Change in |
|---|---|---|---|---|
"""


def page() -> str:
    """The whole page, one row per assumption in the order of the numbers."""
    rows = [
        f'| <a id="{number}"></a>{number} | {row.gap} | {row.reading} '
        f"| {row.survives or '-'} "
        f"| {', '.join(f'`{place}`' for place in row.switch.split(', '))} |"
        for number, row in ASSUMPTIONS.items()
    ]
    return HEAD + "\n".join(rows) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
