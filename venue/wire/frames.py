"""Frames of the channel, both ways. Keys are camelCase. Prices are integer cents 1..99, sizes whole
shares, `ts` nanoseconds since the Unix epoch. Readings: docs/assumptions.md#S9, #S10, #S11."""

from typing import Final, Literal

import msgspec

from venue.wire.money import Outcome, Price, Qty, Side
from venue.wire.names import MarketId, ProjectId, Ticker

EVENT_MARKET: Final = "event-market"
MARKET: Final = "market"
"""The two target types: separate id spaces, one of rungs and one of companies."""


class ByTicker(msgspec.Struct, frozen=True):
    ticker: str


class ByEventMarketId(msgspec.Struct, frozen=True):
    event_market_id: str = msgspec.field(name="eventMarketId")


class BySymbol(msgspec.Struct, frozen=True):
    symbol: str


class ByMarketId(msgspec.Struct, frozen=True):
    market_id: str = msgspec.field(name="marketId")


RungKey = ByTicker | ByEventMarketId
CompanyKey = BySymbol | ByMarketId


class RungTarget(msgspec.Struct, frozen=True, tag=EVENT_MARKET, tag_field="target"):
    """Delivers prints, books and tickers of one rung; exactly one key by construction."""

    data: RungKey


class CompanyTarget(msgspec.Struct, frozen=True, tag=MARKET, tag_field="target"):
    """Delivers implied values of one company; exactly one key by construction."""

    data: CompanyKey


Target = RungTarget | CompanyTarget


class Targets(msgspec.Struct, frozen=True):
    """The whole subscription set; it replaces whatever was there."""

    targets: tuple[Target, ...]


class Subscribe(msgspec.Struct, frozen=True, tag="subscribe", tag_field="type"):
    """Client frame: subscribe to exactly these targets."""

    data: Targets


class SubscribedCount(msgspec.Struct, frozen=True):
    """How many distinct targets are subscribed now."""

    targets: int


class Subscribed(msgspec.Struct, frozen=True, tag="subscribed", tag_field="type"):
    """Server frame: the set was accepted (S9)."""

    data: SubscribedCount


class ChannelError(msgspec.Struct, frozen=True, tag="error", tag_field="type"):
    """Server frame: a subscribe was refused and the old set stays."""

    message: str
    code: str


class BookLevel(msgspec.Struct, frozen=True):
    """Shares bid for one outcome at one price of that outcome."""

    price: Price
    size: Qty


class BookUpdate(
    msgspec.Struct, frozen=True, tag="prediction-orderbook", tag_field="type", rename="camel"
):
    """Whole YES and NO bid ladders of a rung, best first; they replace what was known."""

    ticker: Ticker
    event_market_id: MarketId
    ts: int
    yes: tuple[BookLevel, ...]
    no: tuple[BookLevel, ...]


class TradeParty(msgspec.Struct, frozen=True):
    """What one side of a print did, without identity."""

    outcome: Outcome
    side: Side


class TradeUpdate(
    msgspec.Struct, frozen=True, tag="prediction-trade", tag_field="type", rename="camel"
):
    ticker: Ticker
    event_market_id: MarketId
    ts: int
    trade_id: str
    price: Price
    size: Qty
    maker: TradeParty
    taker: TradeParty


class TickerUpdate(
    msgspec.Struct, frozen=True, tag="prediction-ticker", tag_field="type", rename="camel"
):
    """Last matched price and the quantity of the trade that set it."""

    ticker: Ticker
    event_market_id: MarketId
    ts: int
    price: Price
    size: Qty


class ImpliedValueUpdate(
    msgspec.Struct, frozen=True, tag="prediction-implied-value", tag_field="type", rename="camel"
):
    """Implied value of a company: dollars and a confidence of 0..1, both decimal strings."""

    symbol: str
    market_id: ProjectId
    ts: int
    implied_value: str
    confidence: str


Update = BookUpdate | TradeUpdate | TickerUpdate | ImpliedValueUpdate


class MarketUpdate(msgspec.Struct, frozen=True, tag="market-update", tag_field="type"):
    """Server frame: something about a subscribed target changed."""

    data: Update


ServerFrame = MarketUpdate | Subscribed | ChannelError

FrameType = Literal[
    "prediction-orderbook", "prediction-trade", "prediction-ticker", "prediction-implied-value"
]
