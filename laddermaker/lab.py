"""The lab for notebooks: `from laddermaker import lab`. See docs/lab.md#notebooks."""

from bot.lab.api import BacktestResult, Drawing, LabResult, backtest, plot, terms
from bot.lab.frames import CutShortWarning, curve, diagnostics, fills, markouts, quotes

__all__ = [
    "BacktestResult",
    "CutShortWarning",
    "Drawing",
    "LabResult",
    "backtest",
    "curve",
    "diagnostics",
    "fills",
    "markouts",
    "plot",
    "quotes",
    "terms",
]
