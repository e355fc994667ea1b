"""What the records know of one day of one account, gathered for its statement.

Everything between the last balance and pictures before the day and the end of it is looked at: what
was held and owned at midnight follows from what was seen before, and the fills since. Where the day
ends with fills that nothing was seen after, the first look of the days that follow is taken too.
"""

import datetime
from typing import Final

import msgspec

from bot.records.database import StoreFault
from bot.records.rows import (
    AccountRow,
    BalanceRow,
    FillRow,
    MarkRow,
    ProfitRow,
    RungRow,
    ValuedRow,
)
from bot.records.store import Store
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import PAYOUT_CENTS, Outcome

DAY_NS: Final = 86_400 * NS_PER_SECOND
AROUND_NS: Final = 10 * NS_PER_SECOND
"""How far from a balance or a picture the instant may lie that it speaks of."""

_LOOKED_NS: Final = 2 * AROUND_NS
_EPOCH: Final = datetime.date(1970, 1, 1)


class Move(msgspec.Struct, frozen=True):
    """Cash that moved: a fill, or the payout of a rung."""

    at_ns: int
    market_id: str
    cents: int
    is_payout: bool = False


class Holding(msgspec.Struct, frozen=True):
    """A rung of the series in the time looked at. pictures: the newest before the day, all of it,
    and, where the day ends with fills, the first after it. fills: of all that time. settled_ns:
    from when on the trader shows none of its shares, for it knows what they were paid."""

    market_id: str
    ticker: str
    event_ticker: str
    winner: str | None
    paid_ns: int | None
    settled_ns: int | None
    pictures: tuple[MarkRow, ...]
    fills: tuple[FillRow, ...]


class Day(msgspec.Struct, frozen=True, kw_only=True):
    """See above. balances: those of the day. open_values, close_values: of a YES share at the two
    ends of the day, thousandths of a cent, by market; None where none was ever known."""

    account: AccountRow
    name: str
    from_ns: int
    until_ns: int
    is_over: bool
    holdings: tuple[Holding, ...]
    fills: tuple[FillRow, ...]
    first_balance: BalanceRow | None
    last_balance: BalanceRow | None
    balances: tuple[BalanceRow, ...]
    valued: dict[str, ValuedRow]
    marked: dict[str, dict[tuple[str, int], int]]
    open_values: dict[str, int | None]
    close_values: dict[str, int | None]
    profits: tuple[ProfitRow, ...]

    @property
    def day_fills(self) -> list[FillRow]:
        """The fills of the day, of whichever series."""
        return [fill for fill in self.fills if self.from_ns <= fill.created_ns < self.until_ns]

    @property
    def own_fills(self) -> list[FillRow]:
        """The fills of the day in rungs of the series."""
        ours = {holding.market_id for holding in self.holdings}
        return [fill for fill in self.day_fills if fill.market_id in ours]

    def value_open(self, market_id: str) -> int | None:
        """What a YES share was worth as the day began."""
        return self.open_values[market_id]

    def value_close(self, market_id: str) -> int | None:
        """What it was worth at the end."""
        return self.close_values[market_id]


def bounds(day: datetime.date) -> tuple[int, int]:
    """The first nanosecond of a day of UTC, and of the next."""
    begun = (day - _EPOCH).days * DAY_NS
    return begun, begun + DAY_NS


def gather(store: Store, account: AccountRow, day: datetime.date, now_ns: int) -> Day:
    """What is known of a day, all as of one instant. Raises StoreFault."""
    from_ns, end_ns = bounds(day)
    number = account.account
    with store.reading():
        rungs = {rung.market_id: rung for rung in store.rungs(number)}
        marks = store.marks(number, from_ns, end_ns)
        balances = store.balances(number, from_ns, end_ns)
        earlier = store.balance_before(number, from_ns)
        in_day = store.fills(number, from_ns, end_ns)
        before = {key: store.mark_before(number, key, from_ns) for key in rungs}
        active = {fill.market_id for fill in in_day} | {mark.market_id for mark in marks}
        active |= {key for key, mark in before.items() if mark is not None and _holds(mark)}
        looked_from = from_ns if earlier is None else earlier.begun_ns
        held = [key for key in rungs if key in active and not _was_paid(rungs[key], looked_from)]
        firsts = [mark.at_ns for key in held if (mark := before[key]) is not None]
        looked_from = min([looked_from, *firsts]) - _LOOKED_NS
        last = balances[-1] if balances else earlier
        seen = {mark.market_id: mark.at_ns for mark in (*filter(None, before.values()), *marks)}
        late = {
            fill.market_id: store.mark_from(number, fill.market_id, end_ns)
            for fill in in_day
            if fill.created_ns > seen.get(fill.market_id, 0) + AROUND_NS
        }
        if last is None or any(f.created_ns > last.ended_ns + AROUND_NS for f in in_day):
            last = store.balance_from(number, end_ns) or last
        ends = [end_ns, *(mark.at_ns for mark in late.values() if mark is not None)]
        ends.append(end_ns if last is None else last.ended_ns)
        fills = store.fills(number, looked_from, max(ends) + _LOOKED_NS)
        active |= {fill.market_id for fill in fills}
        ours = [rung for key, rung in rungs.items() if key in active]
        ours = [rung for rung in ours if not _was_paid(rung, looked_from)]
        ours.sort(key=lambda rung: rung.ticker)
        marked: dict[str, dict[tuple[str, int], int]] = {}
        for row in store.marked(number, in_day):
            marked.setdefault(row.fill_id, {})[row.against, row.horizon_s] = row.value
        return Day(
            account=account,
            name=day.isoformat(),
            from_ns=from_ns,
            until_ns=end_ns,
            is_over=now_ns >= end_ns,
            holdings=tuple(
                _holding(rung, before[rung.market_id], marks, late.get(rung.market_id), fills)
                for rung in ours
            ),
            fills=tuple(fills),
            first_balance=earlier or (balances[0] if balances else None),
            last_balance=last,
            balances=tuple(balances),
            valued=store.valued(number, in_day),
            marked=marked,
            open_values={r.market_id: _value(store, number, r, from_ns) for r in ours},
            close_values={r.market_id: _value(store, number, r, end_ns) for r in ours},
            profits=tuple(store.profits(number, from_ns, end_ns)),
        )


def _was_paid(rung: RungRow, before_ns: int) -> bool:
    return rung.paid_ns is not None and rung.paid_ns < before_ns


def _holds(mark: MarkRow) -> bool:
    return bool(mark.yes_qty or mark.no_qty)


def _holding(
    rung: RungRow,
    before: MarkRow | None,
    marks: list[MarkRow],
    after: MarkRow | None,
    fills: list[FillRow],
) -> Holding:
    pictures = [mark for mark in marks if mark.market_id == rung.market_id]
    if before is not None:
        pictures.insert(0, before)
    if after is not None:
        pictures.append(after)
    return Holding(
        rung.market_id,
        rung.ticker,
        rung.event_ticker,
        rung.winner,
        rung.paid_ns,
        rung.settled_ns,
        tuple(pictures),
        tuple(fill for fill in fills if fill.market_id == rung.market_id),
    )


def _value(store: Store, account: int, rung: RungRow, at_ns: int) -> int | None:
    """What a YES share is worth at an instant, by nothing but that instant, so that one day ends
    where the next begins: the payout once it is paid, else the newest value before, else the price
    of the last fill before, else the first value after."""
    if rung.paid_ns is not None and rung.paid_ns < at_ns:
        return PAYOUT_CENTS * 1_000 if rung.winner == Outcome.YES else 0
    mark = store.value_before(account, rung.market_id, at_ns)
    if mark is None:
        price = store.last_price_before(account, rung.market_id, at_ns)
        if price is not None:
            return price * 1_000
        mark = store.value_from(account, rung.market_id, at_ns)
    return None if mark is None else mark.value


def choose(store: Store, day: datetime.date, label: str = "") -> tuple[AccountRow, int]:
    """The account to state: the one named, else the newest with anything on that day; and how many
    others have something on it. Raises StoreFault when there is none."""
    from_ns, end_ns = bounds(day)
    meant = [row for row in store.accounts() if not label or row.label == label]
    found = [
        row
        for row in meant
        if row.begun_ns < end_ns
        and (
            store.balances(row.account, from_ns, end_ns)
            or store.fills(row.account, from_ns, end_ns)
        )
    ]
    if not found:
        # A day on which nothing was done still ends with what was held.
        found = [row for row in meant if store.balance_before(row.account, end_ns) is not None][:1]
    if not found:
        what = f"of {label!r} " if label else ""
        raise StoreFault(f"no records {what}of {store.book} on or before {day.isoformat()}")
    return found[0], len(found) - 1
