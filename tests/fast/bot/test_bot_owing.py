"""Claims about books that do not show what we have changed there: a channel that stands still."""

from collections import Counter

from bot.core import messages as m
from strategies.fixed_spread import FixedSpread
from tests.builders.bot.thin import Thin
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Price, Qty

S = NS_PER_SECOND


class Behind(Thin):
    """A venue whose channel may stand still, or date its books by a clock that is behind."""

    def __init__(self, mids: list[int]) -> None:
        super().__init__(mids, lambda: FixedSpread(FixedSpread.Params()))
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
        """From now on the channel shows the books as they were, a while ago, at each subscribe."""
        self.frozen = {
            index: self.book(index, self.now_ns - ago_ns) for index in range(len(self.mids))
        }

    def told(self, effect: m.Effect) -> None:
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
        bids, asks = (tuple(model.Level(*level) for level in side) for side in seen_sides(seen))
        ticker = self.markets[index].ticker
        return m.Ok(m.BookBody(model.Orderbook(ticker, request.market_id, at, bids, asks)))


def seen_sides(seen: m.BookUpdate) -> tuple[tuple[tuple[Price, Qty], ...], ...]:
    return seen.bids, seen.asks


def quoting(behind_ns: int = 0) -> Behind:
    """Both sides of three rungs rest, and the channel has shown them."""
    thin = Behind([75, 65, 55])
    thin.behind_ns = behind_ns
    thin.start()
    assert len(thin.orders) == 6
    for index in range(3):
        thin.show(index)
    thin.run(2)
    thin.read_ns.clear()
    return thin


def reconnect(thin: Behind) -> None:
    """To a far end that stood still ten seconds ago, when the books lay elsewhere."""
    thin.mids = [mid - 6 for mid in thin.mids]
    thin.freeze(10 * S)
    thin.mids = [mid + 12 for mid in thin.mids]
    thin.give(m.FeedClosed("gone"))
    thin.run(1)
    thin.give(m.FeedOpened())


def test_quotes_on_books_that_never_show_our_own_orders_are_pulled_within_seconds():
    thin = quoting()
    reconnect(thin)
    thin.run(4)
    assert thin.read_ns
    assert [thin.rung(index).blocked for index in range(3)] == ["book not confirmed"] * 3
    assert not thin.orders
    assert thin.noted.count("channel_behind") == 3


def test_what_a_channel_that_stands_still_sends_again_and_again_is_not_quoted_on():
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


def test_a_channel_that_shows_our_changes_has_no_book_read_for_them():
    thin = quoting()
    for turn in range(20):
        thin.mids = [mid + (3 if turn % 2 else -3) for mid in thin.mids]
        for index in range(3):
            thin.show(index)
        thin.run(0.1)
        for index in range(3):
            thin.show(index)
        thin.run(1.5)
    assert thin.writes()
    assert not thin.read_ns
    assert "channel_behind" not in thin.noted


def moved(thin: Behind) -> None:
    """The market moves, our orders follow, and the channel shows it all, by its own clock."""
    thin.mids = [mid + 4 for mid in thin.mids]
    written = len(thin.writes())
    for _ in range(10):
        for index in range(3):
            thin.show(index)
        thin.run(0.2)
    assert len(thin.writes()) > written
    assert all(thin.rung(index).state.ts_ns < thin.now_ns - 2 * S for index in range(3))


def test_where_books_are_dated_by_a_clock_that_is_behind_an_equal_read_is_enough():
    thin = quoting(behind_ns=3 * S)
    moved(thin)
    thin.run(2)
    thin.read_ns.clear()
    thin.run(30)
    assert not thin.read_ns
    assert len(thin.orders) == 6
    assert "channel_behind" not in thin.noted


def test_a_venue_that_refuses_reads_of_books_is_asked_every_few_seconds_and_quoted_on():
    thin = quoting(behind_ns=3 * S)
    thin.reads = False
    moved(thin)
    thin.read_ns.clear()
    thin.run(30)
    assert 3 * 6 <= len(thin.read_ns) <= 3 * 8
    assert len(thin.orders) == 6


def test_of_many_rungs_that_lack_something_a_few_are_read_at_a_time():
    thin = Behind([95 - 2 * place for place in range(40)])
    thin.start()
    reconnect(thin)
    thin.read_ns.clear()
    thin.run(6)
    assert len(thin.read_ns) >= 40
    assert max(Counter(thin.read_ns).values()) <= 4
