"""Laws of the limits that take many examples."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.risk.exposure import Bounds, Exposure, OpenExposure
from bot.core.risk.limits import limits_in_force
from bot.core.risk.trim import QuoteTrimmer
from bot.strategy.api import Quote
from tests.builders.bot.exposures import (
    COUNT,
    held,
    limits,
    lives,
    some_bounds,
    some_rates,
    terms,
    with_quotes,
)
from tests.builders.bot.planned import ask, bid
from venue.wire.money import BookSide, Cents, Side
from venue.wire.names import MarketId


@settings(max_examples=150)
@given(some_rates, held, st.lists(lives(), max_size=6), lives(largest=60), some_bounds, st.data())
def test_room_grows_with_every_bound_and_shrinks_with_every_order(
    rates, holdings, orders, wanted, bounds, data
):
    exposure = Exposure(terms(rates), Cents(-300), holdings, orders)
    room = exposure.largest(wanted, bounds)
    name = data.draw(st.sampled_from(Bounds.__struct_fields__))
    wider = msgspec.structs.replace(bounds, **{name: getattr(bounds, name) + 500})
    assert exposure.largest(wanted, wider) >= room
    exposure.add_order(data.draw(lives()))
    # Beyond a gross bound nothing was admitted, so that there is no order to add.
    assert exposure.largest(wanted, bounds) <= room or not exposure.is_within_sums(bounds)


def quotes_of(wishes: list[OpenExposure]) -> dict[MarketId, tuple[Quote, ...]]:
    """Wishes as quotes, bids below 50 and asks above, each price once."""
    out: dict[MarketId, dict[tuple[BookSide, int], Quote]] = {}
    for wish in wishes:
        buys = wish.side is Side.BUY
        price = max(1, wish.price // 2) if buys else 50 + wish.price // 2
        quote = bid(price, wish.qty_max) if buys else ask(price, wish.qty_max)
        out.setdefault(wish.market_id, {})[quote.side, price] = quote
    return {key: tuple(quotes.values()) for key, quotes in out.items()}


@settings(max_examples=150)
@given(
    held,
    st.lists(st.lists(lives(), min_size=1, max_size=8), min_size=2, max_size=5),
    some_bounds,
    st.integers(1, 40),
)
def test_a_trimmer_used_before_trims_as_a_new_one_does(holdings, rounds, bounds, order_qty):
    risk = limits_in_force(limits(position=max(1, bounds.position_qty), order=order_qty))
    base = Exposure(terms(["0.0175"] * COUNT), Cents(-500), holdings)
    of = msgspec.structs.replace(bounds, position_qty=risk.rung_position_qty)
    cutter = QuoteTrimmer(risk)
    quotes: dict[MarketId, tuple[Quote, ...]] = {}
    for turn, wishes in enumerate(rounds):
        last, quotes = quotes, {**quotes, **quotes_of(wishes)}
        if len(wishes) % 3 == 0:
            quotes.pop(sorted(quotes)[0])
        if len(wishes) % 4 == 0:  # others than `last` were cut meanwhile
            cutter.trim({key: each[1:] for key, each in last.items()}, base, of)
        of = msgspec.structs.replace(of, loss_cents=bounds.loss_cents * (1 + turn % 2))
        fresh = QuoteTrimmer(risk)
        assert cutter.trim(quotes, base, of) == fresh.trim(quotes, base, of)
        assert cutter.trims == fresh.trims or sorted(cutter.trims, key=str) == sorted(
            fresh.trims, key=str
        )
        kept = fresh.trim(quotes, base, of)
        after, before = with_quotes(base, kept), base
        for now, was in zip(after.worst_by_outcome(), before.worst_by_outcome(), strict=True):
            assert now >= min(-of.loss_cents, was)
        assert after.gross_qty <= max(of.gross_qty, before.gross_qty)
        assert after.gross_cents <= max(of.gross_cents, before.gross_cents)
        assert after.net_qty <= max(of.net_qty, before.net_qty)
        assert after.resting_cents <= of.resting_cents
    again = cutter.trim(quotes, base, of)
    assert cutter.trim({key: (*each,) for key, each in quotes.items()}, base, of) is again
