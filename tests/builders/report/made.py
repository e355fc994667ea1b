"""Sessions made by hand: as large as they may become, and as small."""

from collections.abc import Iterable

from bot.lab.report.session import (
    Answers,
    MarketSample,
    SeenMarket,
    Session,
    SessionFill,
    SessionSample,
    Uptime,
    Value,
)
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide

BEGUN_NS = 1_800_000_000 * NS_PER_SECOND


def fill(number: int, markouts: Iterable[tuple[int, int]] = (), price: int = 50) -> SessionFill:
    """A fill of one share at so many seconds after the start. markouts: horizon and value."""
    return SessionFill(
        fill_id=f"{number:032x}",
        order_id=str(number),
        at_ns=BEGUN_NS + number * NS_PER_SECOND,
        created_ns=BEGUN_NS + number * NS_PER_SECOND,
        rung=number % 17,
        side=BookSide.BID if number % 2 else BookSide.ASK,
        price=price,
        qty=1,
        fee_cents=1,
        maker=True,
        fair_millicents=50_000,
        level=0,
        strategy="made",
        reason="quote bid from shares held",
        values=[Value("fair", horizon_s, value) for horizon_s, value in markouts],
    )


def level(second: int, place: int) -> MarketSample:
    low = 5 * place
    return MarketSample(
        place, 97.123 - low, 1.234, 90 - low, 99 - low, 91 - low, 110, 98 - low, 120,
        91 - low, 98 - low, second % 31 - place, True, False,
    )  # fmt: skip


def moment(second: int, profit_cents: int = 0, rungs: int = 17) -> SessionSample:
    """The account and the ladder so many seconds after the start."""
    return SessionSample(
        BEGUN_NS + second * NS_PER_SECOND, "quoting", 1_000 * profit_cents, 1_000 * profit_cents,
        0, 0, 0, 0, 10_000 + second % 97, 40_000, (second, second, second, 4 * second),
        tuple(level(second, place) for place in range(rungs)),
    )  # fmt: skip


def session(
    *,
    name: str = "made",
    seconds: int = 60,
    fills: Iterable[SessionFill] = (),
    moments: Iterable[SessionSample] = (),
    rungs: int = 17,
    prints: dict[int, int] | None = None,
    run: str = "ab" * 10,
) -> Session:
    return Session(
        name=name,
        series="ACME-VAL",
        run=run,
        strategy="made {}",
        begun_ns=BEGUN_NS,
        until_ns=BEGUN_NS + seconds * NS_PER_SECOND,
        events=seconds,
        rungs=[
            SeenMarket(str(n), f"ACME-VAL-27Q1-{100 + n}B", "ACME-VAL-27Q1") for n in range(rungs)
        ],
        moments=list(moments),
        every_ns=NS_PER_SECOND,
        fills=list(fills),
        uptime=[(Uptime(), Uptime()) for _ in range(rungs)],
        answers={"create": Answers(sent=seconds)},
        prints=prints or {},
        limits=["made by hand"],
    )
