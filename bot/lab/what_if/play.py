"""The trader once more in a session's market, in virtual time: other answers, the same world.

What no request of ours brought about comes when it came: the others' books and prints, the channel
opening and closing, what a company is said to be worth, halts, what an operator asked. Requests are
all answered, after a round trip drawn from those of the session; what failed then does not fail
now. Where the process stood still then, it stands still now.
"""

import random
from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec

from bot.core import messages as m
from bot.core.reconfigure import Remake
from bot.core.settings import TraderSettings
from bot.core.trader import Trader
from bot.io.run.strategy_watchdog import Retold
from bot.lab.counted import Progress, no_progress
from bot.lab.driver import Driver, TickTimer
from bot.lab.exchange.account import Account
from bot.lab.exchange.exchange import MAKER
from bot.lab.exchange.live import LiveMarket
from bot.lab.exchange.queue_model import QueueModel
from bot.lab.exchange.terms import Terms
from bot.lab.replay.replay import MakeStrategy
from bot.lab.what_if.measure import Measure, Measured
from bot.lab.what_if.session import Act, Session
from venue.engine import messages as v
from venue.wire.instant import NS_PER_MS
from venue.wire.limits import QTY_MAX
from venue.wire.money import BookSide, Cents, Outcome, Price, Qty, Side, book_side, canonical
from venue.wire.names import ClientOrderId, MarketId, Ticker
from venue.wire.requests import QtyOrder, TimeInForce

_TURN_NS: Final = NS_PER_MS
"""Two decisions are so far apart at least."""

_RHYTHM_NS: Final = 100 * NS_PER_MS
_USUAL_TRIP_NS: Final = 30 * NS_PER_MS
"""Of a session in which nothing was answered."""

_OPERATED, _ARRIVES, _TO_US = range(3)
"""Of one instant the market comes first, then acts of these ranks, then the trader's own tick."""

_EVEN: Final = Price(50)
_ENOUGH_CENTS: Final = Cents(200)
"""For a share at an even price, with any fee."""


class Setup(msgspec.Struct, frozen=True):
    """What a trader is made with. reconfigured: what a change of the session's configuration is
    now; None: it does not come. remake: makes the strategies."""

    configured: m.Configuration
    remake: Remake
    reconfigured: Callable[[m.Reconfigured], m.Reconfigured | None]


class Play:
    """One session under one reading; `run` once. trader, venue: as they stand."""

    def __init__(self, session: Session, setup: Setup, terms: Terms, reading: QueueModel) -> None:
        self._session = session
        self._setup = setup
        self._chance = random.Random(terms.seed)
        self._feed_ns = session.feed_ns
        self._driver = Driver(session.run.begun_ns)
        self._ticks = TickTimer(self._driver, self._tick)
        cash = Cents(0) if session.cash_cents is None else session.cash_cents
        self.venue = SessionMarket(
            session, msgspec.structs.replace(terms, cash_cents=cash), reading
        )
        self.trader = _trader(setup)
        self._measure = Measure()
        self._channel_ns = self.now_ns
        self._open = self._subscribed = self._over = False

    @property
    def now_ns(self) -> int:
        return self._driver.now_ns

    def run(self, progress: Progress = no_progress) -> Measured:
        """Play it to its end. progress: called now and then with how many records are through."""
        session, driver = self._session, self._driver
        for at_ns, event in session.world:
            self._reaches_us([event], at_ns)
        for at_ns, command in session.states:
            driver.at(at_ns, partial(self._operated, command), _OPERATED)
        started = session.run.started
        began = m.Started(
            started.boot_nonce,
            (),
            started.new_account,
            journal=m.JournalFate.FOUND,
            latched=started.latched,
            configured=self._setup.configured,
            winners=started.winners,
            complete_fill=started.complete_fill,
            fills_since=started.fills_since,
            event_cash=started.event_cash,
        )
        self._ticks.schedule(self._awake(self.now_ns))
        self._hand(began)
        for done, act in enumerate(session.acts):
            if act.seen.ts_ns > session.ended_ns:
                break
            driver.reach(act.seen.ts_ns)
            self.venue.act(act)
            self._publish(act.arrives_ns)
            if done % 500 == 0:
                progress(done)
        driver.run_until(session.ended_ns)
        self.venue.account.prove(self.venue.gain_cents)
        span_ns = (session.run.begun_ns, session.ended_ns)
        return self._measure.result(self.trader, span_ns, session.tickers)

    def _tick(self) -> None:
        self._ticks.schedule(self._awake(self.now_ns + _RHYTHM_NS))
        self._hand(m.Tick())

    def _awake(self, at_ns: int) -> int:
        """The instant, or the end of the stall that it falls into."""
        for begun_ns, ended_ns in self._session.stalls:
            if begun_ns < at_ns < ended_ns:
                return ended_ns
        return at_ns

    def _reaches_us(self, events: list[m.Event], at_ns: int) -> None:
        """The trader takes something in at an instant, or when its process goes on."""
        self._driver.at(self._awake(at_ns), partial(self._take_in, events), _TO_US)

    def _take_in(self, events: list[m.Event]) -> None:
        for event in events:
            self._arrived(event)
        self._ticks.schedule_by(self._awake(self.now_ns))

    def _arrives(self, send: m.Send, back_ns: int) -> None:
        """A request is at the venue, and its answer sets out."""
        answer, tokens, away_ns, _ = self.venue.exchange.answer(send, self.now_ns)
        replied = m.Response(send.request_id, answer, tokens, away_ns)
        self._reaches_us([replied], self.now_ns + back_ns)
        self._publish(self.now_ns + self._feed_ns)

    def _operated(self, command: v.Command) -> None:
        self.venue.exchange.apply(command, self.now_ns)

    def _arrived(self, event: m.Event) -> None:
        """Something reaches the trader."""
        match event:
            case m.FeedOpened():
                self._open = True
            case m.FeedClosed():
                self._open = self._subscribed = False
            case m.Reconfigured():
                changed = self._setup.reconfigured(event)
                if changed is not None:
                    self._hand(changed)
                return
            case m.BookUpdate() | m.Trade() if not self._subscribed:
                return
            case _:
                pass
        self._hand(event)

    def _hand(self, event: m.Event) -> None:
        """An event into the trader, and its effects out."""
        if self._over:
            return
        now_ns = self.now_ns
        self._measure.take(event)
        for effect in self.trader.receive(event, now_ns):
            self._measure.take(effect)
            match effect:
                case m.Send():
                    trip_ns = self._trip_ns(writes=isinstance(effect.request, m.Write))
                    there_ns = trip_ns // 2
                    arrives = partial(self._arrives, effect, trip_ns - there_ns)
                    self._driver.after(there_ns, arrives, _ARRIVES)
                case m.WakeAt(at_ns=at_ns):
                    self._ticks.schedule(self._awake(max(at_ns, now_ns + _TURN_NS)))
                case m.SubscribeTo() if self._open:
                    self._subscribe()
                case m.DrainComplete():
                    self._over = True
                case _:
                    pass

    def _trip_ns(self, *, writes: bool) -> int:
        """How long a request and its answer are under way."""
        session = self._session
        trips = session.write_trips_ns if writes else session.read_trips_ns
        return self._chance.choice(trips) if trips else _USUAL_TRIP_NS

    def _subscribe(self) -> None:
        """The whole set again, and every book of it."""
        self._subscribed = True
        now_ns = self.now_ns
        frames = self.venue.book_frames(now_ns)
        self._send([m.SubscriptionAccepted(), *frames], now_ns + 2 * self._feed_ns)

    def _publish(self, arrives_ns: int) -> None:
        """What has just happened at the venue goes out on the channel."""
        events = self.venue.frames(self.now_ns)
        if events and self._subscribed:
            self._send(events, arrives_ns)

    def _send(self, events: list[m.Event], arrives_ns: int) -> None:
        """The channel overtakes nothing of its own."""
        self._channel_ns = max(self._channel_ns, arrives_ns)
        self._reaches_us(events, self._channel_ns)


def _trader(setup: Setup) -> Trader:
    calls: dict[Ticker, int] = {}

    def guarded(make: MakeStrategy) -> MakeStrategy:
        return lambda: Retold(make, {}, calls)

    had: TraderSettings = setup.configured.settings
    # What stood beside it then is not there: of that only what it did is known.
    settings = msgspec.structs.replace(had, beside=())
    return Trader(
        settings,
        guarded(setup.remake(setup.configured.strategy)),
        remake=lambda choice: guarded(setup.remake(choice)),
    )


class SessionMarket(LiveMarket):
    """The markets of a session under one model of the queue: a backtest's exchange around what the
    others did, holdings as they were at the start.

    What of a print that filled us then fills nobody of ours now goes to others at its price, as far
    as there are any: their shares stand there no more until their size changes.
    """

    def __init__(self, session: Session, terms: Terms, queue_model: QueueModel) -> None:
        begun_ns = session.run.begun_ns
        super().__init__(session.catalogue, terms, queue_model, begun_ns)
        # No order is larger than the venue takes; what is held may be.
        parts = [
            (market_id, outcome, min(qty - begin, QTY_MAX))
            for market_id, outcome, qty in session.holdings
            for begin in range(0, qty, QTY_MAX)
        ]
        for place, (market_id, outcome, qty) in enumerate(parts):
            self._endow(place, market_id, outcome, qty, begun_ns)
        self.exchange.read_all(begun_ns)

    def _endow(
        self, place: int, market_id: MarketId, outcome: Outcome, qty: int, now_ns: int
    ) -> None:
        """Shares are held, and the cash is what it was: they were bought before anything began."""
        self.exchange.apply(v.Deposit(MAKER, Cents(_ENOUGH_CENTS * qty)), now_ns)
        name = ClientOrderId(f"held-{place}")
        bought = QtyOrder(market_id, outcome, Side.BUY, _EVEN, Qty(qty), TimeInForce.GTC, name)
        self.exchange.apply(v.PlaceOrder(MAKER, bought), now_ns)
        side, price = book_side(outcome, Side.BUY), canonical(outcome, _EVEN)
        self._acting_as_print = True
        self._meet(market_id, side, price, qty, now_ns)
        self._acting_as_print = False
        self.exchange.apply(v.Withdraw(MAKER, Cents(self.gain_cents)), now_ns)
        held = {**self.account.shares}
        self.account = Account()
        self.account.shares = held

    def act(self, act: Act) -> None:
        """A book or a print of others happens now."""
        before, seen = len(self.account.fills), act.seen
        if isinstance(seen, m.BookUpdate):
            self.on_frame(seen, seen.ts_ns)
            return
        # Prints of several fills of ours may have one id: each counts.
        self._print(seen, seen.ts_ns, seen.ts_ns)
        if not act.ours:
            return
        left = seen.size - sum(fill.qty for fill in self.account.fills[before:])
        depth = self.depths[seen.market_id]
        side = BookSide.ASK if seen.taker_bought_yes else BookSide.BID
        for price, size in [*depth.left(side)]:
            if price == seen.price:
                depth.take(side, price, min(left, size))
                self._changed[seen.market_id] = None
