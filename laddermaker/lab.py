"""The lab for notebooks: `from laddermaker import lab`. See docs/lab.md#notebooks."""

from bot.lab.api import (
    BacktestResult,
    Drawing,
    EndedEarly,
    LabResult,
    backtest,
    evaluate,
    plot,
    replay,
    replays,
    sweep,
    terms,
    what_if,
)
from bot.lab.frames import CutShortWarning, curve, diagnostics, fills, markouts, quotes

__all__ = [
    "BacktestResult",
    "CutShortWarning",
    "Drawing",
    "EndedEarly",
    "LabResult",
    "backtest",
    "curve",
    "diagnostics",
    "evaluate",
    "fills",
    "markouts",
    "plot",
    "quotes",
    "replay",
    "replays",
    "sweep",
    "terms",
    "what_if",
]
