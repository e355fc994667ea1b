"""What a market shows in public: depth, prints, lifetime figures and candles, all kept, packed.
Readings: docs/assumptions.md#S6, #S28, #S41."""

from bisect import bisect_left, bisect_right
from typing import Final

import msgspec

from venue.engine import messages
from venue.views.candles import Candles, RollupSnapshot
from venue.views.catalog import Catalog, EventTaker
from venue.views.packed import PackedRows, PackedSnapshot, downwards, page
from venue.wire import frames, model
from venue.wire.instant import ZERO, from_ns
from venue.wire.model import CandleInterval
from venue.wire.money import PRICE_MAX, PRICE_MIN, BookSide, Cents, Price, Qty, complement, notional
from venue.wire.names import MarketId

_CENTS_PER_DOLLAR: Final = 100

_ASCENDING: Final = tuple(Price(price) for price in range(PRICE_MIN, PRICE_MAX + 1))
_DESCENDING: Final = _ASCENDING[::-1]


class Ladders(msgspec.Struct, frozen=True):
    """The true book as the channel carries it: YES and NO bids, best first, and its instant."""

    ts: int
    yes: tuple[frames.BookLevel, ...]
    no: tuple[frames.BookLevel, ...]


class _Print(msgspec.Struct, frozen=True, array_like=True):
    # Snapshots hold these rows: fields may be added at the end only, with a default.
    at_ns: int
    trade_id: str
    price: Price
    qty: Qty


_PRINTS: Final = msgspec.msgpack.Decoder(_Print)


class TapeSnapshot(msgspec.Struct, frozen=True):
    """Everything kept of one market. bids, asks: shares by price, the slot of price 0 unused."""

    market_id: MarketId
    bids: tuple[Qty, ...]
    asks: tuple[Qty, ...]
    captured_ns: int
    volume_cents: Cents
    prints: PackedSnapshot
    candles: tuple[RollupSnapshot, ...]


class _Tape:
    __slots__ = ("asks", "bids", "candles", "captured_ns", "prints", "volume_cents")

    def __init__(self, listed_ns: int) -> None:
        # Sizes by price; index 0 stays empty.
        self.bids = [Qty(0)] * (PRICE_MAX + 1)
        self.asks = [Qty(0)] * (PRICE_MAX + 1)
        self.captured_ns = listed_ns
        self.prints = PackedRows(_PRINTS)
        self.volume_cents = Cents(0)
        self.candles = Candles()

    @classmethod
    def from_rows(cls, snapshot: TapeSnapshot) -> "_Tape":
        tape = cls(snapshot.captured_ns)
        tape.bids, tape.asks = list(snapshot.bids), list(snapshot.asks)
        tape.prints = PackedRows.from_rows(_PRINTS, snapshot.prints)
        tape.volume_cents = snapshot.volume_cents
        tape.candles = Candles.from_rows(snapshot.candles)
        return tape

    def to_rows(self, market_id: MarketId) -> TapeSnapshot:
        return TapeSnapshot(
            market_id,
            tuple(self.bids),
            tuple(self.asks),
            self.captured_ns,
            self.volume_cents,
            self.prints.to_rows(),
            self.candles.to_rows(),
        )

    def add_print(self, printed: messages.TradePrinted) -> None:
        self.captured_ns = printed.at_ns
        self.prints.append(_Print(printed.at_ns, printed.trade_id, printed.price, printed.qty))
        self.volume_cents = Cents(self.volume_cents + notional(printed.price, printed.qty))
        self.candles.add_print(printed.at_ns, printed.price, printed.qty)


class MarketViews(EventTaker):
    """The public state of every market. Methods raise KeyError for a market never listed."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._tapes: dict[MarketId, _Tape] = {}
        self.takers = {
            messages.LevelChanged: self._change_level,
            messages.TradePrinted: self._print,
            messages.MarketListed: self._list_market,
        }

    @classmethod
    def restored(cls, catalog: Catalog, snapshot: tuple[TapeSnapshot, ...]) -> "MarketViews":
        views = cls(catalog)
        views._tapes = {kept.market_id: _Tape.from_rows(kept) for kept in snapshot}
        return views

    def snapshot(self) -> tuple[TapeSnapshot, ...]:
        return tuple([tape.to_rows(market_id) for market_id, tape in self._tapes.items()])

    def _change_level(self, event: messages.LevelChanged) -> None:
        tape = self._tapes[event.market_id]
        sizes = tape.bids if event.side is BookSide.BID else tape.asks
        sizes[event.price] = event.size
        # A print of the same command may have a later instant, and a capture never goes back.
        tape.captured_ns = max(event.at_ns, tape.captured_ns)

    def _print(self, event: messages.TradePrinted) -> None:
        self._tapes[event.market_id].add_print(event)

    def _list_market(self, event: messages.MarketListed) -> None:
        self._tapes[event.market.market_id] = _Tape(event.at_ns)

    def ladders(self, market_id: MarketId) -> Ladders:
        tape = self._tapes[market_id]
        bids, asks = tape.bids, tape.asks
        return Ladders(
            ts=tape.captured_ns,
            yes=tuple([frames.BookLevel(p, bids[p]) for p in _DESCENDING if bids[p]]),
            no=tuple([frames.BookLevel(complement(p), asks[p]) for p in _ASCENDING if asks[p]]),
        )

    def orderbook(self, market_id: MarketId) -> model.Orderbook:
        """Depth as REST shows it: the zero instant and empty sides until the first print (S28)."""
        tape = self._tapes[market_id]
        ticker, _ = self._catalog.market_tickers(market_id)
        if len(tape.prints) == 0:
            return model.Orderbook(ticker, market_id, ZERO, (), ())
        bids, asks = tape.bids, tape.asks
        return model.Orderbook(
            ticker=ticker,
            market_id=market_id,
            as_of=from_ns(tape.captured_ns),
            bids=tuple([model.Level(p, bids[p]) for p in _DESCENDING if bids[p]]),
            asks=tuple([model.Level(p, asks[p]) for p in _ASCENDING if asks[p]]),
        )

    def stats(self, market_id: MarketId) -> model.MarketStats:
        """Lifetime figures; volume is qty x canonical price, in dollars to the cent (S41)."""
        tape = self._tapes[market_id]
        newest = tape.prints.newest()
        dollars, cents = divmod(tape.volume_cents, _CENTS_PER_DOLLAR)
        return model.MarketStats(
            volume_usd=f"{dollars}.{cents:02d}",
            open_interest=self._catalog.market(market_id).open_interest,
            last_price=None if newest is None else newest.price,
        )

    @property
    def printed_ns(self) -> int:
        """The instant of the newest print of all markets, 0 before the first."""
        newest = [tape.prints.newest() for tape in self._tapes.values()]
        return max((row.at_ns for row in newest if row is not None), default=0)

    def last_trade(self, market_id: MarketId) -> model.MarketTrade | None:
        newest = self._tapes[market_id].prints.newest()
        return None if newest is None else self._shown(market_id, newest)

    def candles(
        self, market_id: MarketId, interval: CandleInterval, from_ns_: int, to_ns_: int
    ) -> model.CandleSeries:
        window = self._tapes[market_id].candles.window(interval, from_ns_, to_ns_)
        ticker, _ = self._catalog.market_tickers(market_id)
        return model.CandleSeries(ticker, market_id, interval, window)

    def trades(
        self,
        market_id: MarketId,
        span_ns: tuple[int | None, int | None],
        before: int | None,
        limit: int,
    ) -> tuple[tuple[model.MarketTrade, ...], int | None]:
        """Prints at or between two instants (None: open), newest first, and where to go on (None:
        no more). before: the place of the last row seen, None at the start. Newer prints are not
        met by the walk."""
        tape = self._tapes[market_id]
        prints, (first_ns, last_ns) = tape.prints, span_ns
        low = 0 if first_ns is None else bisect_left(prints, first_ns, key=_at_ns)
        high = len(prints) if last_ns is None else bisect_right(prints, last_ns, key=_at_ns)
        places, last = page(downwards(low, high, before), limit)
        return tuple([self._shown(market_id, prints[place]) for place in places]), last

    def _shown(self, market_id: MarketId, row: _Print) -> model.MarketTrade:
        ticker, _ = self._catalog.market_tickers(market_id)
        return model.MarketTrade(
            row.trade_id, ticker, market_id, row.price, row.qty, from_ns(row.at_ns)
        )


def _at_ns(row: _Print) -> int:
    return row.at_ns
