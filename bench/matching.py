"""Matching alone: operations per second of the order book, and of its anchors.

Mix per hundred operations: 60 adds, 25 cancels, 10 amends (half of them smaller in place, half to
another price), 5 marketable orders that trade through the best levels. The operations are made
beforehand; only their execution is timed. Anchors in the same run: the simplest sorted list,
and lightmatchingengine where it is installed.
"""

import gc
import importlib
import random
import time
from bisect import insort
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from venue.engine.orderbook import BookEntry, OrderBook
from venue.wire.money import BookSide, Price, Qty

_SEED: Final = 20_240_601
_WHOLE: Final = 200_000
_QUICK: Final = 40_000
_REPEATS: Final = 5
_BID, _ASK = BookSide.BID, BookSide.ASK

Operation = tuple[str, int, BookSide, Price, Qty]
"""(kind, order number, the order's own side, canonical price, shares)."""


def operations(count: int) -> list[Operation]:
    """A seeded stream of operations on orders that are believed to rest; some no longer do."""
    chance = random.Random(_SEED)
    made: list[tuple[str, int, BookSide, int, int]] = []
    placed: list[tuple[int, BookSide]] = []
    for number in range(count):
        draw = chance.random()
        if draw < 0.60 or not placed:
            side = chance.choice((_BID, _ASK))
            offset = min(int(chance.expovariate(0.15)), 48)
            price = 49 - offset if side is _BID else 51 + offset
            made.append(("add", number, side, price, chance.randint(1, 100)))
            placed.append((number, side))
        elif draw < 0.95:
            place = chance.randrange(max(0, len(placed) - 4_000), len(placed))
            chosen, side = placed[place]
            if draw < 0.85:
                placed[place] = placed[-1]
                placed.pop()
                made.append(("cancel", chosen, side, 0, 0))
            elif draw < 0.90:
                made.append(("less", chosen, side, 0, 1))
            else:
                offset = min(int(chance.expovariate(0.15)), 48)
                price = 49 - offset if side is _BID else 51 + offset
                made.append(("move", chosen, side, price, 0))
        else:
            side = chance.choice((_BID, _ASK))
            made.append(("take", number, side, 99 if side is _BID else 1, chance.randint(1, 400)))
    return [(kind, order, side, Price(p), Qty(q)) for kind, order, side, p, q in made]


def levels_and_queues(stream: list[Operation]) -> int:
    """`venue.engine.orderbook`. Returns the shares traded, so that both books can be compared."""
    book: OrderBook[BookEntry] = OrderBook()
    bids, asks = book.bids, book.asks
    resting: dict[int, BookEntry] = {}
    traded = 0
    for kind, number, side, price, shares in stream:
        if kind == "add":
            entry = resting[number] = BookEntry(shares)
            (bids if side is _BID else asks).add_entry(entry, price)
        elif kind == "take":
            half = asks if side is _BID else bids
            missing: int = shares
            while missing:
                maker = half.first_within(price)
                if maker is None:
                    break
                overlap = maker.remaining if maker.remaining < missing else missing
                half.shrink(maker, overlap)
                missing -= overlap
                traded += overlap
        else:
            entry = resting[number]
            if entry.level is None:
                continue
            half = bids if side is _BID else asks
            if kind == "cancel":
                half.remove(entry)
            elif kind == "less":
                half.shrink(entry, 1)
            else:
                half.remove(entry)
                half.add_entry(entry, price)
    return traded


def sorted_list(stream: list[Operation]) -> int:
    """The simplest book: one list a side, kept in price-time order. Returns the shares traded."""
    halves: dict[BookSide, list[tuple[int, int, int]]] = {_BID: [], _ASK: []}
    where: dict[int, tuple[int, int, int]] = {}
    left: dict[int, int] = {}
    traded = 0
    turn = 0
    for kind, number, side, price, shares in stream:
        half = halves[side]
        turn += 1
        if kind == "add":
            key = where[number] = (-price if side is _BID else price, turn, number)
            left[number] = shares
            insort(half, key)
        elif kind == "take":
            makers = halves[side.other]
            missing: int = shares
            while missing and makers:
                maker = makers[0][2]
                overlap = min(left[maker], missing)
                missing -= overlap
                traded += overlap
                left[maker] -= overlap
                if not left[maker]:
                    del makers[0]
        elif left[number]:
            if kind == "less":
                left[number] -= 1
                if not left[number]:
                    half.remove(where[number])
                continue
            half.remove(where[number])
            if kind == "cancel":
                left[number] = 0
            else:
                key = where[number] = (-price if side is _BID else price, turn, number)
                insort(half, key)
    return traded


def lightmatchingengine(stream: list[Operation]) -> int:
    """The peer, fed the same operations. Raises ImportError where it is not installed.

    It has no amend: an amend is a cancel and a new order, and counts as one operation.
    """
    peer = importlib.import_module("lightmatchingengine.lightmatchingengine")
    engine = peer.LightMatchingEngine()
    sides = {_BID: peer.Side.BUY, _ASK: peer.Side.SELL}
    resting: dict[int, Any] = {}
    traded = 0
    for kind, number, side, price, shares in stream:
        if kind == "add":
            resting[number] = engine.add_order("M", price, shares, sides[side])[0]
        elif kind == "take":
            order, _ = engine.add_order("M", price, shares, sides[side])
            traded += order.cum_qty
            if order.leaves_qty:
                engine.cancel_order(order.order_id, "M")
        else:
            order = resting[number]
            left = order.leaves_qty - (1 if kind == "less" else 0)
            if not order.leaves_qty:
                continue
            engine.cancel_order(order.order_id, "M")
            if kind != "cancel" and left:
                again = price if kind == "move" else order.price
                resting[number] = engine.add_order("M", again, left, sides[side])[0]
    return traded


def best_rate(make: Callable[[], Callable[[], object]], count: int, repeats: int) -> float:
    """Operations per second, the best of several runs: the noise of a machine only slows down."""
    best = float("inf")
    for _ in range(repeats):
        work = make()
        # What was made beforehand is not the books', so they do not pay for collecting it.
        gc.collect()
        gc.freeze()
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
        gc.unfreeze()
    return count / best


def _rate(
    carry_out: Callable[[list[Operation]], int], stream: list[Operation], repeats: int = _REPEATS
) -> float:
    return best_rate(lambda: partial(carry_out, stream), len(stream), repeats)


def run(quick: bool) -> list[tuple[str, str]]:
    """(figure, text) rows. quick: only the shorter stream.

    A sorted list slows down as its book grows, so it is measured on the shorter stream alone, and
    the ratio to it is that of the shorter stream.
    """
    short = operations(_QUICK)
    if levels_and_queues(short) != sorted_list(short):
        raise AssertionError("the two books disagree on what was traded")
    stream = short if quick else operations(_WHOLE)
    ours, ours_short = _rate(levels_and_queues, stream), _rate(levels_and_queues, short)
    plain = _rate(sorted_list, short, repeats=1)
    rows = [
        ("matching: levels and queues", f"{ours:,.0f} ops/s over {len(stream):,}"),
        (
            "matching: sorted list (anchor)",
            f"{plain:,.0f} ops/s over {len(short):,}; ours is {ours_short / plain:.1f}x",
        ),
    ]
    try:
        peer = _rate(lightmatchingengine, stream)
    except ImportError:
        rows.append(("matching: lightmatchingengine", "not installed, not measured"))
    else:
        rows.append(
            ("matching: lightmatchingengine", f"{peer:,.0f} ops/s; ours is {ours / peer:.1f}x")
        )
    return rows
