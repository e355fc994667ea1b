"""Installed packages that bring an adapter, and the one that docs/another-venue.md prints."""

from pathlib import Path
from typing import Final

EXAMPLE: Final = "<!-- example_venue.py -->\n```python\n"


def install(folder: Path, name: str, module: str, text: str, attribute: str) -> None:
    """Install a package of one module into a folder of Python's path.

    name: of the adapter; attribute: the class that makes it.
    """
    dist = folder / f"{module}-0.1.dist-info"
    dist.mkdir(parents=True, exist_ok=True)
    (folder / f"{module}.py").write_text(text)
    (dist / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 0.1\n")
    (dist / "entry_points.txt").write_text(f"[laddermaker.venues]\n{name} = {module}:{attribute}\n")


def example_module(page: Path) -> str:
    """The example adapter as the page prints it."""
    return page.read_text(encoding="utf-8").partition(EXAMPLE)[2].partition("```")[0]


def config_of(folder: Path, adapter: str, venue: str, more: str = "") -> Path:
    """A configuration with this adapter on its fifth line. venue: further lines of that section;
    more: further sections."""
    path = folder / "bot.yaml"
    path.write_text(f"""
series: ACME-VAL

venue:
  adapter: {adapter}
  {venue}
strategy:
  name: fixed_spread
risk:
  event_loss_cents: 10000
  series_loss_cents: 10000
  rung_position_qty: 100
  order_qty: 10
{more}""")
    return path
