"""What a name, a title or a category of the venue is made of: one rule for seed and operator.

The two read it in their own way: `PATTERN` holds for the whole of a text.
"""

from typing import Final

PATTERN: Final = r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,200}"
"""No control character: a name stands in one line of a log, a table and a page. No half of a
surrogate pair: it could be neither kept nor sent."""

ACCEPTED: Final = "1 to 200 printable characters"
