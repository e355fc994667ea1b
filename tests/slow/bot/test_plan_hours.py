"""Hours of the whole trader: writes on a still, a flickering and a drifting book, and how much of
what rests keeps its queue position."""

import math
import random

import pytest

from bot.core import messages as m
from strategies.fixed_spread import FixedSpread
from strategies.ladder_joint import LadderJoint
from tests.builders.bot.thin import Thin
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND

STRATEGIES = {
    "fixed_spread": lambda: FixedSpread(FixedSpread.Params()),
    "ladder_joint": lambda: LadderJoint(LadderJoint.Params()),
}
MINUTE_NS = 60 * NS_PER_SECOND


def by_rung(thin: Thin, since_ns: int) -> list[list[int]]:
    """Instants of the creates, amends and cancels of each rung, from an instant on."""
    at: dict[str, list[int]] = {market.market_id: [] for market in thin.markets}
    home: dict[str, str] = {}
    made = 0
    for at_ns, request in thin.sent:
        if isinstance(request, m.Create):
            made += 1
            home[str(made)] = request.order.market_id
            market_id = request.order.market_id
        elif isinstance(request, m.AmendResting | m.CancelResting):
            market_id = home[request.order_id]
        else:
            continue
        if at_ns >= since_ns:
            at[market_id].append(at_ns)
    return list(at.values())


def most_within(times: list[int], span_ns: int) -> int:
    return max(
        (
            sum(start <= at < start + span_ns for at in times[place : place + 1_000])
            for place, start in enumerate(times)
        ),
        default=0,
    )


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_still_book_costs_at_most_a_write_a_minute_on_each_rung(name):
    thin = Thin([70, 40], STRATEGIES[name])
    thin.start()
    since_ns = thin.now_ns
    assert thin.orders
    thin.run(3_600, least_ns=240 * NS_PER_MS)
    for times in by_rung(thin, since_ns):
        assert most_within(times, MINUTE_NS) <= 1


class Shown(Thin):
    """A venue whose channel shows every book that a write of ours has changed."""

    def ask(self, send: m.Send) -> None:
        request = send.request
        if isinstance(request, m.Create):
            market_id = request.order.market_id
        elif isinstance(request, m.AmendResting | m.CancelResting):
            market_id = self.orders[request.order_id].market_id
        else:
            super().ask(send)
            return
        super().ask(send)
        self.show([market.market_id for market in self.markets].index(market_id))


@pytest.mark.parametrize("each_ms", [900, 1_500, 3_000])
def test_quotes_do_not_follow_themselves_on_a_channel_that_shows_few_books(each_ms):
    """Between two of them our orders move, and the book shows them where they were."""
    rng = random.Random(1)
    values = [80, 60, 40, 30]
    thin = Thin(values.copy(), STRATEGIES["ladder_joint"])
    thin.start()
    is_wild, shown_ns = True, thin.now_ns

    def show() -> None:
        nonlocal shown_ns
        for index, value in enumerate(values):
            if not is_wild:
                thin.mids[index] = value
            elif rng.random() < 0.1:
                thin.mids[index] = value + rng.randint(-10, 10)
        if thin.now_ns >= shown_ns + each_ms * NS_PER_MS:
            shown_ns = thin.now_ns
            for index in range(len(values)):
                thin.show(index, thin.now_ns - NS_PER_MS)  # before what is written now

    thin.run(120, show, 100 * NS_PER_MS)
    is_wild = False
    since_ns = thin.now_ns + MINUTE_NS
    thin.run(240, show, 100 * NS_PER_MS, 100 * NS_PER_MS)
    assert thin.orders
    for times in by_rung(thin, since_ns):
        assert most_within(times, MINUTE_NS) <= 1


def test_quotes_of_an_inconsistent_ladder_come_to_rest_once_its_books_do():
    """Our own writes show a book anew: that must not move the value that the next ones follow."""
    rng = random.Random(1)
    values = [86, 24, 54, 59, 11]
    thin = Shown(values.copy(), STRATEGIES["ladder_joint"])
    thin.start()

    def jump() -> None:
        for index, value in enumerate(values):
            if rng.random() < 0.3:
                thin.mids[index] = min(96, max(4, value + rng.randint(-20, 20)))
                thin.show(index)

    thin.run(120, jump, 500 * NS_PER_MS)
    for index, value in enumerate(values):
        thin.mids[index] = value
        thin.show(index)
    since_ns = thin.now_ns + MINUTE_NS
    thin.run(360, least_ns=240 * NS_PER_MS)
    assert thin.orders
    for times in by_rung(thin, since_ns):
        assert most_within(times, MINUTE_NS) <= 1


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_book_flickering_by_a_tick_at_20_hz_stays_within_the_budget_of_each_market(name):
    """Row 38: two writes a second and a burst of six, in every window."""
    thin = Thin([70, 40], STRATEGIES[name])
    thin.start()
    since_ns = thin.now_ns
    swing = 0

    def flicker() -> None:
        nonlocal swing
        swing += 1
        for index, middle in enumerate((70, 40)):
            thin.mids[index] = middle + swing % 2
            thin.show(index)

    # A minute stands for the hour: each tenth of a second repeats the one before.
    thin.run(60, flicker, 50 * NS_PER_MS)
    for times in by_rung(thin, since_ns):
        for place, start in enumerate(times):
            for number, at in enumerate(times[place:], 1):
                assert number <= 6 + 2 * (at - start) / NS_PER_SECOND
        # All of it is the first step back of each order: after that nothing moves.
        assert most_within(times, MINUTE_NS) <= 6
        assert not [at for at in times if at > since_ns + 5 * NS_PER_SECOND]
    assert thin.orders


def test_nearly_all_size_at_an_unchanged_wanted_price_keeps_its_queue_position():
    """A middle that swings slowly: size-time at wanted prices, and what of it was put there by a
    write made while that price was wanted already."""
    thin = Thin([60], STRATEGIES["fixed_spread"])
    thin.start()
    kept = lost = 0
    since: dict[tuple[str, int], int] = {}
    step = 0

    def drift() -> None:
        nonlocal kept, lost, step, since
        step += 1
        thin.mids[0] = 60 + round(4 * math.sin(step / 300))
        thin.show(0)
        wanted = {(str(quote.side), quote.price) for quote in thin.rung(0).wanted}
        since = {key: since.get(key, thin.now_ns) for key in wanted}
        for own in thin.trader.desk.live(thin.markets[0].market_id):
            key = (str(own.book_side), own.yes_price)
            if key in since:
                late = own.last_write_ns > since[key] + 2 * NS_PER_SECOND
                kept += 0 if late else own.remaining
                lost += own.remaining if late else 0

    thin.run(600, drift, 100 * NS_PER_MS)
    assert kept > 0
    assert kept >= 99 * lost
