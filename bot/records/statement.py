"""The statement of a day: inventory, trades, payouts and profit, closing to the cent. These agree:

    cash    the fills and payouts explain the difference of two balances of the venue
    shares  the fills explain the difference of two samples of the trader, market by market
    profit  cash and shares give the same profit as  spread + adverse + drift - fees

A balance names no exact instant, and may be stale: it agrees if the fills up to some instant within
ten seconds of it explain it to the cent.
"""

import itertools
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from operator import add, sub
from typing import Final

import msgspec

from bot.core.account.markouts import HORIZONS_S, MILLI, Markouts
from bot.core.report import Against, MarkoutReport
from bot.records.day import AROUND_NS, Day, Holding
from bot.records.rows import FillRow, ValuedRow
from venue.wire.money import PAYOUT_CENTS, BookSide, dollars

_Amounts = tuple[int, ...]
"""Cents, or YES and NO shares."""

_ADVERSE_S: Final = 10
_PAYOUTS_MAX: Final = 8
"""Up to so many payouts near a balance are each tried as in it or not; more, in their order."""

_WAYS_MAX: Final = 10_000
"""If the fills near a sample allow more inventories than this, none is tried."""


class Check(msgspec.Struct, frozen=True):
    """One thing that must agree. text: what was compared, and the difference if there is one."""

    name: str
    closes: bool
    text: str


class StatementLine(msgspec.Struct, frozen=True, kw_only=True):
    """A market, or all together. Values and profits: thousandths of a cent. cash_cents: of fills
    and payouts, fees included."""

    name: str
    event: str
    fills: int
    bought_qty: int
    sold_qty: int
    yes_open: int
    no_open: int
    yes_close: int
    no_close: int
    value_open: int | None
    value_close: int | None
    cash_cents: int
    paid_out_cents: int
    fees_cents: int
    profit: int
    spread: int
    adverse: int
    drift: int
    markouts: tuple[MarkoutReport, ...]


class StatedFill(msgspec.Struct, frozen=True, kw_only=True):
    """A fill with its fair value, adverse move and markouts, thousandths of a cent."""

    fill: FillRow
    valued: ValuedRow | None
    adverse: int
    markouts: tuple[int | None, ...]


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """A day. cash_open_cents, cash_close_cents: of the account, None if no balance is known.
    other_cents: the change of it by fills in markets of other series."""

    book: str
    label: str
    day: str
    from_ns: int
    until_ns: int
    is_over: bool
    cash_open_cents: int | None
    cash_close_cents: int | None
    other_cents: int
    other_fills: int
    total: StatementLine
    rungs: tuple[StatementLine, ...]
    fills: tuple[StatedFill, ...]
    checks: tuple[Check, ...]

    @property
    def closes(self) -> bool:
        return all(check.closes for check in self.checks)


class _Move(msgspec.Struct, frozen=True):
    """Cash of a fill, or of the payout of a market."""

    at_ns: int
    market_id: str
    cents: int
    is_payout: bool = False


def state(day: Day) -> Statement:
    openings: dict[str, tuple[int, int]] = {}
    differing: list[str] = []
    compared = 0
    for holding in day.holdings:
        opening, fault, was_compared = _shares(day, holding)
        openings[holding.market_id] = opening
        compared += was_compared
        if fault:
            differing.append(f"{holding.rung.ticker}: {fault}")
    moves = _cash_moves(day, openings)
    cash, cash_check = _cash(day, moves)
    text = "; ".join(differing[:5]) or f"{compared} of {len(day.holdings)} rungs compared"
    own_fills = [fill for fill in day.day_fills if fill.market_id in openings]
    stated = {fill.fill_id: _stated_fill(day, fill) for fill in own_fills}
    lines = [
        _line(day, holding, openings[holding.market_id], stated)
        for holding in day.holdings
        if holding.rung.paid_ns is None or holding.rung.paid_ns >= day.from_ns
    ]
    others = [m for m in moves if day.contains(m.at_ns) and m.market_id not in openings]
    return Statement(
        book=day.account.book,
        label=day.account.label,
        day=day.name,
        from_ns=day.from_ns,
        until_ns=day.until_ns,
        is_over=day.is_over,
        cash_open_cents=None if cash is None else cash + _sum(moves, day.from_ns),
        cash_close_cents=None if cash is None else cash + _sum(moves, day.until_ns),
        other_cents=sum(move.cents for move in others),
        other_fills=len(day.day_fills) - len(own_fills),
        total=_total(lines, stated.values(), day),
        rungs=tuple(lines),
        fills=tuple(stated.values()),
        checks=(cash_check, Check("shares", not differing, text), _profit_check(lines)),
    )


# --- cash and shares ------------------------------------------------------------------------------


def _sum(moves: Iterable[_Move], before_ns: int) -> int:
    return sum(move.cents for move in moves if move.at_ns < before_ns)


def _cash_moves(day: Day, openings: dict[str, tuple[int, int]]) -> list[_Move]:
    """All moves of the account's cash, in order: fills of all series, and the payouts of ours."""
    moves = [_Move(f.created_ns, f.market_id, f.cash_cents) for f in day.fills]
    for holding in day.holdings:
        paid_ns = holding.rung.paid_ns
        if paid_ns is not None:
            yes_qty, no_qty = _held(openings[holding.market_id], holding.fills, None)
            won = yes_qty if holding.rung.winner == "yes" else no_qty
            moves.append(_Move(paid_ns, holding.market_id, PAYOUT_CENTS * won, is_payout=True))
    return sorted(moves, key=lambda move: move.at_ns)


def _held(
    opening: tuple[int, int], fills: Iterable[FillRow], before_ns: int | None
) -> tuple[int, int]:
    """Shares after the fills before an instant, or after all if that is None; without payouts."""
    yes_qty, no_qty = opening
    for fill in fills:
        if before_ns is None or fill.created_ns < before_ns:
            yes_qty += fill.shares[0]
            no_qty += fill.shares[1]
    return yes_qty, no_qty


def _cash(day: Day, moves: Sequence[_Move]) -> tuple[int | None, Check]:
    """The account's cash before all fills of the day's data, and the check of the balances."""
    first, last = day.first_balance, day.last_balance
    if first is None or last is None:
        quiet = not day.day_fills
        return None, Check("cash", quiet, "no balance is known" if day.fills else "nothing moved")
    ours = _openings(moves, first.begun_ns, first.ended_ns, first.total_cents)
    theirs = _openings(moves, last.begun_ns, last.ended_ns, last.total_cents)
    fitting = [opening for opening in ours if opening in theirs]
    if not fitting:
        expected = ours[-1] + _sum(moves, last.ended_ns)
        differs = last.total_cents - expected
        text = f"the venue has {dollars(last.total_cents)}, the fills say {dollars(expected)}"
        return ours[-1], Check("cash", False, f"{text}: {dollars(differs)} unexplained")
    (opening,) = _best_seen(
        [(cents,) for cents in fitting],
        [(move.at_ns, (move.cents,)) for move in moves],
        (
            (e.begun_ns - AROUND_NS + 1, e.ended_ns + AROUND_NS + 1, (e.total_cents,))
            for e in day.balances
        ),
    )
    late = [fill for fill in day.day_fills if fill.created_ns > last.ended_ns + AROUND_NS]
    if late:
        text = f"{len(late)} fills after the last balance of the day"
        return opening, Check("cash", False, text)
    return opening, Check("cash", True, "two balances agree with the fills between them")


def _openings(moves: Sequence[_Move], begun_ns: int, ended_ns: int, cents: int) -> list[int]:
    """The possible cash before all moves, given that it was `cents` at some time of a span. The
    last one is right if the balance is not stale at all."""
    low, high = begun_ns - AROUND_NS, ended_ns + AROUND_NS
    before = sum(move.cents for move in moves if move.at_ns <= low)
    near = [move for move in moves if low < move.at_ns <= high]
    payouts = [move for move in near if move.is_payout]
    if len(payouts) > _PAYOUTS_MAX:
        payouts = []
    fills = [move for move in near if move not in payouts]
    steps = [0, *itertools.accumulate(move.cents for move in fills)]
    upto = sum(move.at_ns <= ended_ns for move in fills)
    # The likeliest last.
    steps = [*steps[:upto], *steps[upto + 1 :], steps[upto]]
    choices = itertools.product(*((0, move.cents) for move in payouts))
    sums = sorted({sum(choice) for choice in choices}, key=abs)
    return [cents - before - step - paid for paid in sums for step in steps]


def _shares(day: Day, holding: Holding) -> tuple[tuple[int, int], str, bool]:
    """A market's shares before all fills of the day's data, the contradiction if there is one, and
    True if two samples were compared."""
    until_ns = holding.rung.settled_ns  # then the trader shows no shares any more
    samples = [m for m in holding.samples if until_ns is None or m.at_ns < until_ns]
    if not samples:
        return (0, 0), "", False
    first, last = samples[0], samples[-1]
    ours = _share_openings(holding.fills, first.at_ns, (first.yes_qty, first.no_qty))
    theirs = _share_openings(holding.fills, last.at_ns, (last.yes_qty, last.no_qty))
    fitting = [opening for opening in ours if opening in theirs]
    if not fitting:
        by_order = _openings_by_order(holding.fills, first.at_ns, (first.yes_qty, first.no_qty))
        fitting = [opening for opening in theirs if opening in by_order]
    if not fitting:
        by_order = _openings_by_order(holding.fills, last.at_ns, (last.yes_qty, last.no_qty))
        fitting = [opening for opening in ours if opening in by_order]
    # Nobody is short: a sample that shows a fill late must not make it so.
    fitting = [opening for opening in fitting if min(opening) >= 0] or fitting
    if fitting:
        in_day = [f for f in holding.fills if day.contains(f.created_ns)]
        late = in_day and in_day[-1].created_ns > last.at_ns + AROUND_NS
        shares = [(fill.created_ns, fill.shares) for fill in holding.fills]
        looks = ((m.at_ns - AROUND_NS, m.at_ns + AROUND_NS, (m.yes_qty, m.no_qty)) for m in samples)
        yes_qty, no_qty = _best_seen(fitting, shares, looks)
        # Once it is paid no sample shows it; then the payout is checked by the cash.
        if late and holding.rung.paid_ns is None:
            return (yes_qty, no_qty), "a fill after its last sample", True
        return (yes_qty, no_qty), "", True
    expected = _held(ours[-1], holding.fills, last.at_ns)
    text = (
        f"{last.yes_qty} YES and {last.no_qty} NO held, the fills say {expected[0]} and "
        f"{expected[1]}"
    )
    return ours[-1], text, True


def _share_openings(
    fills: Sequence[FillRow], at_ns: int, held: tuple[int, int]
) -> list[tuple[int, int]]:
    """The possible shares before all fills, given that they were `held` about then; the last one is
    by the fills up to that very instant."""
    yes_qty, no_qty = _held((0, 0), fills, at_ns - AROUND_NS)
    found = [(held[0] - yes_qty, held[1] - no_qty)]
    likeliest = found[0]
    for fill in fills:
        if at_ns - AROUND_NS <= fill.created_ns < at_ns + AROUND_NS:
            yes_qty += fill.shares[0]
            no_qty += fill.shares[1]
            found.append((held[0] - yes_qty, held[1] - no_qty))
            if fill.created_ns < at_ns:
                likeliest = found[-1]
    return [*found, likeliest]


def _best_seen(
    openings: Sequence[_Amounts],
    moves: Sequence[tuple[int, _Amounts]],
    looks: Iterable[tuple[int, int, _Amounts]],
) -> _Amounts:
    """Of openings that fit the first look and the last, the one that fits most of the looks between
    too; the last of those. looks: (from_ns, until_ns, seen), where moves between the two instants
    may be in what was seen or not."""
    if len(set(openings)) == 1:
        return openings[-1]
    times = [at_ns for at_ns, _ in moves]
    sums = [tuple(0 for _ in openings[-1])]
    for _, moved in moves:
        sums.append(tuple(map(add, sums[-1], moved)))
    fits = dict.fromkeys(reversed(openings), 0)
    for from_ns, until_ns, seen in looks:
        low, high = bisect_left(times, from_ns), bisect_left(times, until_ns)
        for opening in {tuple(map(sub, seen, moved)) for moved in sums[low : high + 1]}:
            if opening in fits:
                fits[opening] += 1
    return max(fits, key=fits.__getitem__)


def _openings_by_order(
    fills: Sequence[FillRow], at_ns: int, held: tuple[int, int]
) -> set[tuple[int, int]]:
    """The possible shares before all fills, if a sample shows fills in turn only within each order:
    the trader learns of one order by its response or read, and of another one later. Empty if there
    are too many."""
    near: dict[str, list[FillRow]] = {}
    for fill in fills:
        if at_ns - AROUND_NS <= fill.created_ns < at_ns + AROUND_NS:
            near.setdefault(fill.order_id, []).append(fill)
    sums = {_held((0, 0), fills, at_ns - AROUND_NS)}
    for own in near.values():
        steps = [_held((0, 0), own[:count], None) for count in range(len(own) + 1)]
        sums = {(yes + more[0], no + more[1]) for yes, no in sums for more in steps}
        if len(sums) > _WAYS_MAX:
            return set()
    return {(held[0] - yes, held[1] - no) for yes, no in sums}


# --- profit ---------------------------------------------------------------------------------------


def _stated_fill(day: Day, fill: FillRow) -> StatedFill:
    """A fill with its adverse move in the ten seconds after it, or until the end of the day if that
    is unknown."""
    valued = day.valued.get(fill.fill_id)
    marked = day.marked.get(fill.fill_id, {})
    sign = 1 if fill.book_side is BookSide.BID else -1
    price = fill.yes_price * MILLI
    after = [marked.get((Against.FAIR.value, horizon_s)) for horizon_s in HORIZONS_S]
    adverse = 0
    if valued is not None:
        moved = marked.get((Against.FAIR.value, _ADVERSE_S))
        if moved is None:
            moved = day.value_close[fill.market_id]
        adverse = fill.signed_qty * ((valued.value if moved is None else moved) - valued.value)
    markouts = tuple(None if each is None else sign * (each - price) for each in after)
    return StatedFill(fill=fill, valued=valued, adverse=adverse, markouts=markouts)


def _line(
    day: Day, holding: Holding, opening: tuple[int, int], stated: dict[str, StatedFill]
) -> StatementLine:
    rung = holding.rung
    fills = [f for f in holding.fills if day.contains(f.created_ns)]
    yes_open, no_open = _held(opening, holding.fills, day.from_ns)
    yes_close, no_close = _held((yes_open, no_open), fills, None)
    value_open, value_close = day.value_open[rung.market_id], day.value_close[rung.market_id]
    open_value, close_value = value_open or 0, value_close or 0
    cash_cents = sum(fill.cash_cents for fill in fills)
    paid_out = 0
    spread = adverse = inventory = 0
    for fill in fills:
        valued = stated[fill.fill_id].valued
        at_fill = fill.yes_price * MILLI if valued is None else valued.value
        spread += fill.signed_qty * (at_fill - fill.yes_price * MILLI)
        inventory += fill.signed_qty * (close_value - at_fill)
        adverse += stated[fill.fill_id].adverse
    inventory += (yes_open - no_open) * (close_value - open_value)
    # The second account of the same profit: cash, and shares at their value.
    worth_open = MILLI * PAYOUT_CENTS * no_open + (yes_open - no_open) * open_value
    worth_close = MILLI * PAYOUT_CENTS * no_close + (yes_close - no_close) * close_value
    if rung.paid_ns is not None and day.contains(rung.paid_ns):
        paid_out = PAYOUT_CENTS * (yes_close if rung.winner == "yes" else no_close)
        worth_close, yes_close, no_close = 0, 0, 0
    fees_cents = sum(fill.fee_cents or 0 for fill in fills)
    return StatementLine(
        name=rung.ticker,
        event=rung.event_ticker,
        fills=len(fills),
        bought_qty=sum(f.qty for f in fills if f.book_side is BookSide.BID),
        sold_qty=sum(f.qty for f in fills if f.book_side is BookSide.ASK),
        yes_open=yes_open,
        no_open=no_open,
        yes_close=yes_close,
        no_close=no_close,
        value_open=value_open,
        value_close=value_close,
        cash_cents=cash_cents + paid_out,
        paid_out_cents=paid_out,
        fees_cents=fees_cents,
        profit=MILLI * (cash_cents + paid_out) + worth_close - worth_open,
        spread=spread,
        adverse=adverse,
        drift=inventory - adverse,
        markouts=_markouts((stated[f.fill_id] for f in fills), day),
    )


def _markouts(stated: Iterable[StatedFill], day: Day) -> tuple[MarkoutReport, ...]:
    sums = Markouts()
    known = [(each.valued.heard_ns, each.fill) for each in stated if each.valued is not None]
    for heard_ns, fill in sorted(known, key=lambda one: one[0]):
        sign = 1 if fill.signed_qty > 0 else -1
        for (against, horizon_s), value in sorted(day.marked.get(fill.fill_id, {}).items()):
            gain = sign * (value - fill.yes_price * MILLI)
            place = HORIZONS_S.index(horizon_s)
            sums.add_markout(Against(against), place, gain, fill.qty, heard_ns)
    return sums.rows()


def _total(lines: Sequence[StatementLine], stated: Iterable[StatedFill], day: Day) -> StatementLine:
    names = (
        *("fills", "bought_qty", "sold_qty", "yes_open", "no_open", "yes_close", "no_close"),
        *("cash_cents", "paid_out_cents", "fees_cents", "profit", "spread", "adverse", "drift"),
    )
    return StatementLine(
        name="total",
        event="",
        value_open=None,
        value_close=None,
        markouts=_markouts(stated, day),
        **{name: sum(getattr(line, name) for line in lines) for name in names},
    )


def _profit_check(lines: Iterable[StatementLine]) -> Check:
    wrong = [
        f"{line.name}: {rest} thousandths of a cent"
        for line in lines
        if (rest := line.profit - line.spread - line.adverse - line.drift + MILLI * line.fees_cents)
    ]
    text = "; ".join(wrong[:5]) or "spread + adverse + drift - fees, to the thousandth of a cent"
    return Check("profit", not wrong, text)
