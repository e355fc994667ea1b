"""What the records hold of one day of one account, gathered for its statement.

It begins with the last balance and samples before the day. If the day ends with fills after its
last balance or sample, the first ones of the days after it are included.
"""

import datetime
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from bot.records.database import StoreFault
from bot.records.rows import AccountRow, BalanceRow, FillRow, MarkRow, ProfitRow, RungRow, ValuedRow
from bot.records.store import Store
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import PAYOUT_CENTS, Outcome

DAY_NS: Final = 86_400 * NS_PER_SECOND
AROUND_NS: Final = 10 * NS_PER_SECOND
"""How far the instant that a balance or a sample shows may be from its own time."""

_MARGIN_NS: Final = 2 * AROUND_NS
_EPOCH: Final = datetime.date(1970, 1, 1)


class Holding(msgspec.Struct, frozen=True):
    """A market of the series. samples: the newest before the day, those of the day, and, if the day
    ends with fills, the first after it. fills: since the beginning that the module names."""

    rung: RungRow
    samples: tuple[MarkRow, ...]
    fills: tuple[FillRow, ...]

    @property
    def market_id(self) -> str:
        return self.rung.market_id


class Day(msgspec.Struct, frozen=True, kw_only=True):
    """One day, [from_ns, until_ns). fills: of all series, from the beginning that the module names.
    first_balance: before the day if there is one. balances: of the day. value_open, value_close: of
    a YES share at both ends of the day in thousandths of a cent, by market; None if unknown."""

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
    value_open: dict[str, int | None]
    value_close: dict[str, int | None]
    profits: tuple[ProfitRow, ...]

    def contains(self, at_ns: int) -> bool:
        return self.from_ns <= at_ns < self.until_ns

    @property
    def day_fills(self) -> list[FillRow]:
        return [fill for fill in self.fills if self.contains(fill.created_ns)]


def bounds(day: datetime.date) -> tuple[int, int]:
    """The first nanosecond of a day of UTC, and of the next."""
    first = (day - _EPOCH).days * DAY_NS
    return first, first + DAY_NS


def gather(store: Store, account: AccountRow, day: datetime.date, now_ns: int) -> Day:
    """One day, all as of one instant. Raises StoreFault."""
    with store.reading():
        return _gather(store, account, day, now_ns)


def _gather(store: Store, account: AccountRow, day: datetime.date, now_ns: int) -> Day:
    from_ns, end_ns = bounds(day)
    number = account.account
    rungs = {rung.market_id: rung for rung in store.rungs(number)}
    marks = store.marks(number, from_ns, end_ns)
    balances = store.balances(number, from_ns, end_ns)
    earlier = store.balance_before(number, from_ns)
    in_day = store.fills(number, from_ns, end_ns)
    before = {key: store.mark_before(number, key, from_ns) for key in rungs}
    active = {fill.market_id for fill in in_day} | {mark.market_id for mark in marks}
    active |= {key for key, mark in before.items() if mark and (mark.yes_qty or mark.no_qty)}
    start_ns = from_ns if earlier is None else earlier.begun_ns
    held = [key for key in rungs if key in active and not _was_paid(rungs[key], start_ns)]
    firsts = [mark.at_ns for key in held if (mark := before[key]) is not None]
    start_ns = min([start_ns, *firsts]) - _MARGIN_NS
    last = balances[-1] if balances else earlier
    sampled = {mark.market_id: mark.at_ns for mark in (*filter(None, before.values()), *marks)}
    after = {
        fill.market_id: store.mark_from(number, fill.market_id, end_ns)
        for fill in in_day
        if fill.created_ns > sampled.get(fill.market_id, 0) + AROUND_NS
    }
    if last is None or any(f.created_ns > last.ended_ns + AROUND_NS for f in in_day):
        last = store.balance_from(number, end_ns) or last
    ends = [end_ns, *(mark.at_ns for mark in after.values() if mark is not None)]
    ends.append(end_ns if last is None else last.ended_ns)
    fills = store.fills(number, start_ns, max(ends) + _MARGIN_NS)
    active |= {fill.market_id for fill in fills}
    ours = [rung for key, rung in rungs.items() if key in active and not _was_paid(rung, start_ns)]
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
        holdings=tuple(_holding(rung, before, marks, after, fills) for rung in ours),
        fills=tuple(fills),
        first_balance=earlier or (balances[0] if balances else None),
        last_balance=last,
        balances=tuple(balances),
        valued=store.valued(number, in_day),
        marked=marked,
        value_open={r.market_id: _value(store, number, r, from_ns) for r in ours},
        value_close={r.market_id: _value(store, number, r, end_ns) for r in ours},
        profits=tuple(store.profits(number, from_ns, end_ns)),
    )


def _was_paid(rung: RungRow, before_ns: int) -> bool:
    return rung.paid_ns is not None and rung.paid_ns < before_ns


def _holding(
    rung: RungRow,
    before: Mapping[str, MarkRow | None],
    marks: Sequence[MarkRow],
    after: Mapping[str, MarkRow | None],
    fills: Sequence[FillRow],
) -> Holding:
    key = rung.market_id
    in_day = [mark for mark in marks if mark.market_id == key]
    samples = tuple(filter(None, (before[key], *in_day, after.get(key))))
    return Holding(rung, samples, tuple(fill for fill in fills if fill.market_id == key))


def _value(store: Store, account: int, rung: RungRow, at_ns: int) -> int | None:
    """The value of a YES share at an instant, the same for the day that ends then and the day that
    begins: the payout once it is paid, else the newest value before, else the price of the last
    fill before, else the first value after."""
    if rung.paid_ns is not None and rung.paid_ns < at_ns:
        return PAYOUT_CENTS * 1_000 if rung.winner == Outcome.YES else 0
    mark = store.mark_before(account, rung.market_id, at_ns, valued=True)
    if mark is None:
        price = store.last_price_before(account, rung.market_id, at_ns)
        if price is not None:
            return price * 1_000
        mark = store.mark_from(account, rung.market_id, at_ns, valued=True)
    return None if mark is None else mark.value


def choose(store: Store, day: datetime.date, label: str = "") -> tuple[AccountRow, int]:
    """The account to state: the one named, else the newest with rows on that day; and how many
    others have rows on it. Raises StoreFault if there is none."""
    from_ns, end_ns = bounds(day)
    named = [row for row in store.accounts() if not label or row.label == label]
    found = [
        row
        for row in named
        if row.begun_ns < end_ns
        and (
            store.balances(row.account, from_ns, end_ns)
            or store.fills(row.account, from_ns, end_ns)
        )
    ]
    if not found:
        # A day without any activity still ends with inventory.
        found = [row for row in named if store.balance_before(row.account, end_ns) is not None][:1]
    if not found:
        what = f"of {label!r} " if label else ""
        raise StoreFault(f"no records {what}of {store.book} on or before {day.isoformat()}")
    return found[0], len(found) - 1
