"""Claims about the observer: it sees what a trader would, and no request of it ever writes."""

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core import messages as m
from bot.core.recorder import ACCOUNT_NS, FAILED_NS, RESUBSCRIBE_NS, SERIES_NS, TapeRecorder
from bot.core.report import Phase
from bot.core.settings import KeySettings, TraderSettings
from tests.builders.record.made import RISK, SETTINGS
from tests.builders.records.lived import event, fill, market, market_id
from tests.builders.scale import cases
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Cents, Price, Qty
from venue.wire.names import Ticker

T0 = 1_800_000_000 * NS_PER_SECOND
BALANCE = m.BalanceBody(model.Balance(Cents(5), Cents(0), Cents(5)))


class Watched:
    """An observer, the clock, and whatever it asked for."""

    def __init__(self, settings: TraderSettings = SETTINGS) -> None:
        self.observer = TapeRecorder(settings)
        self.now_ns = T0
        self.sends: list[m.Send] = []
        self.subscribed: list[m.SubscribeTo] = []
        self.wake_ns = T0
        self.is_waiting = False
        """True while a request has no answer."""
        self.tell(m.Started("0" * 20, ()))

    def tell(self, *events: m.Event, after_ns: int = 0) -> list[m.Effect]:
        self.now_ns += after_ns
        effects = [each for event in events for each in self.observer.receive(event, self.now_ns)]
        sends = [each for each in effects if isinstance(each, m.Send)]
        self.sends += sends
        self.is_waiting = self.is_waiting or bool(sends)
        self.subscribed += [each for each in effects if isinstance(each, m.SubscribeTo)]
        self.wake_ns = next(
            (each.at_ns for each in effects if isinstance(each, m.WakeAt)), self.wake_ns
        )
        return effects

    def answer(self, answer: m.Body | m.Answer) -> m.Request:
        """The newest request is answered so; what it was."""
        send = self.sends[-1]
        self.is_waiting = False
        body = answer if isinstance(answer, m.Ok | m.Rejected | m.Unknown) else m.Ok(answer)
        self.tell(m.Response(send.request_id, body))
        return send.request

    def listed(self, *markets: model.Market) -> None:
        """The series is read, and the account once."""
        self.answer(m.SeriesBody((event(*markets),), ""))
        for _ in range(4):
            self.answer(BODIES[type(self.sends[-1].request)])

    def until(self, at_ns: int) -> None:
        """Beats as it wished for them, up to an instant."""
        while self.wake_ns <= at_ns:
            self.now_ns = max(self.now_ns, self.wake_ns)
            self.tell(m.Tick())
            while self.is_waiting:
                self.answer(m.Unknown("no answer"))


BODIES = {
    m.ReadBalance: BALANCE,
    m.ReadPositions: m.PositionsBody((), ""),
    m.ReadResting: m.OrdersBody((), ""),
    m.ReadFills: m.FillsBody((), ""),
}


def kinds(sends: list[m.Send]) -> list[type]:
    return [type(send.request) for send in sends]


def seen(rung: int, at_ns: int) -> m.BookUpdate:
    return m.BookUpdate(market_id(rung), at_ns, ((Price(40), Qty(3)),), ())


_answers = st.one_of(
    st.just(m.Unknown("x")),
    st.builds(m.Rejected, st.sampled_from((0, 400, 401, 403, 429, 503)), st.just("x"), st.just("")),
    st.sampled_from([m.Ok(body) for body in (
        *BODIES.values(), m.SeriesBody((event(market(1), market(2)),), ""),
        m.SeriesBody((event(market(3, "resolved")),), "more"), m.SeriesBody((), ""),
    )]),
)  # fmt: skip
_events = st.one_of(
    st.builds(m.Response, st.integers(1, 12).map(m.RequestId), _answers, st.none(),
              st.one_of(st.none(), st.integers(0, 60 * NS_PER_SECOND))),
    st.sampled_from([
        m.Tick(), m.FeedOpened(), m.FeedClosed("x"), m.FeedAlive(), m.SubscriptionAccepted(),
        m.SubscriptionRefused("x", ""), m.MalformedFrame("x", True), m.PauseRequested("x"),
        m.ResumeRequested(), m.FlattenRequested("x"), m.LatchSet("x"), m.LatchCleared(),
        m.StopRequested("x"), m.JournalFailed("x"), m.Started("0" * 20, ()), seen(1, 1), seen(2, 2),
    ]),
)  # fmt: skip


@given(st.lists(st.tuples(_events, st.integers(0, 20 * NS_PER_SECOND)), max_size=40))
@settings(max_examples=cases(5_000, quick=100), deadline=None)
def test_the_recorder_sends_only_reads_and_one_at_a_time(rows):
    watched = Watched()
    for each, after_ns in rows:
        effects = watched.tell(each, after_ns=after_ns)
        assert sum(isinstance(effect, m.Send) for effect in effects) <= 1
        assert not any(isinstance(effect, m.Latched | m.OrdersAdopted) for effect in effects)
    assert not any(isinstance(send.request, m.Write) for send in watched.sends)
    assert [send.request_id for send in watched.sends] == [*range(1, len(watched.sends) + 1)]


def test_the_recorder_reads_the_series_page_by_page_and_then_the_account():
    watched = Watched()
    assert watched.answer(m.SeriesBody((event(market(1)),), "next")) == m.ReadSeries(
        Ticker("ACME-VAL"), ""
    )
    assert watched.answer(m.SeriesBody((event(market(2)),), "")) == m.ReadSeries(
        Ticker("ACME-VAL"), "next"
    )
    for _ in range(4):
        watched.answer(BODIES[type(watched.sends[-1].request)])
    assert set(kinds(watched.sends)) == {m.ReadSeries, *BODIES}
    assert len(watched.sends) == 6


def test_the_recorder_subscribes_to_every_unresolved_rung():
    watched = Watched()
    watched.tell(m.FeedOpened())
    watched.listed(market(1), market(2, "resolved"), market(3, "halted"))
    assert watched.subscribed == [m.SubscribeTo((market_id(1), market_id(3)), ("c",))]


def test_the_recorder_subscribes_again_after_a_reconnect():
    watched = Watched()
    watched.tell(m.FeedOpened())
    watched.listed(market(1))
    watched.tell(m.FeedClosed("cut"), m.FeedOpened(), after_ns=RESUBSCRIBE_NS)
    assert len(watched.subscribed) == 2
    assert watched.observer.gaps == 1


def test_the_recorder_resubscribes_only_for_a_stale_book():
    watched = Watched()
    recheck_ns = SETTINGS.staleness.recheck_ns
    watched.tell(m.FeedOpened())
    watched.listed(market(1), market(2))
    for _ in range(6):
        watched.tell(
            seen(1, 1), seen(2, 1), m.Tick(), after_ns=recheck_ns // 3
        )  # fmt: skip
    assert len(watched.subscribed) == 1
    for _ in range(4):
        watched.tell(seen(1, 1), m.Tick(), after_ns=recheck_ns // 3)
    assert len(watched.subscribed) == 2


def test_the_recorder_repeats_reads_at_their_interval_and_retries_timeouts_sooner():
    watched = Watched()
    watched.listed(market(1))
    watched.until(T0 + SERIES_NS)
    rows = kinds(watched.sends)
    tries = 1 + (SERIES_NS - ACCOUNT_NS) // FAILED_NS
    assert rows.count(m.ReadSeries) == 2
    assert rows.count(m.ReadBalance) == 1 + tries


def test_the_recorder_stops_account_reads_after_a_forbidden_response():
    watched = Watched()
    watched.answer(m.SeriesBody((event(market(1)),), ""))
    watched.answer(m.Rejected(403, "forbidden_scope", ""))
    watched.until(T0 + 3 * SERIES_NS)
    assert set(kinds(watched.sends[2:])) == {m.ReadSeries}
    assert not watched.observer.private


def cursors_of(pages: list[m.Body | m.Answer]) -> list[str]:
    """Where the pages of fills begin that it asks for, while these are what it gets one by one."""
    watched = Watched()
    watched.answer(m.SeriesBody((event(market(1)),), ""))
    pages = list(pages)
    for _ in range(60):
        if not watched.is_waiting:
            watched.tell(m.Tick(), after_ns=ACCOUNT_NS)
        asks = type(watched.sends[-1].request)
        body = BODIES.get(asks, m.SeriesBody((event(market(1)),), ""))
        if asks is m.ReadFills and pages:
            body = pages.pop(0)
        watched.answer(body)
    return [send.request.cursor for send in watched.sends if isinstance(send.request, m.ReadFills)]


def test_the_recorder_reads_fills_back_to_the_first_known_one():
    cursors = cursors_of(
        [
            m.FillsBody((fill(4, T0), fill(3, T0)), "2"),
            m.FillsBody((fill(2, T0), fill(1, T0)), ""),
            m.FillsBody((fill(6, T0), fill(5, T0)), "2"),
            m.FillsBody((fill(4, T0), fill(3, T0)), "4"),
        ]
    )
    assert cursors[:5] == ["", "2", "", "2", ""]


def test_fills_of_a_page_that_timed_out_are_read_with_the_next_ones():
    cursors = cursors_of(
        [
            m.FillsBody((fill(2, T0), fill(1, T0)), ""),
            m.FillsBody((fill(6, T0), fill(5, T0)), "5"),
            m.Unknown("no answer"),
            m.FillsBody((fill(6, T0), fill(5, T0)), "5"),
            m.FillsBody((fill(4, T0), fill(3, T0)), "3"),
            m.FillsBody((fill(2, T0), fill(1, T0)), ""),
        ]
    )
    assert cursors[:7] == ["", "", "5", "", "5", "3", ""]


def test_the_recorder_uses_the_read_key_when_there_is_one():
    assert Watched().sends[0].key is m.Key.TRADE
    keys = TraderSettings(series_ticker=Ticker("A"), risk=RISK, keys=KeySettings(read=True))
    assert Watched(keys).sends[0].key is m.Key.READ


def test_the_recorder_stops_at_once_on_request():
    watched = Watched()
    effects = watched.tell(m.StopRequested("enough"))
    assert effects[-1] == m.DrainComplete((), ())
    assert watched.observer.phase is Phase.STOPPED
    watched.tell(m.Tick(), m.FeedOpened(), after_ns=SERIES_NS)
    assert len(watched.sends) == 1
    assert watched.tell(m.StopRequested("again")) == []
