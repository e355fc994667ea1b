"""Views with sizes, own quotes, prints and fills, by hand and drawn from a seed."""

from random import Random
from typing import Any

import msgspec
from hypothesis import strategies as st

from bot.strategy.api import EventView, Intensity, Levels, OwnFill, OwnQuote, Print, RungView
from tests.builders.strategies.views import QUARTER_S, rung, view
from venue.wire.money import BookSide, FeeRate, Price, Qty

BID, ASK = BookSide.BID, BookSide.ASK
RATES = ("0", "0.0175", "0.07", "1")


def with_book(base: RungView, bids: Levels, asks: Levels) -> RungView:
    """The rung with these (price, size) levels of others, and the microprice they give."""
    micro = None
    if bids and asks:
        (bid, bid_qty), (ask, ask_qty) = bids[0], asks[0]
        micro = (bid * ask_qty + ask * bid_qty) / (bid_qty + ask_qty)
    return changed(base, bids=bids, asks=asks, microprice_cents=micro)


def changed(base: Any, **fields: Any) -> Any:
    return msgspec.structs.replace(base, **fields)


def own(side: BookSide, price: int, qty: int, ahead: float = 0.0) -> OwnQuote:
    """What rests of ours at a price."""
    return OwnQuote(side, Price(price), Qty(qty), ahead, 60.0)


def fill(side: BookSide, price: int, qty: int) -> OwnFill:
    return OwnFill(side, Price(price), Qty(qty), 0.0)


def book_of(random: Random) -> tuple[Levels, Levels]:
    """Up to three levels of either side, not crossed."""
    prices = sorted(random.sample(range(1, 100), random.randint(2, 6)))
    cut = random.randint(0, len(prices))
    bids = tuple((Price(price), Qty(random.randint(1, 200))) for price in reversed(prices[:cut]))
    asks = tuple((Price(price), Qty(random.randint(1, 200))) for price in prices[cut:])
    return bids[:3], asks[:3]


def rung_of(random: Random, index: int, fair: float | None) -> RungView:
    base = rung(index, fair, sd=random.uniform(0.1, 20), rate=FeeRate.parse(random.choice(RATES)))
    seen = [_wish(random) for _ in range(random.randint(0, 4))]
    mine = {each[:2]: each for each in (_wish(random) for _ in range(random.randint(0, 4)))}
    return changed(
        with_book(base, *book_of(random)),
        last_price=random.choice([None, Price(random.randint(1, 99))]),
        yes_qty=random.choice([0, 0, random.randint(1, 2_000)]),
        no_qty=random.choice([0, 0, random.randint(1, 2_000)]),
        book_age_s=random.choice([0.0, 1.0, 30.0]),
        volatility_cents=random.choice([0.0, 0.02, 1.0, 50.0]),
        quotable=random.random() < 0.8,
        prints=tuple(Print(Price(p), Qty(q), side, 0.0) for side, p, q in seen),
        fills=tuple(fill(side, p, q) for side, p, q in seen[:2]),
        own=tuple(own(*each, random.uniform(0, 300)) for each in mine.values()),
    )


def _wish(random: Random) -> tuple[BookSide, int, int]:
    return random.choice((BID, ASK)), random.randint(1, 99), random.randint(1, 60)


def run_of(seed: int) -> list[EventView]:
    """A few views of one event after each other; time never steps back."""
    random = Random(seed)
    count = random.randint(1, 5)
    now_s = 0.0
    out = []
    for _ in range(random.randint(1, 5)):
        fairs = sorted((random.uniform(0.5, 99.5) for _ in range(count)), reverse=True)
        each = [
            rung_of(random, index, fair if random.random() < 0.9 else None)
            for index, fair in enumerate(fairs)
        ]
        learned = Intensity(random.uniform(1e-4, 10), random.uniform(0.1, 3), random.choice([0, 9]))
        now_s += random.choice([0.0, 0.05, 1.0, 31.0, 61.0, 2_000.0])
        seconds = random.choice([0.0, 60.0, 86_400.0, QUARTER_S])
        cash = random.choice([None, 0, 700, 1_000_000])
        seen = changed(view(*each, seconds=seconds), now_s=now_s, cash_cents=cash)
        out.append(changed(seen, intensity=random.choice([None, learned])))
    return out


runs = st.integers(0, 2**32).map(run_of)
"""Any run: drawn by its seed, for views are large."""
