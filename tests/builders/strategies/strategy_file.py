"""Files of strategies that misbehave, for claims about the commands that load them."""

from pathlib import Path

SOURCE = """\
import gc, os, signal, sys, time
from contextlib import suppress
from bot.strategy.api import Quote, Strategy
from venue.wire.money import BookSide, Price, Qty
{before}
class Planted(Strategy):
    calls = 0
    def quote(self, view):
        {quote}
STRATEGY = Planted
"""
"""The body of its `quote` begins in line 9 if nothing precedes the class."""


def strategy_file(path: Path, quote: str, before: str = "") -> Path:
    """Write a strategy whose `quote` has this body, its further lines indented by eight."""
    path.write_text(SOURCE.format(before=before, quote=quote), encoding="utf-8")
    return path
