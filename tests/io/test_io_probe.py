"""Claims about what is tried at a venue before a start: a venue that asks to wait is left alone."""

import pytest

from bot.core import messages as m
from bot.io import probe
from bot.io.rest import Reply
from venue.wire.instant import NS_PER_SECOND
from venue.wire.names import Ticker

pytestmark = pytest.mark.anyio


class Throttled:
    """A venue that is too busy for whatever is asked, and keeps in order what was done there."""

    def __init__(self, waits_ns: int | None) -> None:
        self.done: list[object] = []
        self._reply = Reply(m.Refused(429, "rate_limited", ""), retry_after_ns=waits_ns)

    async def ask(self, request: m.Request) -> Reply:
        """Refuse it."""
        self.done.append(type(request))
        return self._reply

    async def sleep(self, seconds: float) -> None:
        """Take note of the wait instead of waiting."""
        self.done.append(seconds)


@pytest.mark.parametrize(
    ("waits_ns", "waits_s"), [(2 * NS_PER_SECOND, 2), (0, 0), (None, 1)], ids=["two", "none", "-"]
)
async def test_a_start_asks_nothing_more_before_the_wait_that_a_throttled_venue_asks_for_is_over(
    monkeypatch, waits_ns, waits_s
):
    venue = Throttled(waits_ns)
    monkeypatch.setattr(probe.asyncio, "sleep", venue.sleep)
    assert await probe.obstacles(venue, Ticker("ACME-VAL")) == []
    asked = [m.ReadBalance, m.CancelResting, m.ReadSeries]
    assert venue.done == [step for request in asked for step in (request, waits_s)]
