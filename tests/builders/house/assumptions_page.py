"""The page docs/assumptions.md, made from the table; run as a module it prints the page."""

import sys

from venue.wire.assumptions import ASSUMPTIONS

HEAD = """# What the interface leaves open, and how it is read here

Made by `make pages` from `venue/wire/assumptions.py`, which also names the place to change when the
truth is known. Code that follows a reading cites its number.

| open | the venue here | the bot also survives |
|---|---|---|
"""


def page() -> str:
    """The whole page, one row per assumption in the order of the numbers."""
    rows = [
        f'| <a id="{number}"></a>{number}: {row.gap} | {row.reading} | {row.survives} |'
        for number, row in ASSUMPTIONS.items()
    ]
    return HEAD + "\n".join(rows) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
