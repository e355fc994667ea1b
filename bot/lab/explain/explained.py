"""What is told of one decision: from the frame that was seen to the token that was spent.

Plain values: as JSON they are what `bot explain --json` prints. Prices are canonical YES, in cents;
times are the bot's clock unless they say otherwise.
"""

import msgspec

from bot.core.preview import Room
from bot.core.report import BreakerReport, Phase
from bot.core.risk.trim import Trim
from bot.lab.explain.asked import Lean
from bot.lab.explain.lives import Frame
from bot.lab.session import Place
from bot.strategy.api import Levels, Quote, Take
from venue.wire.money import Cents, Price, Qty
from venue.wire.names import ClientOrderId, Ticker


class Curve(msgspec.Struct, frozen=True):
    """The fair value of the rung as the fitted curve had it. variance: of the value, cents squared.
    line_cents: of the smooth line alone; drawn_cents: drawn to the rung's own data, before all
    rungs were made to fall with the strike. volatility_cents: cents per sqrt(second)."""

    value_cents: float
    sd_cents: float
    variance: float
    line_cents: float | None
    drawn_cents: float | None
    volatility_cents: float


class Seen(msgspec.Struct, frozen=True):
    """The rung as the strategy saw it: the best of the others' book, and what was held."""

    bids: Levels
    asks: Levels
    book_age_s: float
    yes_qty: Qty
    no_qty: Qty
    event_net_qty: int


class Limits(msgspec.Struct, frozen=True):
    """What the limits left. wished_qty: shares of the change that was planned; sent_qty: of the
    request. rooms: the largest such order that each limit by itself left, the tightest first. used:
    how much of each limit was used up before it. worst_cents: the loss of the event at worst."""

    wished_qty: int | None
    sent_qty: int | None
    rooms: tuple[Room, ...]
    used: tuple[BreakerReport, ...]
    worst_cents: Cents


class Beside(msgspec.Struct, frozen=True):
    """Another order of ours on that side of the rung at that time. wish: what was planned of it."""

    client_order_id: ClientOrderId
    price: Price
    qty: Qty
    state: str
    wish: str


class Choice(msgspec.Struct, frozen=True):
    """The change that was planned. kind: create, amend, cancel, take, or none where the request
    came of no plan. place_cents: what the order's place in its queue was worth then."""

    kind: str
    why: str
    value_cents: float
    keeps_place: bool | None
    place_cents: float | None
    beside: tuple[Beside, ...]


class Token(msgspec.Struct, frozen=True):
    """The token it took. before: in the bucket; reserve: kept for cancels and recovery. nth, of:
    among the requests of that decision, in the order in which they left."""

    key: str
    lane: str
    before: int | None
    reserve: int
    nth: int
    of: int
    in_flight: int
    resting: int
    flat_ns: int


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What the trader believed, wanted and was allowed when a request left, or at an instant.

    decided_ns: when its event was decided last. asked: whether the strategy was asked then; if not,
    `pulled` says why. flattening: why only what shrinks a position was wanted, else empty.
    leans_fault: why the leans are not known, else empty. answered: what the strategy wanted to rest
    on the rung; takes: what it wanted to trade there at once; wanted: what was to rest within the
    limits; steady: without flicker. cuts: what the limits took off it.
    """

    at_ns: int
    number: int
    place: Place
    phase: Phase
    event_ticker: Ticker
    ticker: Ticker
    strategy: str
    decided_ns: int
    asked: bool
    pulled: str
    flattening: str
    frame: Frame | None
    curve: Curve | None
    seen: Seen | None
    leans: tuple[Lean, ...]
    leans_fault: str
    answered: tuple[Quote, ...]
    takes: tuple[Take, ...]
    wanted: tuple[Quote, ...]
    steady: tuple[Quote, ...]
    cuts: tuple[Trim, ...]
    limits: Limits | None = None
    choice: Choice | None = None
    token: Token | None = None
