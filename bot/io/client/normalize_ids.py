"""The market and company ids of what the venue says, in the one case that this program writes.

A UUID is the same in either case, and a venue may write it as it likes, here so and there
otherwise. Everything within goes by equality of ids, so they are folded where they come in.
"""

from operator import is_
from typing import TypeVar

import msgspec

from bot.core import messages as m
from venue.wire import model
from venue.wire.names import MarketId, ProjectId, fold_uuid, is_uuid

_Named = TypeVar("_Named", model.Order, model.Fill, model.Position, model.Market, model.Orderbook)


def folded_id(text: str) -> str:
    """A UUID in lower case; what is none as it is."""
    lower = fold_uuid(text)
    return lower if lower != text and is_uuid(text) else text


def folded(body: m.Body) -> m.Body:
    """The same with every market and company id folded; rows where all are stay the same."""
    match body:
        case m.OrderBody():
            return m.OrderBody(_named(body.order))
        case m.CancelBody():
            return m.CancelBody(_named(body.order), body.reduced_by)
        case m.OrdersBody():
            return m.OrdersBody(tuple(map(_named, body.orders)), body.cursor)
        case m.FillsBody():
            return m.FillsBody(tuple(map(_named, body.fills)), body.cursor)
        case m.PositionsBody():
            return m.PositionsBody(tuple(map(_named, body.positions)), body.cursor)
        case m.BookBody():
            return m.BookBody(_named(body.book))
        case m.SeriesBody():
            return m.SeriesBody(tuple(map(_event, body.events)), body.cursor)
        case m.BalanceBody():
            return body


def _named(row: _Named) -> _Named:
    """An order, fill, position, market or book: the very same where its id is folded."""
    if row.market_id is None or (market_id := folded_id(row.market_id)) == row.market_id:
        return row
    return msgspec.structs.replace(row, market_id=MarketId(market_id))


def _event(event: model.Event) -> model.Event:
    markets = tuple(map(_named, event.markets))
    project_id = ProjectId(folded_id(event.project_id))
    if project_id == event.project_id and all(map(is_, markets, event.markets)):
        return event
    return msgspec.structs.replace(event, project_id=project_id, markets=markets)
