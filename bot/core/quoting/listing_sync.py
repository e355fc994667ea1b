"""What the venue lists of a series, in the one spelling that everything here goes by.

Tickers are case-insensitive, so the same event may come in another case than before; and a rung is
a rung of the event that holds it, whatever its own row says.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from bot.core.quoting.market_quoter import MarketQuoter
from venue.wire import model
from venue.wire.names import MarketId, fold_ticker


def listed_now(
    events: Iterable[model.Event], known: Sequence[model.Event]
) -> Iterator[model.Event]:
    """The events of a newer read of their series, spelled as ours are. Of those known, one that is
    not among them comes without any rung, for nothing tells any more whether they trade; what has
    settled may leave the list."""
    shown = set()
    for event in map(_spelled_event, events):
        shown.add(event.event_ticker)
        yield event
    for event in known:
        if event.event_ticker not in shown and event.status is not model.EventStatus.SETTLED:
            yield msgspec.structs.replace(event, markets=())


def _spelled_event(event: model.Event) -> model.Event:
    """The event with its tickers, and those of its rungs, as the venue writes them."""
    ticker, series = fold_ticker(event.event_ticker), fold_ticker(event.series_ticker)
    markets = tuple(
        msgspec.structs.replace(market, ticker=fold_ticker(market.ticker), event_ticker=ticker)
        for market in event.markets
    )
    return msgspec.structs.replace(
        event, event_ticker=ticker, series_ticker=series, markets=markets
    )


def refuse_claimed(event: model.Event, rungs: Mapping[MarketId, MarketQuoter]) -> None:
    """Raises ValueError when a market of the event is a rung of another one already, or is known
    under another id: a ticker is permanent and never reassigned."""
    ids = {rung.market.ticker: market_id for market_id, rung in rungs.items()}
    for market in event.markets:
        rung = rungs.get(market.market_id)
        if rung is not None and rung.ladder.event.event_ticker != event.event_ticker:
            raise ValueError(f"{market.ticker} is a rung of {rung.ladder.event.event_ticker}")
        before = ids.get(market.ticker, market.market_id)
        if rung is None and before != market.market_id:
            raise ValueError(f"{market.ticker} is market {market.market_id}, and was {before}")


def unlisted(rungs: Mapping[MarketId, MarketQuoter], event: model.Event) -> list[model.Market]:
    """The rungs that a newer read of their event does not hold. The active ones are halted: nothing
    new is quoted on them, what rests is pulled, and what is held or may fill stays counted. Of an
    event that has settled every rung has resolved, those that are not shown any more too."""
    shown = {market.market_id for market in event.markets}
    is_over = event.status is model.EventStatus.SETTLED
    state = model.MarketState.RESOLVED if is_over else model.MarketState.HALTED
    return [
        msgspec.structs.replace(rung.market, state=state)
        for market_id, rung in rungs.items()
        if market_id not in shown
        and (is_over or rung.market.state is model.MarketState.ACTIVE)
        and rung.market.state is not model.MarketState.RESOLVED
    ]
