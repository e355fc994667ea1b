"""Sessions made by hand: as large as they may become, and as small."""

from collections.abc import Iterable

from bot.lab.report.session import (
    AHEAD_FROM,
    Answers,
    Closing,
    Fill,
    Level,
    Mode,
    Moment,
    Picture,
    Rung,
    Session,
    Stay,
    Uptime,
    Value,
)
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide

BEGUN_NS = 1_800_000_000 * NS_PER_SECOND


def fill(number: int, markouts: Iterable[tuple[int, int]] = (), price: int = 50) -> Fill:
    """A fill of one share at so many seconds after the start. markouts: horizon and value."""
    return Fill(
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


def moment(second: int, profit_cents: int = 0, rungs: int = 17) -> Moment:
    """The account so many seconds after the start."""
    return Moment(
        BEGUN_NS + second * NS_PER_SECOND, 1_000 * profit_cents, 1_000 * profit_cents, 0, 0, 0, 0,
        10_000 + second % 97, 40_000, tuple(second % 31 - place for place in range(rungs)),
        second // 3, second // 2, (second, second, second, 4 * second), second // 9, second,
    )  # fmt: skip


def picture(second: int, rungs: int = 17) -> Picture:
    """The ladder so many seconds after the start."""
    levels = tuple(
        Level(place, 97.123 - 5 * place, 1.234, 90 - 5 * place, 99 - 5 * place, 91 - 5 * place, 110,
              98 - 5 * place, 120, 91 - 5 * place, 98 - 5 * place, second % 100 - 50, True, False)
        for place in range(rungs)
    )  # fmt: skip
    return Picture(BEGUN_NS + second * NS_PER_SECOND, "quoting", levels)


def session(
    *,
    name: str = "made",
    seconds: int = 60,
    fills: Iterable[Fill] = (),
    moments: Iterable[Moment] = (),
    pictures: Iterable[Picture] = (),
    rungs: int = 17,
    prints: dict[int, int] | None = None,
    run: str = "ab" * 10,
) -> Session:
    """A run with these samples."""
    return Session(
        name=name,
        mode=Mode.JOURNAL,
        series="ACME-VAL",
        run=run,
        strategy="made {}",
        begun_ns=BEGUN_NS,
        until_ns=BEGUN_NS + seconds * NS_PER_SECOND,
        events=seconds,
        rungs=[Rung(str(n), f"ACME-VAL-27Q1-{100 + n}B", "ACME-VAL-27Q1") for n in range(rungs)],
        moments=list(moments),
        pictures=list(pictures),
        every_ns=NS_PER_SECOND,
        picture_ns=NS_PER_SECOND,
        fills=list(fills),
        uptime=[(Uptime(), Uptime()) for _ in range(rungs)],
        stays=[Stay() for _ in AHEAD_FROM],
        answers={"create": Answers(sent=seconds)},
        refused={},
        unsampled=0,
        prints=prints or {},
        closing=Closing(
            phase="stopped", pnl_cents=0, fees_cents=0, ledger_difference_cents=None,
            worst_max_cents=0, decisions=0, strategy_errors=0, self_trades=0, latched="",
            profit=None,
        ),
        limits=["made by hand"],
    )  # fmt: skip
