"""A stuck channel: books that do not show our own writes."""

from collections import Counter

from bot.core import messages as m
from tests.builders.bot.thin import Thin
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND

S = NS_PER_SECOND


class Behind(Thin):
    """A venue whose channel may be stuck, or stamp its books by a clock that is behind."""

    def __init__(self, mids: list[int]) -> None:
        super().__init__(mids)
        self.frozen: dict[int, m.BookUpdate] | None = None
        self.behind_ns = 0
        self.reads = True
        self.read_ns: list[int] = []
        self.noted: list[str] = []

    def show(self, index: int, ts_ns: int | None = None) -> None:
        if self.frozen is not None:
            self.give(self.frozen[index])
        else:
            self.give(self.book(index, self.now_ns - self.behind_ns if ts_ns is None else ts_ns))

    def freeze(self, ago_ns: int) -> None:
        """From now on the channel shows the books of a while ago at each subscribe."""
        self.frozen = {
            index: self.book(index, self.now_ns - ago_ns) for index in range(len(self.mids))
        }

    def on_effect(self, effect: m.Effect) -> None:
        if isinstance(effect, m.Noted):
            self.noted.append(effect.name)

    def answer(self, request: m.Request) -> m.Answer:
        if not isinstance(request, m.ReadBook):
            return super().answer(request)
        self.read_ns.append(self.now_ns)
        if not self.reads:
            return m.Rejected(503, "engine_unavailable", "")
        index = [each.market_id for each in self.markets].index(request.market_id)
        seen = self.book(index)
        at = instant.from_ns(self.now_ns - self.behind_ns)
        bids, asks = (
            tuple(model.Level(*level) for level in side) for side in (seen.bids, seen.asks)
        )
        ticker = self.markets[index].ticker
        return m.Ok(m.BookBody(model.Orderbook(ticker, request.market_id, at, bids, asks)))


def quoting(behind_ns: int = 0) -> Behind:
    """Both sides of three rungs rest and are shown."""
    thin = Behind([75, 65, 55])
    thin.behind_ns = behind_ns
    thin.start()
    assert len(thin.orders) == 6
    thin.show_all()
    thin.run(2)
    thin.read_ns.clear()
    return thin


def reconnect(thin: Behind) -> None:
    """Reconnect to a channel stuck ten seconds ago, when the books were elsewhere."""
    thin.mids = [mid - 6 for mid in thin.mids]
    thin.freeze(10 * S)
    thin.mids = [mid + 12 for mid in thin.mids]
    thin.give(m.FeedClosed("gone"))
    thin.run(1)
    thin.give(m.FeedOpened())


def test_quotes_on_books_that_lack_our_own_orders_are_pulled_within_seconds():
    thin = quoting()
    reconnect(thin)
    thin.run(4)
    assert thin.read_ns
    assert [thin.rung(index).blocked for index in range(3)] == ["book not confirmed"] * 3
    assert not thin.orders
    assert thin.noted.count("channel_behind") == 3


def test_a_stuck_channel_does_not_set_books_back():
    thin = quoting()
    reconnect(thin)
    thin.run(4)
    old = dict(thin.frozen or {})
    for _ in range(60):
        for index in range(3):
            thin.give(old[index])
        thin.run(0.5)
        for index in range(3):
            held = thin.rung(index)
            assert (held.state.ts_ns or 0) > old[index].ts_ns


def test_a_channel_that_shows_our_writes_needs_no_book_reads():
    thin = quoting()
    for turn in range(20):
        thin.mids = [mid + (3 if turn % 2 else -3) for mid in thin.mids]
        thin.show_all()
        thin.run(0.1)
        thin.show_all()
        thin.run(1.5)
    assert thin.writes()
    assert not thin.read_ns
    assert "channel_behind" not in thin.noted


def move_market(thin: Behind) -> None:
    """The market moves, our orders follow, and the channel shows both."""
    thin.mids = [mid + 4 for mid in thin.mids]
    written = len(thin.writes())
    for _ in range(10):
        thin.show_all()
        thin.run(0.2)
    assert len(thin.writes()) > written
    assert all(thin.rung(index).state.ts_ns < thin.now_ns - 2 * S for index in range(3))


def test_with_a_venue_clock_behind_an_equal_read_confirms_a_book():
    thin = quoting(behind_ns=3 * S)
    move_market(thin)
    thin.run(2)
    thin.read_ns.clear()
    thin.run(30)
    assert not thin.read_ns
    assert len(thin.orders) == 6
    assert "channel_behind" not in thin.noted


def test_rejected_book_reads_are_retried_every_few_seconds_while_quoting():
    thin = quoting(behind_ns=3 * S)
    thin.reads = False
    move_market(thin)
    thin.read_ns.clear()
    thin.run(30)
    assert 3 * 6 <= len(thin.read_ns) <= 3 * 8
    assert len(thin.orders) == 6


def test_books_of_many_rungs_are_read_a_few_at_a_time():
    thin = Behind([95 - 2 * place for place in range(40)])
    thin.start()
    reconnect(thin)
    thin.read_ns.clear()
    thin.run(6)
    assert len(thin.read_ns) >= 40
    assert max(Counter(thin.read_ns).values()) <= 4
