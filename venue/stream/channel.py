"""One connection of the channel: its set of targets and the frames still to be sent; no sockets, no
clock. What waits is bounded: books wait as a mark on their market, so the newest goes out. Prints
are never left out: a reader who cannot keep up is `overdue` and cut off, so an open connection has
no gaps. Readings: docs/assumptions.md#S9, #S30, #S47, #S48."""

from collections import deque
from collections.abc import Callable
from typing import Final

from venue.views.directory import Directory, Unresolvable
from venue.wire import codec, frames, names
from venue.wire.errors import ChannelCode
from venue.wire.instant import NS_PER_SECOND
from venue.wire.limits import UNPARSED_FRAMES_MAX
from venue.wire.names import MarketId, ProjectId

OUTBOX_FRAMES_MAX: Final = 256
"""More waiting frames for `STUCK_NS` make a reader overdue, unless they become as many fewer
meanwhile."""

UNTAKEN_BYTES_MAX: Final = 1024 * 1024
"""More bytes of waiting prints make a reader overdue with one frame in flight for a second."""

OUTBOX_BYTES_MAX: Final = 16 * 1024 * 1024
"""More make any reader overdue at once. One order may make thousands of prints at once."""

STUCK_NS: Final = 5 * NS_PER_SECOND
_UNTAKEN_PART: Final = 5


class Channel:
    def __init__(
        self, directory: Directory, book_frame: Callable[[MarketId], bytes | None], now_ns: int
    ) -> None:
        """book_frame: the newest one, or None for a market that does not exist (yet)."""
        self.rungs: dict[MarketId, None] = {}
        """Rungs subscribed to, in the order of the frame; known to the venue or not (S30)."""
        self.companies: dict[ProjectId, None] = {}
        self.closing = False
        """Too many unparseable frames in a row: send what waits, then close (S48)."""
        self._directory = directory
        self._book_frame = book_frame
        self._unparsed = 0
        self._frames: deque[bytes | MarketId] = deque()
        """Frames in their order; an id is the first book of that rung."""
        self._bytes = 0
        self._first: dict[MarketId, bytes | None] = {}
        """First books that wait, as of the subscribe: later prints are not in them. Not part of
        `_bytes`: they are shared."""
        self._marks: dict[MarketId, None] = {}
        self._in_flight = False
        self._moved_ns = now_ns
        self._full_since_ns: int | None = None
        self._most_frames = 0

    def receive(self, data: bytes, now_ns: int) -> None:
        """Act on one message of the client. An accepted subscribe replaces the whole set, is
        acknowledged, and is followed by the book of every rung in it; a refused one changes
        nothing."""
        try:
            targets = codec.parse_subscribe(data)
        except codec.FrameRefusal as refusal:
            unparsed = refusal.code is ChannelCode.INVALID_FRAME
            self._unparsed = self._unparsed + 1 if unparsed else 0
            self.closing = self._unparsed >= UNPARSED_FRAMES_MAX
            self._refuse(refusal.code, refusal.message, now_ns)
            return
        self._unparsed = 0
        rungs: dict[MarketId, None] = {}
        companies: dict[ProjectId, None] = {}
        for target in targets:
            reason = self._resolve(target, rungs, companies, now_ns)
            if reason is not None:
                self._refuse(ChannelCode.UNKNOWN_TARGET, reason, now_ns)
                return
        self.rungs, self.companies = rungs, companies
        count = frames.SubscribedCount(len(rungs) + len(companies))
        # Books of the set before are of no use any more.
        self._frames = deque(each for each in self._frames if isinstance(each, bytes))
        self._marks.clear()
        self.offer(codec.encode(frames.Subscribed(count)), now_ns)
        self._frames.extend(rungs)
        self._first = {market_id: self._book_frame(market_id) for market_id in rungs}

    def _resolve(
        self,
        target: frames.Target,
        rungs: dict[MarketId, None],
        companies: dict[ProjectId, None],
        now_ns: int,
    ) -> str | None:
        """Put what a target names into the set it belongs to, or say why it cannot be."""
        match target.data:
            case frames.ByEventMarketId(event_market_id=text):
                # A text that is no UUID is not an unknown UUID: it cannot be resolved.
                if not names.is_uuid(text):
                    return "eventMarketId: not a UUID"
                rungs[MarketId(names.fold_uuid(text))] = None
                return None
            case frames.ByMarketId(market_id=text):
                if not names.is_uuid(text):
                    return "marketId: not a UUID"
                companies[ProjectId(names.fold_uuid(text))] = None
                return None
            case frames.ByTicker(ticker=text) | frames.BySymbol(symbol=text):
                handle = names.fold_handle(text)
        if handle is None:
            return "a handle has letters, digits, dots and hyphens only"
        if len(handle) > names.HANDLE_LENGTH_MAX:
            # The other refusals repeat the handle.
            return f"no handle is longer than {names.HANDLE_LENGTH_MAX} characters"
        if isinstance(target, frames.CompanyTarget):
            project_id = self._directory.resolve_symbol(handle, now_ns)
            if isinstance(project_id, Unresolvable):
                return _reason(handle, project_id)
            companies[project_id] = None
        else:
            market_id = self._directory.resolve_ticker(handle, now_ns)
            if isinstance(market_id, Unresolvable):
                return _reason(handle, market_id)
            rungs[market_id] = None
        return None

    def _refuse(self, code: ChannelCode, message: str, now_ns: int) -> None:
        self.offer(codec.encode(frames.ChannelError(message, code.value)), now_ns)

    def offer(self, frame: bytes, now_ns: int) -> None:
        self._wake(now_ns)
        self._frames.append(frame)
        self._bytes += len(frame)
        self._note_backlog(now_ns)

    def mark(self, market_id: MarketId, now_ns: int) -> None:
        """Let the book of a subscribed rung go out, once, as it will be then."""
        self._wake(now_ns)
        self._marks[market_id] = None
        self._note_backlog(now_ns)

    def next_frame(self, now_ns: int) -> bytes | None:
        """The frame to send now, or None. The call says that the one before is on its way. Replies,
        first books and prints keep their order; other books wait for them."""
        self._moved_ns = now_ns
        self._in_flight = False
        frame: bytes | None = None
        while frame is None and self._frames:
            waiting = self._frames.popleft()
            if isinstance(waiting, bytes):
                self._bytes -= len(waiting)
                frame = waiting
            else:
                frame = self._first.pop(waiting)
        while frame is None and self._marks:
            market_id = next(iter(self._marks))
            del self._marks[market_id]
            frame = self._book_frame(market_id)
        self._in_flight = frame is not None
        self._note_backlog(now_ns)
        return frame

    @property
    def backlog(self) -> int:
        return len(self._frames) + len(self._marks)

    def overdue(self, now_ns: int) -> bool:
        """True if the reader is too slow: it took nothing for five seconds while a frame was in
        flight, has had more than 256 frames waiting for as long without 256 fewer, or overflows."""
        stuck = (self._in_flight or self.backlog > 0) and now_ns - self._moved_ns >= STUCK_NS
        full = self._full_since_ns is not None and now_ns - self._full_since_ns >= STUCK_NS
        return stuck or full or self.overflows(now_ns)

    def overflows(self, now_ns: int) -> bool:
        """True if too many bytes wait: 1 MiB if the frame in flight is a second old, 16 MiB for
        any."""
        untaken = self._in_flight and now_ns - self._moved_ns >= STUCK_NS // _UNTAKEN_PART
        return self._bytes > (UNTAKEN_BYTES_MAX if untaken else OUTBOX_BYTES_MAX)

    def _wake(self, now_ns: int) -> None:
        if not self._in_flight and self.backlog == 0:
            self._moved_ns = now_ns

    def _note_backlog(self, now_ns: int) -> None:
        backlog = self.backlog
        if backlog <= OUTBOX_FRAMES_MAX:
            self._full_since_ns = None
        elif self._full_since_ns is None or backlog <= self._most_frames - OUTBOX_FRAMES_MAX:
            self._full_since_ns, self._most_frames = now_ns, backlog
        else:
            self._most_frames = max(self._most_frames, backlog)


def _reason(handle: str, unresolvable: Unresolvable) -> str:
    match unresolvable:
        case Unresolvable.NOT_A_MARKET:
            return f"{handle} is no market: GET /events/{handle} lists its markets"
        case Unresolvable.HALTED:
            return f"{handle} is halted: subscribe by eventMarketId"
        case Unresolvable.ARCHIVED:
            return f"{handle} belongs to an archived company: subscribe by UUID"
        case Unresolvable.UNKNOWN:
            return f"{handle} is not in the directory"
