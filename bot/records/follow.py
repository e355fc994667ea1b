"""Follows a bot's journal and extracts fills, balances, payouts and fair values for the records."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, TypeVar

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

T = TypeVar("T", bound=msgspec.Struct)

_MARKERS: Final = tuple(
    name.encode()
    for name in (
        *("FillsBody", "BalanceBody", "SeriesBody", "ReadBalance", "Started"),
        *("fill_valued", "fill_marked", "rung_settled"),
    )
)
"""Every entry that matters here contains one of these texts."""

_RECENT_FILLS: Final = 2_000
"""Fills read last, two pages of the list, which are not given to the store again."""

_MAX: Final = 2**63 - 1
"""The largest number of a 64-bit column; as a time, the year 2262."""

_REQUESTS_MAX: Final = 64
_UNREADABLE_MAX: Final = 1_000
_REFRESH_NS: Final = 3_600 * NS_PER_SECOND
"""An unchanged market is written this often, so that retention keeps it."""

BYTES_AT_ONCE: Final = 4 * 1024 * 1024
ROWS_AT_ONCE: Final = 4_000


class Poll(msgspec.Struct, frozen=True):
    """What one poll found. cursor: where the next one starts, None while there is no journal.
    behind: bytes of the journal not read yet. gap: entries were deleted unread, or are damaged."""

    batches: tuple[Batch, ...]
    cursor: CursorRow | None
    behind: int
    gap: bool


class Follower:
    """Reads one bot's journal from a cursor on. If the store fails to write what a poll found, make
    a new one."""

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
        account: AccountRow | None = None,
    ) -> None:
        """label: of an account that outlives its runs. accounts, rungs: those that the store knows,
        the rungs of the cursor's account. series: the bot's own; a bot that trades other series too
        reads their markets. Empty: all are its own. account: that of the entries before the first
        start that is read; None skips them."""
        self._folder = folder
        self._book = book
        self._label = label
        self._series = fold_ticker(series)
        self._cursor = cursor
        self._is_checked = False
        known = {row.account: row for row in accounts}
        self._batch = None if account is None else Batch(account)
        if cursor is not None and cursor.account in known:
            self._batch = Batch(known[cursor.account])
        self._rungs: dict[str, RungRow] = {}
        self._by_ticker: dict[str, str] = {}
        self._fills: OrderedDict[str, None] = OrderedDict()
        self._requested_ns: OrderedDict[int, int] = OrderedDict()
        self._batches: list[Batch] = []
        self._unreadable: set[str] = set()
        self._stored: set[str] = set()
        for rung in rungs:
            self._learn_rung(rung)
            self._stored.add(rung.market_id)

    @property
    def account(self) -> AccountRow | None:
        """The account of the newest entry; None before the first start was read."""
        return None if self._batch is None else self._batch.account

    @property
    def unreadable(self) -> int:
        """Fills with impossible fields, or of an unknown market."""
        return len(self._unreadable)

    def _learn_rung(self, rung: RungRow) -> None:
        self._rungs[rung.market_id] = rung
        self._by_ticker[fold_ticker(rung.ticker)] = rung.market_id

    # --- reading ----------------------------------------------------------------------------------

    def poll(self) -> Poll:
        """Read at most `BYTES_AT_ONCE`. Raises JournalFault if the journal cannot be read."""
        if self._batch is not None:
            self._batch = Batch(self._batch.account)
        self._batches = [] if self._batch is None else [self._batch]
        try:
            paths = {number_of(path): path for path in segments(self._folder)}
        except OSError as fault:
            raise JournalFault(f"{self._folder}: {fault.strerror}") from None
        gap = self._has_gap(paths)
        left = BYTES_AT_ONCE
        newest = max(paths, default=0)
        for number in sorted(paths):
            cursor = self._cursor
            if cursor is not None and number < cursor.segment:
                continue
            begun = self._read_segment(number, paths[number], left)
            if begun is None:
                gap = gap or number != newest
                continue
            left -= begun
            if left <= 0 or self._has_enough():
                break
            unread = self._unread(paths[number])
            gap = gap or (number != newest and unread > 0)
        behind = sum(
            self._unread(path)
            for number, path in paths.items()
            if self._cursor is None or number >= self._cursor.segment
        )
        return Poll(tuple(self._batches), self._cursor, behind, gap)

    def _has_gap(self, paths: dict[int, Path]) -> bool:
        """True if entries after the cursor were deleted; reading then continues with the rest."""
        cursor = self._cursor
        if cursor is None:
            return False
        there = cursor.segment in paths
        if (there or cursor.segment + 1 in paths) and not (there and self._is_other_journal(paths)):
            return False
        if not paths or min(paths) <= cursor.segment:
            # The state directory was lost; its new journal starts at segment 1.
            self._cursor = None
            return bool(paths)
        return True

    def _is_other_journal(self, paths: dict[int, Path]) -> bool:
        """True if the cursor's segment was opened at another time than when it was read. Checked
        once: from then on this follower reads the same journal."""
        cursor, was_checked = self._cursor, self._is_checked
        self._is_checked = True
        if cursor is None or was_checked:
            return False
        path = paths[cursor.segment]
        try:
            with opened(path) as file:
                head = Stream(file, str(path)).head
        except OSError:
            return False  # reading it raises
        return head is not None and head.opened_ns != cursor.opened_ns

    def _unread(self, path: Path) -> int:
        cursor = self._cursor
        at = cursor.place if cursor is not None and cursor.segment == number_of(path) else 0
        return max(0, size_of(path) - at)

    def _read_segment(self, number: int, path: Path, most: int) -> int | None:
        """The bytes read from a segment; None if it is deleted or has no header yet."""
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
                return self._read_entries(stream, number, opened_ns, at, most)
        except FileNotFoundError:
            return None
        except OSError as fault:
            raise JournalFault(f"{path}: {fault.strerror}") from None

    def _read_entries(self, stream: Stream, number: int, opened_ns: int, at: int, most: int) -> int:
        begun, last_ns = at, opened_ns
        for payload, after in stream.payloads(at):
            at = after
            if any(name in payload for name in _MARKERS):
                entry = entry_of(payload, f"journal segment {number}")
                last_ns = entry.at_ns
                self._on_entry(entry)
            if at - begun >= most or self._has_enough():
                break
        account = 0 if self.account is None else self.account.account
        if at > begun or self._cursor is None or self._cursor.segment != number:
            self._cursor = CursorRow(account, number, opened_ns, at, last_ns)
        return at - begun

    def _has_enough(self) -> bool:
        return sum(len(each.fills) + len(each.marked) for each in self._batches) >= ROWS_AT_ONCE

    # --- entries ----------------------------------------------------------------------------------

    def _on_entry(self, entry: Entry) -> None:
        message, at_ns = entry.message, entry.at_ns
        if isinstance(message, m.Started):
            self._on_started(message, at_ns)
            return
        batch = self._batch
        if batch is None:
            return
        match message:
            case m.Send(request=m.ReadBalance()):
                self._requested_ns[message.request_id] = at_ns
                while len(self._requested_ns) > _REQUESTS_MAX:
                    self._requested_ns.popitem(last=False)
            case m.Noted():
                _on_note(batch, message, at_ns)
            case m.Response(answer=m.Ok(body=m.BalanceBody(balance=balance))):
                begun_ns = self._requested_ns.pop(message.request_id, at_ns)
                batch.balances.append(BalanceRow(begun_ns, at_ns, balance.total_cents))
            case m.Response(answer=m.Ok(body=m.SeriesBody(events=events))):
                for event in events:
                    for market in event.markets:
                        self._on_market(batch, event, market, at_ns)
            case m.Response(answer=m.Ok(body=m.FillsBody(fills=fills))):
                for fill in reversed(fills):
                    self._on_fill(batch, fill)

    def _on_started(self, started: m.Started, at_ns: int) -> None:
        label = f"run {started.boot_nonce}" if started.new_account else self._label
        row = AccountRow(account_of(self._book, label), self._book, label, at_ns)
        self._requested_ns.clear()
        if self.account is not None and row.account == self.account.account:
            return
        self._batch = Batch(row)
        self._batches.append(self._batch)
        self._rungs.clear()
        self._by_ticker.clear()
        self._stored.clear()
        self._fills.clear()

    def _on_market(
        self, batch: Batch, event: model.Event, market: model.Market, at_ns: int
    ) -> None:
        resolved = market.state is model.MarketState.RESOLVED
        known = self._rungs.get(market.market_id)
        own = self._series in ("", fold_ticker(event.series_ticker))
        if not own and market.market_id in self._stored:
            self._stored.remove(market.market_id)
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
            if same and at_ns - known.seen_ns < _REFRESH_NS:
                return
        self._learn_rung(row)
        # Of markets of other series only the fee rates are needed.
        names = (row.market_id, row.ticker, row.event_ticker, row.maker_fee, row.taker_fee)
        if own and _are_storable(names):
            batch.rungs.append(row)

    def _on_fill(self, batch: Batch, fill: model.Fill) -> None:
        if fill.fill_id in self._fills:
            self._fills.move_to_end(fill.fill_id)
            return
        row = self._row(fill)
        if row is None:
            # Retry whenever it is listed: its market may be known by then.
            if len(self._unreadable) < _UNREADABLE_MAX:
                self._unreadable.add(fill.fill_id)
            return
        self._unreadable.discard(fill.fill_id)
        self._fills[fill.fill_id] = None
        while len(self._fills) > _RECENT_FILLS:
            self._fills.popitem(last=False)
        batch.fills.append(row)

    def _row(self, fill: model.Fill) -> FillRow | None:
        """A fill as a row. None for impossible fields, for a missing fee if the rates are unknown
        (the ledger books none of those either), and for one that no store accepts: it would block
        all later rows."""
        market_id = fill.market_id or self._by_ticker.get(fold_ticker(fill.ticker), "")
        try:
            outcome, side = Outcome(fill.outcome.value), Side(fill.side.value)
            created_ns = to_ns(fill.created_at)
        except ValueError:
            return None
        if not market_id or not 0 <= fill.outcome_price <= PAYOUT_CENTS or fill.qty < 1:
            return None
        texts = (fill.fill_id, market_id, fill.ticker, fill.event_ticker, fill.order_id)
        if not -_MAX <= created_ns <= _MAX or not _are_storable((*texts, fill.trade_id)):
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


def _are_storable(texts: Iterable[str]) -> bool:
    """True if every store accepts these texts: PostgreSQL accepts no NUL."""
    return not any("\0" in each for each in texts)


def _units(fill: model.Fill, rung: RungRow | None) -> int | None:
    """The exact fee of a fill at the rate of its role, or at the higher one if the role is unknown.
    None if the rates are unknown."""
    if rung is None:
        return None
    try:
        maker, taker = FeeRate.parse(rung.maker_fee), FeeRate.parse(rung.taker_fee)
    except ValueError:
        return None
    named = {model.Liquidity.MAKER: maker, model.Liquidity.TAKER: taker}
    rate = named.get(fill.liquidity, max(maker, taker))
    return fee_units(rate, Qty(fill.qty), fill.outcome_price)


def _on_note(batch: Batch, note: m.Noted, at_ns: int) -> None:
    fields = note.fields
    if not _are_storable(str(each) for each in fields.values()):
        return
    match note.name:
        case "fill_valued":
            batch.valued.append(_converted(ValuedRow, fields))
        case "fill_marked":
            batch.marked.append(_converted(MarkedRow, {**fields, "at_ns": at_ns}))
        case "rung_settled":
            batch.settled.append(_converted(Settled, {**fields, "at_ns": at_ns}))


def _converted(kind: type[T], fields: Mapping[str, object]) -> T:
    """The row of a note's fields, as the types of its columns."""
    return kind(
        **{each.name: each.type(fields[each.name]) for each in msgspec.structs.fields(kind)}
    )
