"""Venue writes without HTTP: every rule of the exchange, with and without the command log.

Mix per hundred commands: 60 creates that rest, 25 cancels, 10 amends (half of them smaller in
place), 5 creates that cross and fill. All rules run: idempotency, reserves, fees, self-trade
prevention, positions, events. Durable means batches of 64 on disk and synced before they are
carried out. Anchor in the same run: pyorderbook's bare matching of as many orders, where it is
installed; it knows no accounts, cash, fees or ids.
"""

import importlib
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from bench.crowded import ladder, market_id
from bench.matching import best_rate
from bot.lab.exchange.exchange import accounts, buy_order
from venue.crowd.tape import tape_catalogue
from venue.engine.engine import Engine
from venue.engine.messages import AmendOrder, CancelOrder, Command, Placed, PlaceOrder
from venue.storage.statedir import StateDir
from venue.wire.money import Cents, FeeRate, Outcome, Price, Qty
from venue.wire.names import OrderId, UserId
from venue.wire.requests import Amend, QtyOrder, TimeInForce

_SEED: Final = 20_261_121
_WHOLE: Final = 100_000
_QUICK: Final = 20_000
_REPEATS: Final = 3
_BATCH: Final = 64
_RUNGS: Final = 9
_USERS: Final = 50
_NOW_NS: Final = 1_790_000_000_000_000_000
_KEY: Final = b"the bench's own order ids"


def opening() -> list[Command]:
    tape = ladder("ACME", [str(100 + rung) for rung in range(_RUNGS)])
    rates = FeeRate.parse("0.0100"), FeeRate.parse("0.0175")
    cash = {_user(user): Cents(10**12) for user in range(_USERS)}
    return [*tape_catalogue(tape, _NOW_NS * 2, *rates), *accounts(cash)]


def _user(number: int) -> UserId:
    return UserId(f"trader {number}")


def _create(chance: random.Random, number: int, price: int, yes: bool, qty: int) -> PlaceOrder:
    outcome, market = Outcome.YES if yes else Outcome.NO, market_id(chance.randrange(_RUNGS))
    order = buy_order(market, outcome, price, qty, TimeInForce.GTC, f"order-{number}")
    return PlaceOrder(_user(chance.randrange(_USERS)), order)


def stream(count: int) -> list[Command]:
    """A seeded stream that makes sense: cancels and amends name orders that rest or did."""
    chance = random.Random(_SEED)
    engine = _opened()
    made: list[Command] = []
    placed: list[tuple[UserId, OrderId, int]] = []
    while len(made) < count:
        draw = chance.random()
        number = len(made)
        command: Command
        if draw < 0.60 or not placed:
            price = max(1, 48 - int(chance.expovariate(0.15)))
            qty = chance.randint(2, 100)
            command = _create(chance, number, price, chance.random() < 0.5, qty)
        elif draw < 0.65:
            command = _create(chance, number, 60, chance.random() < 0.5, chance.randint(1, 150))
        else:
            place = chance.randrange(max(0, len(placed) - 4_000), len(placed))
            user, order_id, qty = placed[place]
            if draw < 0.90:
                placed[place] = placed[-1]
                placed.pop()
                command = CancelOrder(user, order_id)
            elif draw < 0.95:
                command = AmendOrder(user, order_id, Amend(qty=Qty(max(1, qty // 2))))
            else:
                command = AmendOrder(user, order_id, Amend(price=Price(chance.randint(20, 48))))
        answer, _ = engine.apply(command, _NOW_NS)
        if isinstance(answer, Placed) and answer.order.remaining_qty:
            placed.append((answer.order.user_id, answer.order.order_id, answer.order.remaining_qty))
        made.append(command)
    return made


def in_memory(commands: list[Command]) -> Callable[[], None]:
    engine = _opened()

    def work() -> None:
        for command in commands:
            engine.apply(command, _NOW_NS)

    return work


def durable(commands: list[Command], folder: Path) -> Callable[[], None]:
    """The engine behind the command log: each batch on disk and synced, then carried out."""
    engine = _opened()
    log = StateDir.open(folder).log()

    def work() -> None:
        for start in range(0, len(commands), _BATCH):
            batch = commands[start : start + _BATCH]
            log.append(_NOW_NS, batch)
            for command in batch:
                engine.apply(command, _NOW_NS)
        log.close()

    return work


def pyorderbook(commands: list[Command]) -> Callable[[], None]:
    """The peer's matching of the stream's creates. Raises ImportError where it is not there.

    Only creates: its cancel fails in the release measured.
    """
    peer = importlib.import_module("pyorderbook")
    order_of: dict[bool, Any] = {True: peer.bid, False: peer.ask}
    book = peer.Book()
    orders = []
    for command in commands:
        if isinstance(command, PlaceOrder) and isinstance(command.order, QtyOrder):
            placed = command.order
            yes = placed.outcome is Outcome.YES
            price = placed.price if yes else 100 - placed.price
            orders.append(order_of[yes](placed.market_id, price, placed.qty))

    def work() -> None:
        for order in orders:
            book.match(order)

    return work


def _opened() -> Engine:
    engine = Engine(_KEY)
    for command in opening():
        engine.apply(command, _NOW_NS)
    return engine


def run(quick: bool) -> list[tuple[str, str]]:
    commands = stream(_QUICK if quick else _WHOLE)
    memory = best_rate(lambda: in_memory(commands), len(commands), _REPEATS)
    with tempfile.TemporaryDirectory() as scratch:
        runs = iter(range(_REPEATS))
        disk = best_rate(
            lambda: durable(commands, Path(scratch) / str(next(runs))), len(commands), _REPEATS
        )
    rows = [
        ("writes: every rule, in memory", f"{memory:,.0f}/s, {1e6 / memory:.1f} us each"),
        ("writes: durable, batches of 64", f"{disk:,.0f}/s, {disk / memory:.0%} of in memory"),
    ]
    creates = sum(isinstance(command, PlaceOrder) for command in commands)
    try:
        peer = best_rate(lambda: pyorderbook(commands), creates, _REPEATS)
    except ImportError:
        rows.append(("writes: pyorderbook (anchor)", "not installed, not measured"))
    else:
        ratio = f"ours durable is {disk / peer:.2f}x"
        rows.append(("writes: pyorderbook (anchor)", f"{peer:,.0f} bare matches/s; {ratio}"))
    return rows
