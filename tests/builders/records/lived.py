"""Journals of small runs, written entry by entry, for whoever follows them."""

from pathlib import Path

from bot.core import messages as m
from bot.io.journal.records import OPENING, Entry, Head, framed
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND, Instant
from venue.wire.money import Cents, Price, Qty
from venue.wire.names import MarketId, OrderId, Ticker

NIGHT_NS = instant.to_ns("2026-11-20T00:00:00Z")
NOON_NS = instant.to_ns("2026-11-20T12:00:00Z")
EVENT = Ticker("ACME-VAL-26Q4")
SERIES = Ticker("ACME-VAL")


def market_id(number: int) -> MarketId:
    return MarketId(f"00000000-0000-0000-0000-{number:012d}")


def market(number: int, state: str = "active") -> model.Market:
    return model.Market(
        ticker=Ticker(f"{EVENT}-{number}0B"), market_id=market_id(number), event_ticker=EVENT,
        project_market_id="p", name="rung", outcome_label="above",
        state=model.MarketState(state), min_price=Price(1), max_price=Price(99), tick_size=1,
        maker_fee_rate="0.0175", taker_fee_rate="0.0700", open_interest=Qty(0),
        created_at=instant.from_ns(0), updated_at=instant.from_ns(0),
    )  # fmt: skip


def event(*markets: model.Market) -> model.Event:
    return model.Event(
        event_ticker=EVENT, series_ticker=SERIES, project_market_id="p", project_id="c",
        title="Acme", category="valuation", status=model.EventStatus.OPEN,
        mutually_exclusive=False, resolution_date=Instant("2026-12-31T00:00:00Z"),
        markets=markets,
    )  # fmt: skip


def fill(
    number: int,
    at_ns: int,
    rung: int = 1,
    outcome: str = "yes",
    side: str = "buy",
    price: int = 40,
    qty: int = 3,
    fee_cents: int | None = 1,
) -> model.Fill:
    own = Price(price)
    return model.Fill(
        fill_id=f"f{number}", trade_id=f"t{number}", order_id=OrderId(f"7{number % 3}"),
        ticker=Ticker(f"{EVENT}-{rung}0B"), market_id=market_id(rung), event_ticker=EVENT,
        outcome=model.ShownOutcome(outcome), side=model.ShownSide(side), outcome_price=own,
        trade_price=own, qty=Qty(qty), fee_cents=None if fee_cents is None else Cents(fee_cents),
        liquidity=model.Liquidity.MAKER, created_at=instant.from_ns(at_ns),
    )  # fmt: skip


class Journalled:
    """A run's journal in a folder, segment by segment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self._number = 0
        self._requests = 0
        self.path = folder
        self.segment()

    def segment(self, opened_ns: int = NIGHT_NS) -> None:
        self._number += 1
        self.path = self.folder / f"journal-{self._number:08d}.log"
        self.path.write_bytes(OPENING + framed(Head(opened_ns + self._number, ())))

    def add(self, at_ns: int, message: m.Event | m.Effect) -> None:
        with self.path.open("ab") as file:
            file.write(framed(Entry(at_ns, message)))

    def started(self, at_ns: int, nonce: str = "ab" * 10, *, new_account: bool = False) -> None:
        self.add(at_ns, m.Started(nonce, (), new_account))

    def told(self, at_ns: int, body: m.Body) -> None:
        self._requests += 1
        self.add(at_ns, m.Response(m.RequestId(self._requests), m.Ok(body)))

    def series(self, at_ns: int, *markets: model.Market) -> None:
        self.told(at_ns, m.SeriesBody((event(*markets),), ""))

    def fills(self, at_ns: int, *fills: model.Fill) -> None:
        """A page of fills is read, the newest first."""
        self.told(at_ns, m.FillsBody(tuple(reversed(fills)), ""))

    def balance(self, at_ns: int, total_cents: int) -> None:
        """The balance is asked for and told a tenth of a second later."""
        number = m.RequestId(self._requests + 1)
        self.add(at_ns, m.Send(number, m.ReadBalance(), "read balance"))
        total = Cents(total_cents)
        shown = model.Balance(available_cents=total, reserved_cents=Cents(0), total_cents=total)
        self.told(at_ns + NS_PER_SECOND // 10, m.BalanceBody(shown))

    def valued(self, at_ns: int, fill_id: str, value: int) -> None:
        told = {"fill_id": fill_id, "heard_ns": at_ns, "value": value, "level": 0,
                "strategy": "ladder_joint", "reason": "quote bid"}  # fmt: skip
        self.add(at_ns, m.Noted("debug", "fill_valued", told))

    def marked(self, at_ns: int, fill_id: str, horizon_s: int, value: int) -> None:
        told = {"fill_id": fill_id, "against": "fair", "horizon_s": horizon_s, "value": value}
        self.add(at_ns, m.Noted("debug", "fill_marked", told))

    def noise(self, at_ns: int, count: int) -> None:
        for number in range(count):
            self.add(at_ns + number, m.Tick())
            self.add(at_ns + number, m.WakeAt(at_ns))
