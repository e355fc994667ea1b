"""The channel: when it is silent, late, emptied, malformed or paused; and when merely quiet."""

import msgspec
import pytest

from bot.core import messages as m
from bot.core.inconsistency import Inconsistency
from bot.core.settings import PaceSettings
from strategies.fixed_spread import FixedSpread
from tests.builders.bot.thin import Thin
from venue.wire import instant, model
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import Price, Qty
from venue.wire.names import Ticker

S, MS = NS_PER_SECOND, NS_PER_MS


def quoting(rungs: int = 1, *, shows: bool = True) -> Thin:
    """Both sides of every rung rest. shows: False if the channel shows nothing from now on."""
    thin = Thin([80 - 10 * rung for rung in range(rungs)])
    thin.start()
    assert len(thin.orders) == 2 * rungs
    if not shows:
        silence(thin)
    return thin


def silence(thin: Thin) -> None:
    """The channel shows nothing from now on."""
    thin.show = lambda *_: None  # type: ignore[method-assign]


def after(thin: Thin, ns: int, event: m.Event | None = None) -> None:
    """Time passes in steps that are no pause, with a silent channel; then an event and a tick."""
    end_ns = thin.now_ns + ns
    while thin.now_ns < end_ns:
        thin.now_ns = min(end_ns, thin.now_ns + 100 * MS)
        thin.give(m.Tick())
    if event is not None:
        thin.give(event)
        thin.give(m.Tick())


def trade(thin: Thin, ts_ns: int, number: int = 1) -> m.Trade:
    return m.Trade(
        thin.markets[0].market_id, ts_ns, f"t{number}", Price(80), Qty(1), taker_bought_yes=True
    )


def blocked(thin: Thin, index: int = 0) -> str:
    return thin.rung(index).blocked


def test_a_blocked_rung_is_pulled_though_its_event_is_rarely_decided() -> None:
    slow = PaceSettings(decide_ns=600 * S)
    thin = Thin([80, 70], lambda: FixedSpread(FixedSpread.Params()), slow)
    thin.start()
    thin.run(601)
    assert len(thin.orders) == 4
    thin.give(m.FeedClosed("gone"))
    after(thin, S)
    assert blocked(thin) == "channel silent"
    assert not thin.orders


def ahead(
    thin: Thin, seconds: float, by_ns: int, step_ns: int = 100 * MS, read_ns: int | None = None
) -> None:
    """Books that change by a share each step, stamped so much ahead; read_ns: so much if read."""
    end_ns = thin.now_ns + round(seconds * S)
    answer = thin.answer

    def answered(request: m.Request) -> m.Answer:
        if not isinstance(request, m.ReadBook):
            return answer(request)
        at = instant.from_ns(thin.now_ns + (by_ns if read_ns is None else read_ns))
        return m.Ok(m.BookBody(model.Orderbook(Ticker("T"), request.market_id, at, (), ())))

    thin.answer = answered  # type: ignore[method-assign]
    while thin.now_ns < end_ns:
        thin.now_ns += step_ns
        depth = 100 + thin.now_ns // step_ns % 50
        for index in range(len(thin.mids)):
            thin.give(thin.book(index, thin.now_ns + by_ns, depth))
        thin.give(m.Tick())


def test_a_venue_clock_an_hour_ahead_for_seconds_blocks_quotes_only_briefly():
    thin = quoting(3, shows=False)
    ahead(thin, 20, 0)
    ahead(thin, 3, 3_600 * S)
    ahead(thin, 15, 0)
    assert [blocked(thin, index) for index in range(3)] == ["", "", ""]
    assert len(thin.orders) == 6


def stepping(rungs: int, *offsets_s: int, read_s: int | None = None) -> tuple[Thin, list[str]]:
    """A quoting trader whose venue stamps books this far ahead, 20 s each; its clock notes."""
    thin, steps = quoting(rungs), []
    silence(thin)

    def record(effect: m.Effect) -> None:
        if isinstance(effect, m.Noted) and effect.name == "venue_clock_stepped":
            steps.append(str(effect.fields["text"]))

    thin.on_effect = record  # type: ignore[method-assign]
    for offset_s in offsets_s:
        ahead(thin, 20, offset_s * S, read_ns=None if read_s is None else read_s * S)
    return thin, steps


def test_stamps_that_run_backwards_once_are_followed_and_noted():
    thin, steps = stepping(3, 0, -60)
    assert len(steps) == 1
    assert [blocked(thin, index) for index in range(3)] == ["", "", ""]
    assert len(thin.orders) == 6
    assert thin.trader.out.inconsistencies.contradiction is None


@pytest.mark.parametrize(("quiet", "stops"), [(0, True), (4, False)])
def test_stamps_that_run_backwards_twice_within_a_minute_are_a_contradiction(quiet, stops):
    thin, steps = stepping(3, 0, -60, *(-60 for _ in range(quiet)), -120)
    assert len(steps) == 2
    found = thin.trader.out.inconsistencies.contradiction
    assert (found is not None) is stops
    assert found is None or found.kind is Inconsistency.STAMPS_RUN_BACKWARDS


def test_a_second_step_back_before_the_first_is_certain_is_a_contradiction():
    thin, _ = stepping(3, 0)
    ahead(thin, 6, -60 * S)
    assert thin.trader.out.inconsistencies.contradiction is None
    ahead(thin, 10, -120 * S)
    found = thin.trader.out.inconsistencies.contradiction
    assert found.kind is Inconsistency.STAMPS_RUN_BACKWARDS


def test_books_a_minute_late_with_reads_of_now_are_no_clock_step():
    _, steps = stepping(1, 0, *(-70 for _ in range(10)), read_s=0)
    assert steps == []


def test_older_books_among_newer_ones_are_no_clock_step():
    thin, steps = stepping(1, 0)
    for _ in range(60):
        for back_s in (7, 30, 600):
            thin.give(thin.book(0, thin.now_ns - back_s * S, 77))
        ahead(thin, 0.5, 0)
    assert steps == []


def test_books_that_differ_from_their_reads_cause_one_subscribe_a_second():
    thin = quoting(6, shows=False)
    since_ns, asked = thin.now_ns, 0
    for step in range(100):
        thin.now_ns += 100 * MS
        for market in thin.markets:
            levels = (model.Level(price=Price(1), size=Qty(step + 1)),)
            shown = model.Orderbook(
                market.ticker, market.market_id, instant.from_ns(thin.now_ns), levels, ()
            )
            answer = m.Ok(m.BookBody(shown))
            thin.trader.quoting.feed.on_book_read(market.market_id, answer, thin.now_ns)
        effects = thin.trader.receive(m.Tick(), thin.now_ns)
        asked += sum(isinstance(each, m.SubscribeTo) for each in effects)
    assert asked <= 1 + (thin.now_ns - since_ns) // S


def test_five_seconds_of_silence_pull_the_quotes():
    thin = quoting(shows=False)
    thin.give(m.FeedAlive())
    after(thin, 5 * S)
    assert blocked(thin) == ""
    after(thin, 100 * MS)
    assert blocked(thin) == "channel silent"
    assert thin.orders == {}


def test_an_unconfirmed_book_is_stale_after_ten_seconds():
    thin = quoting()
    since = thin.rung(0).state.confirmed_ns
    silence(thin)
    while thin.now_ns < since + 12 * S:
        after(thin, 100 * MS, m.FeedAlive())
        if thin.now_ns - since <= 10 * S:
            assert blocked(thin) == ""
    assert blocked(thin) == "book stale"
    assert thin.orders == {}


def test_a_book_is_subscribed_and_read_again_before_it_is_stale():
    thin = quoting(shows=False)
    since = thin.rung(0).state.confirmed_ns
    while thin.now_ns < since + 9 * S:
        after(thin, 100 * MS, m.FeedAlive())
    asked = [at for at in thin.subscribed_ns if at > since]
    assert 4 * S <= asked[0] - since <= 4 * S + 200 * MS
    reads = [at for at, request in thin.sent if isinstance(request, m.ReadBook) and at > since]
    assert 6 * S <= reads[0] - since <= 6 * S + 200 * MS


def test_a_reopened_channel_without_frames_is_not_quoted_on():
    thin = quoting(shows=False)
    for _ in range(3):  # the shell gives it up, and opens it anew
        thin.give(m.FeedClosed("no pong in time"))
        thin.give(m.FeedOpened())
        for _ in range(50):
            after(thin, 100 * MS)
            confirm(thin)
            assert blocked(thin) == "channel silent"
            assert thin.orders == {}
    thin.give(m.FeedAlive())
    confirm(thin)
    after(thin, S)
    assert blocked(thin) == ""
    assert len(thin.orders) == 2


def confirm(thin: Thin, answer: m.Answer | None = None) -> None:
    """A read shows the book, by default as it is."""
    answer = answer or read(thin, thin.now_ns)
    thin.trader.quoting.feed.on_book_read(thin.markets[0].market_id, answer, thin.now_ns)


def test_a_trade_newer_than_its_book_stops_creates_and_then_pulls_quotes():
    thin = quoting()
    thin.run(30)
    thin.give(trade(thin, thin.now_ns))
    silence(thin)
    thin.give(m.Tick())
    assert blocked(thin) == ""
    assert not thin.rung(0).may_send
    after(thin, S, m.FeedAlive())
    assert blocked(thin) == ""
    after(thin, 100 * MS, m.FeedAlive())
    assert blocked(thin) == "book stale"
    assert thin.orders == {}


@pytest.mark.parametrize("book", ["of now", "older than the trade"])
def test_only_a_book_newer_than_a_trade_ends_the_doubt_about_it(book):
    thin = quoting()
    thin.run(30)
    old_ns = thin.now_ns - 10 * S
    if book != "of now":
        thin.rung(0).state.forget_book()
    thin.give(trade(thin, thin.now_ns))
    if book != "of now":
        thin.give(thin.book(0, old_ns))
        thin.give(m.Tick())
        assert not thin.rung(0).may_send
    thin.show(0)
    thin.give(m.Tick())
    assert thin.rung(0).may_send


def test_a_late_channel_pulls_the_quotes():
    thin = quoting()
    for number in range(10):
        after(thin, 100 * MS, m.FeedAlive())
        thin.give(trade(thin, thin.now_ns - 5 * MS, number))
        thin.show(0)
    thin.give(m.Tick())
    assert blocked(thin) == ""
    for number in range(10, 22):
        after(thin, 100 * MS, m.FeedAlive())
        thin.give(trade(thin, thin.now_ns - 700 * MS, number))
        thin.show(0, max(thin.ts_ns(0), thin.now_ns - 700 * MS))
    thin.give(m.Tick())
    assert blocked(thin) == "channel late"
    thin.give(m.Tick())
    assert thin.orders == {}


def empty(thin: Thin) -> m.BookUpdate:
    return m.BookUpdate(thin.markets[0].market_id, thin.now_ns, (), ())


def test_a_book_emptied_at_once_is_blocked_for_a_minute():
    thin = quoting()
    thin.run(1)
    thin.give(empty(thin))
    emptied_ns = thin.now_ns
    thin.give(m.Tick())
    assert blocked(thin) == "book emptied"
    assert thin.orders == {}
    silence(thin)
    made = len(thin.writes())
    while thin.now_ns < emptied_ns + 59 * S:
        after(thin, 100 * MS, empty(thin))
    assert blocked(thin) == "book emptied"
    assert len(thin.writes()) == made
    for _ in range(25):
        after(thin, 100 * MS, empty(thin))
    assert blocked(thin) == ""


def test_an_emptied_book_is_quoted_again_once_it_has_depth():
    thin = quoting()
    thin.run(1)
    thin.give(empty(thin))
    thin.give(m.Tick())
    thin.show(0)
    thin.give(m.Tick())
    assert blocked(thin) == ""


def test_a_book_with_only_our_orders_may_become_empty():
    thin = Thin([80])
    thin.book = lambda *_: empty(thin)  # type: ignore[method-assign]
    thin.start()
    thin.give(empty(thin))
    thin.give(m.Tick())
    assert blocked(thin) == ""


@pytest.mark.parametrize("is_doubtful", [True, False], ids=["cut", "an unknown type"])
def test_a_malformed_frame_stops_new_orders_until_all_books_are_shown(is_doubtful):
    thin = quoting()
    thin.run(2)
    shown = []
    thin.show = lambda index, *_: shown.append(index)  # type: ignore
    thin.give(m.MalformedFrame("cut", is_doubtful))
    assert thin.rung(0).may_send is not is_doubtful
    thin.give(m.Tick())
    assert shown == [0] * is_doubtful


def test_a_market_without_a_book_for_ten_seconds_raises_an_alert():
    thin = Thin([80, 70])
    shows = thin.show
    thin.show = lambda index, *at: shows(index, *at) if index else None  # type: ignore
    thin.start()
    thin.run(4)
    assert "silent_target" not in thin.trader.out.findings
    thin.run(3)
    assert thin.markets[0].ticker in thin.trader.out.findings["silent_target"]
    assert (blocked(thin, 0), blocked(thin, 1)) == ("no book yet", "")
    thin.show = shows  # type: ignore[method-assign]
    thin.run(6)
    assert "silent_target" not in thin.trader.out.findings


def test_after_a_pause_nothing_is_sent_until_the_book_is_shown_again():
    thin = quoting()
    thin.run(1)
    waiting = thin.book(0)
    thin.now_ns += 3 * S
    thin.give(waiting)  # as old as the pause, perhaps
    assert not thin.rung(0).may_send
    thin.give(m.FeedAlive())
    thin.give(m.Tick())  # asks anew, and is shown the book
    thin.give(m.Tick())
    assert thin.rung(0).may_send


@pytest.mark.parametrize(("gap_ns", "doubted"), [(250 * MS, False), (250 * MS + 1, True)])
def test_a_gap_of_more_than_a_quarter_second_is_a_pause(gap_ns, doubted):
    thin = quoting()
    thin.run(1)
    thin.now_ns += gap_ns
    thin.give(m.FeedAlive())
    assert (thin.rung(0).state.suspect_since_ns is not None) is doubted


def read(thin: Thin, ts_ns: int, **sides) -> m.Answer:
    book = thin.book(0)

    def levels(pairs):
        return tuple(model.Level(price, size) for price, size in pairs)

    return m.Ok(
        m.BookBody(
            model.Orderbook(
                ticker=thin.markets[0].ticker,
                market_id=book.market_id,
                as_of=instant.from_ns(ts_ns),
                bids=levels(sides.get("bids", book.bids)),
                asks=levels(sides.get("asks", book.asks)),
            )
        )
    )


def test_an_equal_book_read_by_rest_confirms_ours():
    thin = quoting()
    thin.run(1)
    thin.show(0)
    thin.rung(0).state.suspect_book(thin.now_ns)
    confirm(thin, read(thin, thin.now_ns))
    assert thin.rung(0).state.suspect_since_ns is None
    assert thin.rung(0).state.confirmed_ns == thin.now_ns


def test_a_read_taken_before_the_newest_trade_confirms_nothing():
    thin = quoting()
    thin.run(1)
    thin.show(0)
    captured_ns, before = thin.now_ns, thin.rung(0).state.confirmed_ns
    thin.now_ns += 2 * S
    thin.give(trade(thin, thin.now_ns))
    confirm(thin, read(thin, captured_ns))
    assert thin.rung(0).state.confirmed_ns == before
    assert thin.rung(0).state.suspect_since_ns is not None


def test_a_read_with_the_zero_instant_confirms_nothing():
    thin = quoting()
    thin.run(1)
    before = thin.rung(0).state.confirmed_ns
    answer = read(thin, thin.now_ns, bids=(), asks=())
    zero = msgspec.structs.replace(answer.body.book, as_of=instant.ZERO)
    thin.now_ns += 7
    confirm(thin, m.Ok(m.BookBody(zero)))
    assert thin.rung(0).state.confirmed_ns == before
    assert thin.rung(0).state.bids != ()
