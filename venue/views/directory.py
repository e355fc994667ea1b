"""The directory of handles of the channel, refreshed at a fixed beat: a later name or rename is
found only after the next refresh; a halt, resume, resolution or archiving counts at once. UUIDs
never come here (docs/assumptions.md#S30)."""

import enum
from bisect import bisect_right

import msgspec

from venue.wire.limits import DIRECTORY_REFRESH_NS
from venue.wire.model import MarketState
from venue.wire.names import MarketId, ProjectId, Ticker


class Unresolvable(enum.Enum):
    """Why a handle names nothing that one may subscribe to."""

    UNKNOWN = "unknown"  # nothing of that name in the directory as last refreshed
    HALTED = "halted"  # a market that resolves by UUID only while it is halted
    ARCHIVED = "archived"  # of an archived company: by UUID only
    NOT_A_MARKET = "not_a_market"  # a series or event ticker; GET /events/<ticker> lists its rungs


class _HandledMarket(msgspec.Struct):
    market_id: MarketId
    project_id: ProjectId
    listed_ns: int
    state: MarketState


class _Symbol(msgspec.Struct, frozen=True):
    project_id: ProjectId
    symbol: str
    since_ns: int


class DirectorySnapshot(msgspec.Struct, frozen=True):
    """What the directory knows beyond the tickers. symbols: in the order of giving."""

    first_ns: int | None
    symbols: tuple[_Symbol, ...]
    archived: tuple[ProjectId, ...]


class Directory:
    """Tickers and symbols, in the upper case of `names.fold_handle`, to ids."""

    def __init__(self) -> None:
        self.refresh_ns = DIRECTORY_REFRESH_NS
        """How long a new name may stay unknown; at most what the interface says."""
        self._first_ns: int | None = None
        self._rungs: dict[str, _HandledMarket] = {}
        self._by_id: dict[MarketId, _HandledMarket] = {}
        self._groups: dict[str, None] = {}
        self._archived: dict[ProjectId, None] = {}
        # Symbols in the order in which they were given: one entry per act of the operator.
        self._symbols: list[_Symbol] = []
        # Who has which symbol by the first so many of those entries. Anybody may ask for 200 of
        # them in one message.
        self._holders: dict[str, ProjectId] = {}
        self._entries_held = 0

    @classmethod
    def restored(cls, snapshot: DirectorySnapshot) -> "Directory":
        """The directory of a snapshot, once groups, markets and states are listed again."""
        directory = cls()
        directory._first_ns = snapshot.first_ns
        directory._symbols = list(snapshot.symbols)
        directory._archived = dict.fromkeys(snapshot.archived)
        return directory

    def snapshot(self) -> DirectorySnapshot:
        return DirectorySnapshot(self._first_ns, tuple(self._symbols), tuple(self._archived))

    def list_symbol(self, project_id: ProjectId, symbol: str, at_ns: int) -> None:
        self._note_first(at_ns)
        self._symbols.append(_Symbol(project_id, symbol.upper(), at_ns))

    def list_group(self, ticker: Ticker) -> None:
        self._groups[ticker.upper()] = None

    def list_market(
        self, market_id: MarketId, ticker: Ticker, project_id: ProjectId, at_ns: int
    ) -> None:
        self._note_first(at_ns)
        rung = _HandledMarket(market_id, project_id, at_ns, MarketState.ACTIVE)
        self._rungs[ticker.upper()] = self._by_id[market_id] = rung

    def set_state(self, market_id: MarketId, state: MarketState) -> None:
        self._by_id[market_id].state = state

    def archive(self, project_id: ProjectId) -> None:
        self._archived[project_id] = None

    def resolve_ticker(self, handle: str, now_ns: int) -> MarketId | Unresolvable:
        rung = self._rungs.get(handle)
        if rung is None:
            return Unresolvable.NOT_A_MARKET if handle in self._groups else Unresolvable.UNKNOWN
        if rung.listed_ns > self._refreshed_ns(now_ns):
            return Unresolvable.UNKNOWN
        if rung.project_id in self._archived:
            return Unresolvable.ARCHIVED
        return Unresolvable.HALTED if rung.state is MarketState.HALTED else rung.market_id

    def resolve_symbol(self, handle: str, now_ns: int) -> ProjectId | Unresolvable:
        """The company whose symbol was `handle` at the last refresh; of several the one that took
        it last."""
        count = bisect_right(self._symbols, self._refreshed_ns(now_ns), key=_since_ns)
        if count != self._entries_held:
            current: dict[ProjectId, str] = {}
            for entry in self._symbols[:count]:
                current.pop(entry.project_id, None)
                current[entry.project_id] = entry.symbol
            self._holders = {symbol: project_id for project_id, symbol in current.items()}
            self._entries_held = count
        project_id = self._holders.get(handle)
        if project_id is None:
            return Unresolvable.UNKNOWN
        return Unresolvable.ARCHIVED if project_id in self._archived else project_id

    def _note_first(self, at_ns: int) -> None:
        if self._first_ns is None:
            self._first_ns = at_ns

    def _refreshed_ns(self, now_ns: int) -> int:
        if self._first_ns is None:
            return now_ns
        return now_ns - (now_ns - self._first_ns) % self.refresh_ns


def _since_ns(entry: _Symbol) -> int:
    return entry.since_ns
