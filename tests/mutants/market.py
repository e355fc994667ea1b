"""Planted bugs of group D: books that are believed though nothing speaks for them any more."""

from typing import Final

from bot.core.market_data.market_state import MarketState
from bot.core.settings import StalenessSettings
from tests.mutants.bug import Bug, Patch

_judge = MarketState.judge_freshness


def _kept(self: MarketState) -> None:
    self.judge_ns = 0


def _crossed_too(self: MarketState, blocked: str, staleness: StalenessSettings, now_ns: int) -> str:
    is_crossed, self._is_crossed = self._is_crossed, False
    try:
        return _judge(self, blocked, staleness, now_ns)
    finally:
        self._is_crossed = is_crossed


MARKET: Final = (
    Bug(
        "reconnect-keeps-the-book",
        (42,),
        "After a reconnect the bot quotes on the old book.",
        ("B4",),
        (Patch(MarketState, "forget_book", _kept),),
        likely=("feed_close",),
    ),
    Bug(
        "own-size-is-theirs",
        (47,),
        "Our quotes follow a book that includes our orders.",
        ("B2",),
        (Patch(MarketState, "without_own", lambda self, own: (self.bids, self.asks)),),
    ),
    Bug(
        "crossed-book-quoted",
        (48,),
        "The bot quotes on a crossed book.",
        ("B4",),
        (Patch(MarketState, "judge_freshness", _crossed_too),),
        likely=("frame_crossed",),
    ),
)
