"""The engine's events into the views, in order and a chosen time late."""

from collections import deque
from typing import get_args

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
    def __init__(
        self,
        catalog: Catalog | None = None,
        market: MarketViews | None = None,
        account: AccountViews | None = None,
    ) -> None:
        """None: empty."""
        self.catalog = Catalog() if catalog is None else catalog
        self.market = MarketViews(self.catalog) if market is None else market
        self.account = AccountViews(self.catalog) if account is None else account
        # The catalog first: the other two look up in it what an event names.
        by_view = (self.catalog.takers, self.market.takers, self.account.takers)
        self._takers = {
            kind: tuple([takers[kind] for takers in by_view if kind in takers])
            for kind in get_args(Event)
        }

    @classmethod
    def restored(cls, snapshot: ViewsSnapshot) -> "Views":
        """Views that answer every read as those did that gave this snapshot, cursors included."""
        catalog = Catalog.restored(snapshot.catalog)
        return cls(
            catalog,
            MarketViews.restored(catalog, snapshot.market),
            AccountViews.restored(catalog, snapshot.account),
        )

    def snapshot(self) -> ViewsSnapshot:
        return ViewsSnapshot(
            self.catalog.snapshot(), self.market.snapshot(), self.account.snapshot()
        )

    def apply(self, event: Event) -> None:
        for take in self._takers[type(event)]:
            take(event)


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
