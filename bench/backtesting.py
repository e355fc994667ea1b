"""Records of a recorded tape played a second: the whole trader in a backtest, and nautilus_trader.

The same tape, full depth and executions of one market, and the same rule: ten shares at the best
bid and at the best ask of others, moved when those move. Ours has accounts, limits, a request
budget and recovery, reads its account all the while, and has a turn each second of silence. Anchor:
nautilus_trader, where it is installed, with its own matching, cache, risk and L2 book. Processor
time; reading and converting the tape is not in it. Aim: three times the anchor.
"""

import importlib
import time
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from bot.config.bot_config import finish, read_draft
from bot.lab.backtest.run import Backtest
from bot.lab.exchange.assumptions import Terms
from bot.lab.exchange.queue_model import QueueModel
from bot.strategy.api import EventView, Quote, Quotes, Strategy
from venue.crowd.tape import BookRecord, Record, Tape, TradeRecord, read_tape
from venue.wire.instant import NS_PER_MS
from venue.wire.money import BookSide, Outcome, Price, Qty, complement

_ROOT: Final = Path(__file__).resolve().parents[1]
_TAPE: Final = _ROOT.parent / "shared/data/inxd-23apr10"
_LOT: Final = 10
_ONE_WAY_NS: Final = 15 * NS_PER_MS


class Joins(Strategy):
    name = "joins"

    def quote(self, view: EventView) -> Quotes:
        wanted = {}
        for rung in view.rungs:
            quotes = []
            if rung.bids:
                quotes.append(Quote(BookSide.BID, rung.bids[0][0], Qty(_LOT)))
            if rung.asks:
                quotes.append(Quote(BookSide.ASK, rung.asks[0][0], Qty(_LOT)))
            wanted[rung.market_id] = tuple(quotes)
        return wanted


def ours(tape: Tape, count: int) -> float:
    config = finish(read_draft(_ROOT / "configs/demo.yaml"))
    run = Backtest(tape, config.trader, lambda: Joins(Joins.Params()), QueueModel.EXPECTED, Terms())
    began_s = time.process_time()
    run.run(lambda records: records < count)
    return count / (time.process_time() - began_s)


def nautilus_trader(records: Sequence[Record]) -> float:
    """Records a second of the anchor. Raises ImportError where it is not installed."""
    peer = _peer()
    engine, instrument = _engine(peer)
    engine.add_data(_converted(peer, instrument, records))
    engine.add_strategy(_strategy(peer)(instrument.id))
    began_s = time.process_time()
    engine.run()
    took_s = time.process_time() - began_s
    assert engine.trader.generate_orders_report().shape[0] > 0
    engine.dispose()
    return len(records) / took_s


def _peer() -> dict[str, Any]:
    """The names of the anchor that are used here."""
    found: dict[str, Any] = {}
    for module in (
        "backtest.engine",
        "backtest.models",
        "config",
        "model.currencies",
        "model.data",
        "model.enums",
        "model.identifiers",
        "model.instruments",
        "model.objects",
        "trading.strategy",
    ):
        found |= vars(importlib.import_module(f"nautilus_trader.{module}"))
    return found


def _engine(peer: dict[str, Any]) -> tuple[Any, Any]:
    quiet = peer["LoggingConfig"](bypass_logging=True)
    engine = peer["BacktestEngine"](peer["BacktestEngineConfig"](logging=quiet))
    place = peer["Venue"]("TAPE")
    engine.add_venue(
        venue=place,
        oms_type=peer["OmsType"].NETTING,
        account_type=peer["AccountType"].MARGIN,
        starting_balances=[peer["Money"](1_000_000, peer["USD"])],
        book_type=peer["BookType"].L2_MBP,
        latency_model=peer["LatencyModel"](_ONE_WAY_NS),
    )
    symbol = peer["Symbol"]("RUNG")
    instrument = peer["BinaryOption"](
        instrument_id=peer["InstrumentId"](symbol, place),
        raw_symbol=symbol,
        asset_class=peer["AssetClass"].ALTERNATIVE,
        currency=peer["USD"],
        price_precision=2,
        size_precision=0,
        price_increment=peer["Price"].from_str("0.01"),
        size_increment=peer["Quantity"].from_str("1"),
        activation_ns=0,
        expiration_ns=2**62,
        maker_fee=Decimal(0),
        taker_fee=Decimal("0.07"),
        ts_event=0,
        ts_init=0,
    )
    engine.add_instrument(instrument)
    return engine, instrument


def _converted(peer: dict[str, Any], instrument: Any, records: Sequence[Record]) -> list[Any]:
    """The tape as its data: whole books as a clear and an add for each level."""
    out = []
    for number, record in enumerate(records):
        if isinstance(record, TradeRecord):
            bought = record.taker_outcome is Outcome.YES
            aggressor = peer["AggressorSide"].BUYER if bought else peer["AggressorSide"].SELLER
            out.append(
                peer["TradeTick"](
                    instrument.id,
                    instrument.make_price(record.price / 100),
                    instrument.make_qty(record.qty),
                    aggressor,
                    peer["TradeId"](str(number)),
                    record.ts,
                    record.ts,
                )
            )
        elif isinstance(record, BookRecord):
            out.append(_book(peer, instrument, record))
    return out


def _book(peer: dict[str, Any], instrument: Any, record: BookRecord) -> Any:
    delta = peer["OrderBookDelta"]
    rows = [(peer["OrderSide"].BUY, price, size) for price, size in record.yes]
    for price, size in record.no:
        rows.append((peer["OrderSide"].SELL, int(complement(Price(price))), size))
    deltas = [delta.clear(instrument.id, 0, record.ts, record.ts)]
    for side, price, size in rows:
        level = peer["BookOrder"](
            side, instrument.make_price(price / 100), instrument.make_qty(size), price
        )
        action = peer["BookAction"].ADD
        deltas.append(delta(instrument.id, action, level, 0, 0, record.ts, record.ts))
    return peer["OrderBookDeltas"](instrument.id, deltas)


def _strategy(peer: dict[str, Any]) -> Any:
    base: Any = peer["Strategy"]

    class Rule(base):  # type: ignore[misc]
        def __init__(self, instrument_id: Any) -> None:
            super().__init__()
            self.instrument_id = instrument_id
            self.mine: dict[Any, Any] = {}

        def on_start(self) -> None:
            self.instrument = self.cache.instrument(self.instrument_id)
            self.subscribe_order_book_deltas(self.instrument_id, peer["BookType"].L2_MBP)

        def on_order_book_deltas(self, _deltas: Any) -> None:
            book = self.cache.order_book(self.instrument_id)
            buy, sell = peer["OrderSide"].BUY, peer["OrderSide"].SELL
            for side, price in ((buy, book.best_bid_price()), (sell, book.best_ask_price())):
                order = self.mine.get(side)
                if price is None or (order is not None and order.is_inflight):
                    continue
                if order is None or order.is_closed:
                    qty = self.instrument.make_qty(_LOT)
                    order = self.order_factory.limit(
                        self.instrument_id, side, qty, price, post_only=True
                    )
                    self.mine[side] = order
                    self.submit_order(order)
                elif order.is_open and order.price != price:
                    self.modify_order(order, price=price)

    return Rule


def run(quick: bool) -> list[tuple[str, str]]:
    if not _TAPE.is_dir():
        return [("tape", f"not there: {_TAPE.name}")]
    tape = read_tape(_TAPE)
    count = 3_000 if quick else len(tape.records)
    mine = ours(tape, count)
    rows = [("backtest: the whole trader", f"{mine:,.0f} records/s of one core")]
    try:
        theirs = nautilus_trader(tape.records[:count])
    except ImportError:
        return [*rows, ("backtest: nautilus_trader", "not installed, not measured")]
    text = f"{theirs:,.0f} records/s; ours is {mine / theirs:.3f}x (aim 3x)"
    return [*rows, ("backtest: nautilus_trader", text)]
