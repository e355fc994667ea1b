"""The fills of one user, packed, found by market and by order. A fill's place is its number among
the user's own; every fill knows the one before it of the same order."""

from array import array
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from venue.engine.messages import FillBooked
from venue.views.packed import PLACE_CODE, PackedRows, PackedSnapshot, downwards, newest_first
from venue.wire.model import Liquidity
from venue.wire.money import Cents, Outcome, Price, Qty, Side
from venue.wire.names import OrderId


class FillRow(msgspec.Struct, frozen=True, array_like=True):
    """A fill as kept. market: its number. previous: the place of the same order's fill before.
    Snapshots hold these rows: add fields at the end only, with a default."""

    at_ns: int
    fill_id: str
    trade_id: str
    order_id: OrderId
    market: int
    outcome: Outcome
    side: Side
    outcome_price: Price
    trade_price: Price
    qty: Qty
    fee_cents: Cents
    liquidity: Liquidity
    previous: int | None


_DECODER: Final = msgspec.msgpack.Decoder(FillRow)


class FillsSnapshot(msgspec.Struct, frozen=True):
    """All rows, and the places of each market's by its number."""

    rows: PackedSnapshot
    places: dict[int, tuple[int, ...]]


class FillTable:
    """The fills of one user. Places given to it are places that it has given out."""

    __slots__ = ("_places", "_rows")

    def __init__(self) -> None:
        self._rows = PackedRows(_DECODER)
        self._places: dict[int, array[int]] = {}

    @classmethod
    def from_rows(cls, snapshot: FillsSnapshot) -> "FillTable":
        table = cls()
        table._rows = PackedRows.from_rows(_DECODER, snapshot.rows)
        table._places = {n: array(PLACE_CODE, places) for n, places in snapshot.places.items()}
        return table

    def to_rows(self) -> FillsSnapshot:
        places = {number: tuple(places) for number, places in self._places.items()}
        return FillsSnapshot(self._rows.to_rows(), places)

    def __len__(self) -> int:
        return len(self._rows)

    def append(self, fill: FillBooked, market: int, previous: int | None) -> None:
        """Take in a fill of the market with this number; its place is the length until then."""
        self._places.setdefault(market, array(PLACE_CODE)).append(len(self._rows))
        self._rows.append(
            FillRow(
                fill.at_ns,
                fill.fill_id,
                fill.trade_id,
                fill.order_id,
                market,
                fill.outcome,
                fill.side,
                fill.outcome_price,
                fill.trade_price,
                fill.qty,
                fill.fee_cents,
                fill.liquidity,
                previous,
            )
        )

    def row(self, place: int) -> FillRow:
        return self._rows[place]

    def newest_first(self, markets: Iterable[int] | None, before: int | None) -> Iterator[int]:
        """Places of fills of some markets (numbers; None for all), from below `before`, if any."""
        if markets is None:
            return downwards(0, len(self._rows), before)
        lists = [self._places.get(number) for number in markets]
        return newest_first([places for places in lists if places], before)

    def of_order(self, newest: int, before: int | None) -> Iterator[int]:
        """Places of one order's fills, newest first, from `newest` or below `before`. An older
        state may have been put back: `before` may be another order's place, or nobody's."""
        place: int | None = newest
        if before is not None and before < len(self._rows):
            row = self._rows[before]
            if row.order_id == self._rows[newest].order_id:
                place = row.previous
        while place is not None:
            if before is None or place < before:
                yield place
            place = self._rows[place].previous
