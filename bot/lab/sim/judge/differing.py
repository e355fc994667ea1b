"""One life beside a fill on its account that the list of fills lacks: told, and only shrinking.

Somebody else may trade there, and lists may come late: positions tell it first. Once two lists of
positions have shown it, each begun a while after all that the bot has booked, and a walk of the
fills after each has not, the bot says that positions differ for as long as that lasts.

Source: reliability, row 54; docs/runbooks/ReconcileDifference.md.
"""

from collections.abc import Container
from typing import Final

from bot.core import messages as m
from bot.lab.sim.judge.broken import check
from bot.lab.sim.judge.truth import Truth

_TIMES: Final = 2
"""A list that is kept for being compared stands in the way of the next one."""


class Differing:
    """Follows one life; all times are the bot's own. is_due: whether it must know by now that what
    it has booked is not all that is held."""

    def __init__(self, truth: Truth, lag_ns: int) -> None:
        self.is_due = False
        self._truth = truth
        self._opened_ns = -1
        self._lacks = False
        self._lag_ns = lag_ns
        self._moved = (-1, -1)  # how many fills there are, and how many are booked
        self._moved_ns = 0
        self._times = 0
        self._shown_ns: int | None = None  # when a whole list of positions had shown it
        self._positions_ns: int | None = None  # when the walk under way was begun
        self._fills_ns: int | None = None
        self._is_read = False  # the page of fills that was asked for last

    def opened(self, world_ns: int) -> None:
        """The books of this life are open, by the world's time; what traded before is in them."""
        self._opened_ns = world_ns

    def watch(self, booked: int, now_ns: int) -> None:
        """So many fills are in the books of this life."""
        truth = self._truth
        moved = len(truth.fills), booked
        if moved != self._moved:
            self._moved, self._moved_ns = moved, now_ns
            self._times, self._shown_ns = 0, None
        lacking = [
            fill
            for at_ns, fill in truth.fills
            if at_ns > self._opened_ns and fill.fill_id in truth.unlisted
        ]
        self._lacks = bool(lacking)
        if not lacking or any(fill.market_id in truth.resolved for fill in lacking):
            self.is_due, self._times, self._shown_ns = False, 0, None

    def asked(self, request: m.Request, now_ns: int) -> None:
        """A request leaves; a walk of the fills begins where the one before it has ended."""
        if isinstance(request, m.ReadPositions) and not request.cursor:
            self._positions_ns = now_ns
        elif isinstance(request, m.ReadFills) and not request.cursor:
            if self._is_read and self._is_late():
                self._times, self._shown_ns = self._times + 1, None
                self.is_due = self.is_due or self._times >= _TIMES
            self._fills_ns, self._is_read = now_ns, False

    def _is_late(self) -> bool:
        """Whether the walk of the fills was begun late enough after a list of positions."""
        if self._fills_ns is None or self._shown_ns is None:
            return False
        return self._fills_ns >= self._shown_ns + self._lag_ns

    def answered(self, request: m.Request, answer: m.Answer, now_ns: int) -> None:
        """An answer reaches the bot."""
        body = answer.body if isinstance(answer, m.Done) else None
        if isinstance(request, m.ReadFills):
            self._is_read = isinstance(body, m.FillsShown)
        elif isinstance(request, m.ReadPositions) and not isinstance(body, m.PositionsShown):
            self._positions_ns = None
        elif isinstance(body, m.PositionsShown) and not body.cursor:
            begun_ns, self._positions_ns = self._positions_ns, None
            late = begun_ns is not None and begun_ns > self._moved_ns + 2 * self._lag_ns
            if late and self._lacks and self._shown_ns is None:
                self._shown_ns = now_ns

    def told(self, findings: Container[str]) -> None:
        """B9: after a beat it says that positions differ, where it must know."""
        text = "shares are held that no fill explains, and nothing says so"
        check(not self.is_due or "position_differs" in findings, "B9", text)
