"""A request budget whose users want ten times too much, against a naive venue in virtual time.

Every request and response takes 0 to 200 ms, so that they bunch and overtake each other."""

from collections.abc import Callable

import pytest

from bot.core.orders.request_budget import Priority, RequestBudget
from bot.core.settings import BudgetSettings
from tests.builders.bot.venue_bucket import MS, SECOND, Wire

BEAT_NS = 10 * MS


class Client:
    """A request budget whose owner sends all that it allows."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.purse = RequestBudget(BudgetSettings(), 0)
        self.left_ns: list[int] = []
        self.found_ns: int | None = None
        self._look_ns = 0

    def send(self, lane: Priority) -> bool:
        """Send one request if there is a token for it."""
        if not self.purse.spend(lane, self.wire.now_ns):
            return False
        number = self.purse.spent
        self.left_ns.append(self.wire.now_ns)
        self.wire.send(lambda left: self._answered(number, left))
        return True

    def _answered(self, number: int, left: int | None) -> None:
        now_ns = self.wire.now_ns
        self.purse.answered(left or 0, now_ns, number, is_throttled=left is None)
        if left is None:
            self.purse.told_to_wait(SECOND, now_ns)
        else:
            self.purse.eased(now_ns)
        if self.found_ns is None and self.purse.foreign.is_found:
            self.found_ns = now_ns

    def beats(self, act: Callable[[], None]) -> None:
        """Act every ten milliseconds from now on."""

        def beat() -> None:
            act()
            now_ns = self.wire.now_ns
            self.wire.at(now_ns + BEAT_NS, beat)

        self.wire.at(self.wire.now_ns, beat)


def demand_all(client: Client) -> Callable[[], None]:
    """Two thousand requests a second of all that the reserve is not for."""

    def act() -> None:
        for lane in (Priority.READ, Priority.AMEND, Priority.CREATE):
            for _ in range(7):
                if not client.send(lane):
                    break

    return act


def demand_some(client: Client, per_second: float) -> Callable[[], None]:
    """So many requests a second on average, at random."""

    def act() -> None:
        if client.wire.rng.random() < per_second / 100:
            client.send(Priority.READ)

    return act


def test_ten_times_the_budget_wanted_under_jitter_is_never_rate_limited():
    """An hour of it, 720,300 requests, gave no 429 either."""
    wire = Wire(1, 200 * MS)
    client = Client(wire)
    client.beats(demand_all(client))
    wire.run_until(120 * SECOND)
    assert wire.venue.throttled == 0
    assert wire.venue.let_in > 24_000


@pytest.mark.parametrize("per_second", [5, 50, 150])
def test_a_cancel_waits_at_most_a_quarter_of_a_second_under_ten_times_the_demand(per_second):
    wire = Wire(2, 200 * MS)
    client = Client(wire)
    others = demand_all(client)
    waiting: list[int] = []
    waits_ns: list[int] = []

    def act() -> None:
        if wire.rng.random() < per_second / 100:
            waiting.extend([wire.now_ns] * (2 if per_second > 100 else 1))
        while waiting and client.send(Priority.CANCEL):
            waits_ns.append(wire.now_ns - waiting.pop(0))
        others()

    client.beats(act)
    wire.run_until(30 * SECOND)
    assert sorted(waits_ns)[len(waits_ns) * 99 // 100] <= 250 * MS
    assert wire.venue.throttled == 0


@pytest.mark.parametrize("resting", [60, 200, 460])
def test_cancelling_everything_takes_no_longer_than_the_published_time_to_flat(resting):
    wire = Wire(3, 200 * MS)
    client = Client(wire)
    others = demand_all(client)
    left = resting
    wire.run_until(5 * SECOND)
    panics = False

    def act() -> None:
        nonlocal left
        if panics:
            while left and client.send(Priority.CANCEL):
                left -= 1
        else:
            others()

    client.beats(act)
    wire.run_until(10 * SECOND)
    published_ns = client.purse.flat_ns(resting, wire.now_ns)
    panics = True
    wire.run_until(wire.now_ns + published_ns + BEAT_NS, lambda: not left)
    assert left == 0
    assert published_ns <= 2 * SECOND
    assert wire.venue.throttled == 0


def test_two_hundred_markets_are_quoted_again_within_15_s_of_an_outage():
    """Four orders a market, recovery reads first; the venue refuses nothing for pace."""
    wire = Wire(4, 100 * MS)
    client = Client(wire)
    reads, creates, until_ns = 5, 800, 60 * SECOND

    def act() -> None:
        nonlocal reads, creates
        if wire.now_ns < until_ns:
            if client.purse.spend(Priority.READ, wire.now_ns):
                client.purse.answered(None, wire.now_ns, client.purse.spent)
                client.purse.unserved(None, wire.now_ns)
            return
        while reads > 0 and client.send(Priority.READ):
            reads -= 1
        if not reads and client.purse.in_flight == 0:
            reads = -1
        while reads < 0 < creates and client.send(Priority.CREATE):
            creates -= 1

    client.beats(act)
    assert wire.run_until(until_ns + 15 * SECOND, lambda: creates == 0)
    assert wire.venue.throttled == 0


def add_client(client: Client, per_second: int, from_ns: int, until_ns: int = 10**12) -> None:
    """A second client that sends at random times, so many requests a second on average."""
    wire = client.wire

    def other() -> None:
        if wire.now_ns < until_ns:
            wire.venue.take(wire.now_ns)
            wire.at(wire.now_ns + int(wire.rng.expovariate(per_second) * SECOND), other)

    wire.at(from_ns, other)


@pytest.mark.parametrize("jitter_ns", [10 * MS, 200 * MS])
@pytest.mark.parametrize("per_second", [200, 300])
def test_foreign_usage_that_leaves_too_little_is_found_and_forgotten(per_second, jitter_ns):
    for seed in range(4):
        wire = Wire(seed, jitter_ns)
        client = Client(wire)
        client.beats(demand_all(client))
        add_client(client, per_second, 8 * SECOND, 28 * SECOND)
        assert wire.run_until(14 * SECOND, lambda client=client: client.found_ns is not None)
        assert client.found_ns is not None
        assert client.found_ns > 8 * SECOND
        wire.run_until(28 * SECOND)
        is_clear = lambda client=client: not client.purse.foreign.is_found  # noqa: E731
        assert wire.run_until(32 * SECOND, is_clear)


@pytest.mark.parametrize("jitter_ns", [5 * MS, 50 * MS, 200 * MS])
@pytest.mark.parametrize("wanted", [1, 8, 40, 100, 2_000])
def test_delayed_requests_of_our_own_are_never_taken_for_foreign_usage(wanted, jitter_ns):
    wire = Wire(wanted, jitter_ns)
    client = Client(wire)
    client.beats(demand_all(client) if wanted > 100 else demand_some(client, wanted))
    wire.run_until(20 * SECOND)
    assert client.found_ns is None


def test_a_bucket_left_empty_by_an_earlier_client_is_no_foreign_usage():
    wire = Wire(5, 50 * MS)
    wire.venue.credit_ns = 0
    wire.venue.at_ns = 0
    wire.run_until(SECOND // 10)
    client = Client(wire)
    client.beats(demand_some(client, 20))
    wire.run_until(10 * SECOND)
    assert client.found_ns is None


def test_a_few_requests_of_an_operator_are_no_foreign_usage():
    wire = Wire(6, 10 * MS)
    client = Client(wire)
    client.beats(demand_some(client, 8))
    add_client(client, 8, SECOND, 30 * SECOND)
    wire.run_until(40 * SECOND)
    assert client.found_ns is None
