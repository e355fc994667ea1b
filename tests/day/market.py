"""The market of the day: the real engine, a calm crowd on twenty rungs, all of it as bytes.

No part of what is measured: it stands in a process of its own, because an exchange keeps every
order and fill there ever was. Every rung's book changes five times a second: one level of the crowd
has another size, or the crowd follows the rung's value by a cent, through whatever of the trader's
stands in its way. Once a second on average somebody takes what stands best on a rung.
"""

import math
import random
from collections import deque
from multiprocessing.connection import Connection
from statistics import NormalDist
from typing import Final, Protocol

import msgspec

from bot.core import messages as m
from bot.lab.evaluate.market import EVENT, NOISE, TrueValueMarket
from bot.lab.evaluate.scenarios import Scenario
from venue.engine import messages as v
from venue.wire import codec, frames, model
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import (
    PRICE_MAX,
    PRICE_MIN,
    Cents,
    Outcome,
    Price,
    Qty,
    canonical,
    complement,
)
from venue.wire.names import MarketId, OrderId, Ticker, UserId
from venue.wire.requests import Amend

START_NS: Final = 1_800_000_000 * NS_PER_SECOND
RUNGS: Final = 20
FRAMES_PER_SECOND: Final = 5
"""Whole books of each rung."""

FRAME_NS: Final = NS_PER_SECOND // (RUNGS * FRAMES_PER_SECOND)
STEP_NS: Final = 5 * FRAME_NS
"""The market is asked for so much at a time, one step ahead: a request is answered in the next."""

WORLD: Final = Scenario(rungs=RUNGS, steps=90 * 24 * 360)
"""Ninety days until its event resolves; fees as in the reference."""

_ANSWER_NS: Final = 20 * NS_PER_MS
_LEVELS: Final = 8
_AWAY: Final = 2
_TAKE: Final = 1 / (RUNGS * FRAMES_PER_SECOND)
_TAKEN_QTY: Final = 10
_SIZE: Final = (20, 200)
_VALUE_SD: Final = 0.3
_VALUE_SD_PER_ROOT_SECOND: Final = 0.0028
_RUNG_SD: Final = 0.5
_STRIKES: Final = tuple(2.2 * rung / (RUNGS - 1) - 1.1 for rung in range(RUNGS))
_RICH: Final = Cents(10_000_000_000)


class Step(msgspec.Struct, frozen=True, array_like=True):
    """Let so much time pass, after these requests, each by a number of its own."""

    requests: tuple[tuple[int, m.Request], ...]


class Answered(msgspec.Struct, frozen=True, array_like=True):
    """The answer to a request as HTTP has it."""

    number: int
    status: int
    body: bytes
    tokens_left: int


class News(msgspec.Struct, frozen=True, array_like=True):
    """What a step brought. frames: each with its instant; answers come at `answers_ns`."""

    frames: tuple[tuple[int, bytes], ...]
    answers_ns: int
    answers: tuple[Answered, ...]


class MarketLike(Protocol):
    """Asked for a step, and some time later for what it brought, in the same order."""

    def ask(self, step: Step) -> None:
        """Begin a step."""
        ...

    def news(self) -> News:
        """What the oldest step that was asked for has brought."""
        ...


class Market:
    """The market in this process. seed: of everything that is drawn."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self.venue = TrueValueMarket(WORLD, [100 + rung for rung in range(RUNGS)], START_NS)
        self._users = {buys: UserId(f"crowd.day.{buys}") for buys in (True, False)}
        for user in self._users.values():
            self.venue.exchange.execute(v.AddUser(user), START_NS)
            self.venue.exchange.execute(v.Deposit(user, _RICH), START_NS)
        self._resting: dict[tuple[int, bool], dict[int, OrderId]] = {
            (rung, buys): {} for rung in range(RUNGS) for buys in (True, False)
        }
        self._value = 0.0
        self._now_ns = START_NS
        self._place = 0
        self._brought: deque[News] = deque()
        for rung in range(RUNGS):
            self._follow(rung)

    # --- time -------------------------------------------------------------------------------------

    def ask(self, step: Step) -> None:
        """Live through a step now."""
        answers = tuple(self._answered(number, request) for number, request in step.requests)
        answers_ns = self._now_ns + _ANSWER_NS
        shown: list[tuple[int, bytes]] = []
        for _ in range(STEP_NS // FRAME_NS):
            self._now_ns += FRAME_NS
            self._act(self._place % RUNGS)
            shown += [(self._now_ns, frame) for frame in self._frames(self._place % RUNGS)]
            self._place += 1
        self._brought.append(News(tuple(shown), answers_ns, answers))

    def news(self) -> News:
        return self._brought.popleft()

    # --- the crowd --------------------------------------------------------------------------------

    def _act(self, rung: int) -> None:
        rng = self._rng
        if not rung:
            per_s = _VALUE_SD_PER_ROOT_SECOND / math.sqrt(FRAMES_PER_SECOND)
            self._value += rng.gauss(0, per_s) - self._value * (per_s / _VALUE_SD) ** 2 / 2
        self._follow(rung)
        buys = rng.random() < 0.5
        resting = self._resting[rung, buys]
        price = rng.choice(list(resting))
        amend = Amend(qty=Qty(rng.randint(*_SIZE)))
        self._amend(rung, buys, price, price, amend)
        if rng.random() < _TAKE:
            market = self.venue.markets[rung]
            bid, ask = self.venue.best(market)
            best, qty = ask if buys else bid, 1 + int(rng.expovariate(1 / _TAKEN_QTY))
            if best is not None:
                self.venue.trade(NOISE, market, self._now_ns, buys=buys, price=best, qty=qty)

    def _wanted(self, rung: int, buys: bool) -> list[int]:
        fair = round(100 * NormalDist().cdf((self._value - _STRIKES[rung]) / _RUNG_SD))
        fair = min(max(fair, PRICE_MIN + _AWAY), PRICE_MAX - _AWAY)
        away = -1 if buys else 1
        prices = [fair + away * (_AWAY + place) for place in range(_LEVELS)]
        return [price for price in prices if PRICE_MIN <= price <= PRICE_MAX]

    def _follow(self, rung: int) -> None:
        """The crowd's orders stand around the value; the side that it moves from goes first."""
        bids = self._resting[rung, True]
        rises = max(self._wanted(rung, True)) > max(bids, default=0)
        for buys in (not rises, rises):
            resting, wanted = self._resting[rung, buys], self._wanted(rung, buys)
            missing = [price for price in wanted if price not in resting]
            extra = [price for price in resting if price not in wanted]
            for price in missing:
                if extra:
                    outcome = Outcome.YES if buys else Outcome.NO
                    amend = Amend(price=canonical(outcome, Price(price)))
                    self._amend(rung, buys, extra.pop(), price, amend)
                else:
                    self._place_new(rung, buys, price)
            for price in extra:
                command = v.CancelOrder(self._users[buys], resting.pop(price))
                self.venue.exchange.execute(command, self._now_ns)

    def _amend(self, rung: int, buys: bool, old: int, new: int, amend: Amend) -> None:
        resting = self._resting[rung, buys]
        order_id = resting.pop(old)
        command = v.AmendOrder(self._users[buys], order_id, amend)
        answer = self.venue.exchange.execute(command, self._now_ns)
        if isinstance(answer, v.Amended) and answer.order.remaining_qty:
            resting[new] = order_id
        else:  # it has traded away
            self._place_new(rung, buys, new)

    def _place_new(self, rung: int, buys: bool, price: int) -> None:
        placed = self.venue.trade(
            self._users[buys],
            self.venue.markets[rung],
            self._now_ns,
            buys=buys,
            price=price,
            qty=self._rng.randint(*_SIZE),
            rests=True,
        )
        assert isinstance(placed, v.Placed), placed
        if placed.order.remaining_qty:
            self._resting[rung, buys][price] = placed.order.order_id

    # --- what the trader is shown -----------------------------------------------------------------

    def _frames(self, rung: int) -> list[bytes]:
        """Prints since the last time, and the rung's whole book."""
        prints, self.venue.prints = self.venue.prints, []
        updates = [each for printed in prints for each in self._of_print(printed)]
        market = self.venue.markets[rung]
        bids, asks = self.venue.books[market].levels()
        yes = tuple(frames.BookLevel(price, size) for price, size in bids)
        no = tuple(frames.BookLevel(complement(price), size) for price, size in asks)
        book = frames.BookUpdate(self._ticker(market), market, self._now_ns, yes, no)
        return [codec.encode(frames.MarketUpdate(update)) for update in (*updates, book)]

    def _ticker(self, market: MarketId) -> Ticker:
        return Ticker(f"{EVENT}-R{self.venue.rung_of[market]}")

    def _of_print(self, printed: v.TradePrinted) -> tuple[frames.Update, frames.Update]:
        ticker, market = self._ticker(printed.market_id), printed.market_id
        trade = frames.TradeUpdate(
            ticker=ticker,
            event_market_id=market,
            ts=printed.at_ns,
            trade_id=printed.trade_id,
            price=printed.price,
            size=printed.qty,
            maker=frames.TradeParty(printed.maker_outcome, printed.maker_side),
            taker=frames.TradeParty(printed.taker_outcome, printed.taker_side),
        )
        return trade, frames.TickerUpdate(ticker, market, printed.at_ns, printed.price, printed.qty)

    def _answered(self, number: int, request: m.Request) -> Answered:
        send = m.Send(m.RequestId(number), request, "asked for")
        answer = self.venue.exchange.answer_request(send, self._now_ns)
        status, body = _as_http(answer.answer)
        return Answered(number, status, body, answer.tokens or 0)


def _as_http(answer: m.Answer) -> tuple[int, bytes]:
    if isinstance(answer, m.Rejected):
        return answer.status, codec.encode({"code": answer.code, "error": answer.message})
    assert isinstance(answer, m.Ok)
    match answer.body:
        case m.OrderBody(order=shown):
            return 200, codec.encode(shown)
        case m.CancelBody(order=order, reduced_by=reduced_by):
            return 200, codec.encode(model.Cancelled(order, reduced_by))
        case m.OrdersBody(orders=orders, cursor=cursor):
            return 200, codec.encode(model.OrdersPage(orders, cursor))
        case m.FillsBody(fills=fills, cursor=cursor):
            return 200, codec.encode(model.FillsPage(fills, cursor))
        case m.PositionsBody(positions=positions, cursor=cursor):
            return 200, codec.encode(model.PositionsPage(positions, cursor))
        case m.BalanceBody(balance=balance):
            return 200, codec.encode(balance)
        case m.SeriesBody(events=events, cursor=cursor):
            return 200, codec.encode(model.EventsPage(events, cursor))
        case m.BookBody(book=book):
            return 200, codec.encode(book)


# --- in a process of its own ----------------------------------------------------------------------

_STEPS: Final = msgspec.msgpack.Decoder(Step)
_NEWS: Final = msgspec.msgpack.Decoder(News)


def serve(pipe: Connection, seed: int) -> None:
    """Be the market of whoever holds the other end, until that is closed."""
    market = Market(seed)
    try:
        while True:
            market.ask(_STEPS.decode(pipe.recv_bytes()))
            pipe.send_bytes(msgspec.msgpack.encode(market.news()))
    except (EOFError, OSError, KeyboardInterrupt):
        return


class Distant:
    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def ask(self, step: Step) -> None:
        self._pipe.send_bytes(msgspec.msgpack.encode(step))

    def news(self) -> News:
        return _NEWS.decode(self._pipe.recv_bytes())
