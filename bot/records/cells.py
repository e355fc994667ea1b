"""A text as a cell of comma-separated values, as spreadsheets and other readers take it.

What the venue says may stand in it: a text that begins as a formula does would be reckoned.
"""

from typing import Final

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")


def cell_text(text: str) -> str:
    """The text, behind an apostrophe where a spreadsheet would take it for a formula; a carriage
    return, which not every reader takes for part of a text, is a space."""
    kept = text.replace("\r", " ")
    return f"'{kept}" if text.startswith(_FORMULA) else kept
