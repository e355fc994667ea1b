"""Follows the journal: which fills, balances, payouts and beliefs it tells of, and how far it got.

The journal holds every event and effect in order, so whoever has read it up to a place has missed
nothing before it, whatever happened to the store, to this program or to the bot in the meantime.
Entries that tell nothing of the account are passed over without being decoded.
"""

from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from bot.core import messages as m
from bot.io.journal.journal import number_of, opened, segments, size_of
from bot.io.journal.records import Entry, JournalFault, Stream, entry_of
from bot.records.rows import (
    AccountRow,
    BalanceRow,
    Batch,
    CursorRow,
    FillRow,
    MarkedRow,
    RungRow,
    Settled,
    ValuedRow,
    account_of,
)
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND, to_ns
from venue.wire.money import PAYOUT_CENTS, FeeRate, Outcome, Qty, Side, fee_units
from venue.wire.names import fold_ticker

_TELLING: Final = tuple(
    name.encode()
    for name in (
        *("FillsBody", "BalanceBody", "SeriesBody", "ReadBalance", "Started"),
        *("fill_valued", "fill_marked", "rung_settled"),
    )
)
"""Texts of which each entry that matters here holds one, whatever else does too."""

_FILLS_REMEMBERED: Final = 2_000
"""Fills that were shown of late, two pages of the list: the store is not asked for those again, and
knows all others itself."""

_MAX: Final = 2**63 - 1
"""The largest number of a column of 64 bits; of times, in the year 2262."""

_ASKED_MAX: Final = 64
_ODD_MAX: Final = 1_000
_SEEN_NS: Final = 3_600 * NS_PER_SECOND
"""A rung that has not changed is written so often, so that retention leaves it."""

BYTES_AT_ONCE: Final = 4 * 1024 * 1024
ROWS_AT_ONCE: Final = 4_000


class Look(msgspec.Struct, frozen=True):
    """What one look found. cursor: where the next one begins, None while there is no journal.
    behind: bytes of the journal that are not read yet. gap: entries were gone before they were
    read, or are damaged."""

    batches: tuple[Batch, ...]
    cursor: CursorRow | None
    behind: int
    gap: bool


class Follower:
    """Reads one bot's journal on from a cursor. Should the store not keep what a look found,
    begin with another one."""

    def __init__(
        self,
        folder: Path,
        book: str,
        label: str,
        cursor: CursorRow | None = None,
        accounts: Iterable[AccountRow] = (),
        rungs: Iterable[RungRow] = (),
        *,
        series: str = "",
        amid: AccountRow | None = None,
    ) -> None:
        """label: of what the bot trades on, where that outlives its runs. accounts, rungs: those
        that the store knows, the rungs of the cursor's account. series: the ticker of the bot's
        own; a bot beside other series reads theirs too. Empty: whatever is read is its own. amid:
        whose entries come before the first start that is read; None: nobody's."""
        self._folder = folder
        self._book = book
        self._label = label
        self._series = fold_ticker(series)
        self._cursor = cursor
        self._is_known = False
        known = {row.account: row for row in accounts}
        self._batch = None if amid is None else Batch(amid)
        if cursor is not None and cursor.account in known:
            self._batch = Batch(known[cursor.account])
        self._rungs: dict[str, RungRow] = {}
        self._by_ticker: dict[str, str] = {}
        self._fills: OrderedDict[str, None] = OrderedDict()
        self._asked: OrderedDict[int, int] = OrderedDict()
        self._batches: list[Batch] = []
        self._odd: set[str] = set()
        self._as_own: set[str] = set()
        for rung in rungs:
            self._remember(rung)
            self._as_own.add(rung.market_id)

    @property
    def account(self) -> AccountRow | None:
        """The account of what was read last; None before the first start was read."""
        return None if self._batch is None else self._batch.account

    @property
    def unreadable(self) -> int:
        """Fills that are no cash and shares, or of a market that is not known."""
        return len(self._odd)

    def _remember(self, rung: RungRow) -> None:
        self._rungs[rung.market_id] = rung
        self._by_ticker[fold_ticker(rung.ticker)] = rung.market_id

    # --- reading ----------------------------------------------------------------------------------

    def look(self) -> Look:
        """Read on, so much at once at most. Raises JournalFault when the journal cannot be read."""
        if self._batch is not None:
            self._batch = Batch(self._batch.account)
        self._batches = [] if self._batch is None else [self._batch]
        try:
            paths = {number_of(path): path for path in segments(self._folder)}
        except OSError as fault:
            raise JournalFault(f"{self._folder}: {fault.strerror}") from None
        gap = self._is_gone(paths)
        left = BYTES_AT_ONCE
        newest = max(paths, default=0)
        for number in sorted(paths):
            cursor = self._cursor
            if cursor is not None and number < cursor.segment:
                continue
            begun = self._begin(number, paths[number], left)
            if begun is None:
                gap = gap or number != newest
                continue
            left -= begun
            if left <= 0 or self._is_full():
                break
            unread = self._unread(paths[number])
            gap = gap or (number != newest and unread > 0)
        behind = sum(
            self._unread(path)
            for number, path in paths.items()
            if self._cursor is None or number >= self._cursor.segment
        )
        return Look(tuple(each for each in self._batches), self._cursor, behind, gap)

    def _is_gone(self, paths: dict[int, Path]) -> bool:
        """Whether entries after the cursor are no longer there; then it begins with what is."""
        cursor = self._cursor
        if cursor is None:
            return False
        there = cursor.segment in paths
        if (there or cursor.segment + 1 in paths) and not (there and self._is_another(paths)):
            return False
        if not paths or min(paths) <= cursor.segment:
            # Another journal: the state directory was lost, and counts from 1 again.
            self._cursor = None
            return bool(paths)
        return True

    def _is_another(self, paths: dict[int, Path]) -> bool:
        """Whether the cursor's segment has another opening than when it was read; looked at once,
        for a journal that this follower has read on in is the one that it knows."""
        cursor, was_looked_at = self._cursor, self._is_known
        self._is_known = True
        if cursor is None or was_looked_at:
            return False
        path = paths[cursor.segment]
        try:
            with opened(path) as file:
                head = Stream(file, str(path)).head
        except OSError:
            return False  # told where it is read
        return head is not None and head.opened_ns != cursor.opened_ns

    def _unread(self, path: Path) -> int:
        cursor = self._cursor
        at = cursor.place if cursor is not None and cursor.segment == number_of(path) else 0
        return max(0, size_of(path) - at)

    def _begin(self, number: int, path: Path, most: int) -> int | None:
        """Read on in a segment; the bytes read, or None when it is gone or only begins."""
        try:
            with opened(path) as file:
                stream = Stream(file, str(path))
                if stream.head is None:
                    return None
                opened_ns, cursor = stream.head.opened_ns, self._cursor
                at = stream.first
                same = cursor is not None and cursor.segment == number
                if cursor is not None and same and cursor.opened_ns == opened_ns:
                    at = max(at, cursor.place)
                return self._read(stream, number, opened_ns, at, most)
        except FileNotFoundError:
            return None
        except OSError as fault:
            raise JournalFault(f"{path}: {fault.strerror}") from None

    def _read(self, stream: Stream, number: int, opened_ns: int, at: int, most: int) -> int:
        begun, last_ns = at, opened_ns
        for payload, after in stream.payloads(at):
            at = after
            if any(name in payload for name in _TELLING):
                entry = entry_of(payload, f"journal segment {number}")
                last_ns = entry.at_ns
                self._take(entry)
            if at - begun >= most or self._is_full():
                break
        account = 0 if self.account is None else self.account.account
        if at > begun or self._cursor is None or self._cursor.segment != number:
            self._cursor = CursorRow(account, number, opened_ns, at, last_ns)
        return at - begun

    def _is_full(self) -> bool:
        return sum(len(each.fills) + len(each.marked) for each in self._batches) >= ROWS_AT_ONCE

    # --- what an entry tells ----------------------------------------------------------------------

    def _take(self, entry: Entry) -> None:
        message, at_ns = entry.message, entry.at_ns
        if isinstance(message, m.Started):
            self._started(message, at_ns)
            return
        batch = self._batch
        if batch is None:
            return
        match message:
            case m.Send(request=m.ReadBalance()):
                self._asked[message.request_id] = at_ns
                while len(self._asked) > _ASKED_MAX:
                    self._asked.popitem(last=False)
            case m.Noted():
                _note(batch, message, at_ns)
            case m.Response(answer=m.Ok(body=m.BalanceBody(balance=balance))):
                begun_ns = self._asked.pop(message.request_id, at_ns)
                batch.balances.append(BalanceRow(begun_ns, at_ns, balance.total_cents))
            case m.Response(answer=m.Ok(body=m.SeriesBody(events=events))):
                for event in events:
                    for market in event.markets:
                        self._listed(batch, event, market, at_ns)
            case m.Response(answer=m.Ok(body=m.FillsBody(fills=fills))):
                for fill in reversed(fills):
                    self._filled(batch, fill)

    def _started(self, started: m.Started, at_ns: int) -> None:
        """A run begins: on the account of before, or on one of its own."""
        label = f"run {started.boot_nonce}" if started.new_account else self._label
        row = AccountRow(account_of(self._book, label), self._book, label, at_ns)
        self._asked.clear()
        if self.account is not None and row.account == self.account.account:
            return
        self._batch = Batch(row)
        self._batches.append(self._batch)
        self._rungs.clear()
        self._by_ticker.clear()
        self._as_own.clear()
        self._fills.clear()

    def _listed(self, batch: Batch, event: model.Event, market: model.Market, at_ns: int) -> None:
        resolved = market.state is model.MarketState.RESOLVED
        known = self._rungs.get(market.market_id)
        own = self._series in ("", fold_ticker(event.series_ticker))
        if not own and market.market_id in self._as_own:
            self._as_own.remove(market.market_id)
            batch.not_ours.append(market.market_id)
        row = RungRow(
            market_id=market.market_id,
            ticker=market.ticker,
            event_ticker=market.event_ticker,
            maker_fee=market.maker_fee_rate,
            taker_fee=market.taker_fee_rate,
            seen_ns=at_ns,
            resolved_ns=at_ns if resolved else None,
        )
        if known is not None:
            if resolved and known.resolved_ns is not None:
                row = msgspec.structs.replace(row, resolved_ns=known.resolved_ns)
            same = (known.maker_fee, known.taker_fee, known.resolved_ns) == (
                row.maker_fee,
                row.taker_fee,
                row.resolved_ns,
            )
            if same and at_ns - known.seen_ns < _SEEN_NS:
                return
        self._remember(row)
        # Of rungs of other series only fees are wanted: nobody looks at what is held of them.
        names = (row.market_id, row.ticker, row.event_ticker, row.maker_fee, row.taker_fee)
        if own and _are_kept(names):
            batch.rungs.append(row)

    def _filled(self, batch: Batch, fill: model.Fill) -> None:
        if fill.fill_id in self._fills:
            self._fills.move_to_end(fill.fill_id)
            return
        row = self._row(fill)
        if row is None:
            # Looked at again whenever it is shown: its market may be listed by then.
            if len(self._odd) < _ODD_MAX:
                self._odd.add(fill.fill_id)
            return
        self._odd.discard(fill.fill_id)
        self._fills[fill.fill_id] = None
        while len(self._fills) > _FILLS_REMEMBERED:
            self._fills.popitem(last=False)
        batch.fills.append(row)

    def _row(self, fill: model.Fill) -> FillRow | None:
        """A fill as it is kept; None for one that is no cash and shares, or without a fee on a
        market that was never listed, or not with its rates: the ledger books none of those either.
        None, too, for one that no store takes: all that came with it would wait for ever."""
        market_id = fill.market_id or self._by_ticker.get(fold_ticker(fill.ticker), "")
        try:
            outcome, side = Outcome(fill.outcome.value), Side(fill.side.value)
            created_ns = to_ns(fill.created_at)
        except ValueError:
            return None
        if not market_id or not 0 <= fill.outcome_price <= PAYOUT_CENTS or fill.qty < 1:
            return None
        texts = (fill.fill_id, market_id, fill.ticker, fill.event_ticker, fill.order_id)
        if not -_MAX <= created_ns <= _MAX or not _are_kept((*texts, fill.trade_id)):
            return None
        units = None
        if fill.fee_cents is None:
            units = _units(fill, self._rungs.get(market_id))
            if units is None or units > _MAX:
                return None
        return FillRow(
            fill_id=fill.fill_id,
            created_ns=created_ns,
            market_id=market_id,
            ticker=fill.ticker,
            event_ticker=fill.event_ticker,
            order_id=fill.order_id,
            trade_id=fill.trade_id,
            outcome=outcome.value,
            side=side.value,
            price=fill.outcome_price,
            qty=fill.qty,
            fee_cents=fill.fee_cents,
            fee_units=units,
            liquidity=fill.liquidity.value,
        )


def _are_kept(texts: Iterable[str]) -> bool:
    """Whether every store takes these texts: a PostgreSQL takes no NUL."""
    return not any("\0" in each for each in texts)


def _units(fill: model.Fill, rung: RungRow | None) -> int | None:
    """The exact fee of a fill by the formula, at the rate of its role, or at the dearer one; None
    where the rates are not known."""
    if rung is None:
        return None
    try:
        maker, taker = FeeRate.parse(rung.maker_fee), FeeRate.parse(rung.taker_fee)
    except ValueError:
        return None
    named = {model.Liquidity.MAKER: maker, model.Liquidity.TAKER: taker}
    rate = named.get(fill.liquidity, max(maker, taker))
    return fee_units(rate, Qty(fill.qty), fill.outcome_price)


def _note(batch: Batch, note: m.Noted, at_ns: int) -> None:
    """What the trader noted of fills and payouts."""
    told = note.fields
    if not _are_kept(str(each) for each in told.values()):
        return
    match note.name:
        case "fill_valued":
            batch.valued.append(
                ValuedRow(
                    str(told["fill_id"]),
                    int(told["heard_ns"]),
                    int(told["value"]),
                    int(told["level"]),
                    str(told["strategy"]),
                    str(told["reason"]),
                )
            )
        case "fill_marked":
            batch.marked.append(
                MarkedRow(
                    str(told["fill_id"]),
                    str(told["against"]),
                    int(told["horizon_s"]),
                    int(told["value"]),
                    at_ns,
                )
            )
        case "rung_settled":
            batch.settled.append(Settled(str(told["market_id"]), str(told["winner"]), at_ns))
