"""The engine's events into the views, in order and a chosen time late."""

from collections import deque

import msgspec

from venue.engine.messages import Event
from venue.views.account import AccountSnapshot, AccountViews
from venue.views.catalog import Catalog, CatalogSnapshot
from venue.views.market import MarketViews, TapeSnapshot


class ViewsSnapshot(msgspec.Struct, frozen=True):
    catalog: CatalogSnapshot
    market: tuple[TapeSnapshot, ...]
    account: tuple[AccountSnapshot, ...]


class Views:
    def __init__(self) -> None:
        self.catalog = Catalog()
        self.market = MarketViews(self.catalog)
        self.account = AccountViews(self.catalog)

    @classmethod
    def restored(cls, snapshot: ViewsSnapshot) -> "Views":
        """Views that answer every read as those did that gave this snapshot, cursors included."""
        views = cls()
        views.catalog = Catalog.restored(snapshot.catalog)
        views.market = MarketViews.restored(views.catalog, snapshot.market)
        views.account = AccountViews.restored(views.catalog, snapshot.account)
        return views

    def snapshot(self) -> ViewsSnapshot:
        return ViewsSnapshot(
            self.catalog.snapshot(), self.market.snapshot(), self.account.snapshot()
        )

    def apply(self, event: Event) -> None:
        # The catalog first: the other two look up in it what an event names.
        self.catalog.apply(event)
        self.market.apply(event)
        self.account.apply(event)


class Projector:
    """Holds events back for `lag_ns` >= 0, then applies them to `views`. A new lag holds for those
    that wait already."""

    def __init__(self, views: Views, lag_ns: int) -> None:
        self.views = views
        self.lag_ns = lag_ns
        self._waiting: deque[tuple[int, list[Event]]] = deque()

    def publish(self, events: list[Event], now_ns: int) -> None:
        """Hand over what one command did: visible whole, `lag_ns` after `now_ns`, which never goes
        back."""
        self._waiting.append((now_ns, events))

    def advance(self, now_ns: int) -> list[Event]:
        visible: list[Event] = []
        while self._waiting and self._waiting[0][0] + self.lag_ns <= now_ns:
            for event in self._waiting.popleft()[1]:
                self.views.apply(event)
                visible.append(event)
        return visible

    def next_due_ns(self) -> int | None:
        """When the next events become visible; None while none wait."""
        return self._waiting[0][0] + self.lag_ns if self._waiting else None
