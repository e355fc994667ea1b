"""Exposures of a few rungs, quotes on them, and bounds that are far away but for one."""

from hypothesis import strategies as st

from bot.core.risk.exposure import Bounds, Exposure, OpenExposure, RungTerms, bounds_of, live_of
from bot.core.risk.limits import limits_in_force
from bot.core.risk.trim import QuoteTrimmer, Trim
from bot.core.settings import RiskSettings
from bot.strategy.api import Quote, Resting
from venue.wire.money import Cents, FeeRate, Outcome, Price, Qty, Side
from venue.wire.names import MarketId

M0, M1, M2 = MarketId("m0"), MarketId("m1"), MarketId("m2")
RATES = ["0", "0.0007", "0.0175", "0.07", "0.5", "1"]
FAR = Cents(10**9)
FLAT = (0, 0)


def ids(count: int) -> list[MarketId]:
    """The first so many rungs, the lowest strike first."""
    return [MarketId(f"m{index}") for index in range(count)]


def terms(rates: list[str]) -> list[RungTerms]:
    """Terms of rungs with these taker fee rates."""
    pairs = zip(ids(len(rates)), rates, strict=True)
    return [RungTerms.at_rates(key, FeeRate.parse("0"), FeeRate.parse(rate)) for key, rate in pairs]


def holding(cash: int, *holdings: tuple[int, int]) -> Exposure:
    """An account with this cash and these (YES, NO) shares of rungs without fees."""
    return Exposure(terms(["0"] * len(holdings)), Cents(cash), holdings)


def flat(count: int, rate: str = "0") -> Exposure:
    """An account that holds nothing of so many rungs."""
    return Exposure(terms([rate] * count), Cents(0), [FLAT] * count)


def limits(event: int = 10**9, position: int = 10**6, order: int = 10**6) -> RiskSettings:
    """Risk settings, by default far away."""
    return RiskSettings(
        event_loss_cents=Cents(event),
        series_loss_cents=FAR,
        rung_position_qty=Qty(position),
        order_qty=Qty(order),
    )


def bounds(**near: int) -> Bounds:
    """Bounds of one event that are far away, but for these."""
    return Bounds(**{**dict.fromkeys(Bounds.__struct_fields__, 10**9), **near})


def trimmer(order: int = 10**6, position: int = 10**6) -> QuoteTrimmer:
    """A trimmer that has trimmed nothing yet."""
    return QuoteTrimmer(limits_in_force(limits(order=order, position=position)))


def trimmed(quotes: Resting, held: Exposure, of: Bounds) -> dict[MarketId, tuple[Quote, ...]]:
    """The quotes after a first trim to these bounds."""
    return trimmer().trim(quotes, held, of)


def cut(
    quotes: Resting, held: Exposure, risk: RiskSettings, loss_limit_cents: Cents = FAR
) -> tuple[dict[MarketId, tuple[Quote, ...]], list[Trim]]:
    """The quotes after a first trim to these settings, and the trims."""
    in_force = limits_in_force(risk)
    first = QuoteTrimmer(in_force)
    return first.trim(quotes, held, bounds_of(in_force, loss_limit_cents)), list(first.trims)


def with_quotes(held: Exposure, quotes: Resting) -> Exposure:
    """The exposure of the account with these quotes live."""
    exposure = held.bare()
    for key, wanted in quotes.items():
        for quote in wanted:
            exposure.add_order(live_of(key, quote))
    return exposure


COUNT = 4
"""Rungs of a drawn event."""


@st.composite
def lives(draw: st.DrawFn, largest: int = 20) -> OpenExposure:
    """An order on any rung of a drawn event."""
    return OpenExposure(
        draw(st.sampled_from(ids(COUNT))),
        draw(st.sampled_from(list(Outcome))),
        draw(st.sampled_from(list(Side))),
        Price(draw(st.integers(1, 99))),
        Qty(draw(st.integers(1, largest))),
    )


held = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=COUNT, max_size=COUNT)
some_rates = st.lists(st.sampled_from(RATES), min_size=COUNT, max_size=COUNT)
cents = st.integers(0, 6_000)

some_bounds = st.builds(
    Bounds,
    loss_cents=cents,
    position_qty=st.integers(0, 60),
    net_qty=st.integers(0, 90),
    gross_qty=st.integers(0, 200),
    gross_cents=cents,
    resting_cents=cents,
)
