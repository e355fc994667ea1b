"""What is lived beside where it is: the trader's settings and its strategy, as plain values.

It knows nothing of files: what carries out a job needs no more than this.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path

import msgspec

from bot.core.messages import StrategyChoice
from bot.core.settings import TraderSettings
from bot.core.strategy import Strategy
from bot.ideas import Makers


class Setup(msgspec.Struct, frozen=True):
    """All that a life hangs on beside where it is lived. folder: what paths of strategies start
    from."""

    trader: TraderSettings
    choice: StrategyChoice
    folder: str

    @property
    def digest(self) -> str:
        """Twelve hex digits that are others for everything else that is lived."""
        content = msgspec.json.encode((self.trader, self.choice))
        return hashlib.blake2b(content, digest_size=6).hexdigest()

    def makers(self) -> Callable[[], Strategy]:
        """What makes a fresh strategy for each event. Raises StrategyFault."""
        return Makers(Path(self.folder))(self.choice)
