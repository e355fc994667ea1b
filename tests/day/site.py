"""The bot's side of the market: its channel and its REST client, with bytes from elsewhere.

Frames go through the bot's own decoder, requests through its tasks, gates and decoders of answers;
only the sockets are left out.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from bot.core import messages as m
from bot.io.client.answers import answer_of, event_of
from bot.io.client.feed import Feed
from bot.io.client.rest import Reply, Rest
from bot.io.clock import Clock
from bot.io.secret import Secret
from tests.day.market import STEP_NS, Answered, MarketLike, News, Step
from venue.wire.instant import NS_PER_SECOND

_URL = "http://127.0.0.1:1/v1"
_PING_NS = 5 * NS_PER_SECOND // 2


class Requests(Rest):
    """A client whose requests wait for the market's next step."""

    def __init__(self, in_flight: int) -> None:
        super().__init__(_URL, Secret("none"), in_flight)
        self._left: list[tuple[int, m.Request]] = []
        self._awaited: dict[int, asyncio.Future[Answered]] = {}
        self._count = 0

    async def ask(
        self, request: m.Request, key: m.Key | None = None, begun_ns: int | None = None
    ) -> Reply:
        self._count += 1
        number = self._count
        answered = self._awaited[number] = asyncio.get_running_loop().create_future()
        self._left.append((number, request))
        found = await answered
        return Reply(answer_of(request, found.status, found.body), found.tokens_left)

    def take(self) -> tuple[tuple[int, m.Request], ...]:
        """What has left since the last time."""
        left, self._left = self._left, []
        return tuple(left)

    def answered(self, answer: Answered) -> None:
        self._awaited.pop(answer.number).set_result(answer)


class Channel(Feed):
    """A channel that drives the market, one step ahead of what the bot is shown.

    books, others: frames shown so far, those that are whole books and the rest.
    """

    def __init__(
        self,
        emit: Callable[[m.Event], None],
        clock: Clock,
        market: MarketLike,
        requests: Requests,
    ) -> None:
        super().__init__(_URL, emit)
        self._clock = clock
        self._market = market
        self._requests = requests
        self._subscribed = False
        self.books = 0
        self.others = 0

    def subscribe(self, wish: m.SubscribeTo) -> None:
        self._subscribed = True
        self._emit(m.SubscriptionAccepted())

    async def run(self) -> None:
        self._emit(m.FeedOpened())
        pinged_ns = self._clock.now_ns()
        self._market.ask(Step(()))
        while True:
            news = self._market.news()
            self._market.ask(Step(self._requests.take()))
            for at_ns, act in _in_order(news):
                wait_ns = at_ns - self._clock.now_ns()
                if wait_ns > 0:
                    await asyncio.sleep(wait_ns / NS_PER_SECOND)
                self._show(act)
            if self._clock.now_ns() - pinged_ns >= _PING_NS:
                pinged_ns = self._clock.now_ns()
                self._emit(m.FeedAlive())

    def _show(self, act: Any) -> None:
        if isinstance(act, Answered):
            self._requests.answered(act)
        elif self._subscribed:
            event = event_of(act)
            if isinstance(event, m.BookUpdate):
                self.books += 1
            else:
                self.others += 1
            if event is not None:
                self._emit(event)


def _in_order(news: News) -> list[tuple[int, bytes | Answered]]:
    """Frames and answers of a step by their instants."""
    acts: list[tuple[int, bytes | Answered]] = list(news.frames)
    acts += [(news.answers_ns, answer) for answer in news.answers]
    return sorted(acts, key=lambda act: act[0])


assert STEP_NS < _PING_NS
