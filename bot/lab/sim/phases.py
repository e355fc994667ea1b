"""The phases of a world: safety with faults, then liveness without, stillness, and the end."""

import random
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from bot.core import messages as m
from bot.core.report import Phase
from bot.lab.sim.desired import (
    cannot_be_known,
    differences,
    has_emptied_books,
    has_full_levels,
    why_not,
)
from bot.lab.sim.scenario import SECOND
from bot.lab.sim.truth import DOLLAR, check
from venue.engine import messages as v
from venue.wire.money import Cents, Outcome

if TYPE_CHECKING:
    from bot.lab.sim.contradictor import Contradictor
    from bot.lab.sim.world import SimulatedWorld

# Each is longer than what it names takes.
_OBSERVED_NS: Final = 25 * SECOND
_CONVERGE_NS: Final = 3 * SECOND
_LEARNS_NS: Final = 12 * SECOND  # while the fitted curve learns, quotes drift
_UNPARK_NS: Final = 8 * SECOND
_STILL_NS: Final = 6 * SECOND
_ROUTES_NS: Final = 11 * SECOND  # a side stays on its route after a limit has cut it
_DRY_MAX_NS: Final = 10 * SECOND  # reads of what may have filled take all of a small budget
_PULLED_MAX_NS: Final = 65 * SECOND  # a strategy's faults, or one jump, pull an event's quotes
_UNKNOWN_MAX_NS: Final = 20 * SECOND  # a healthy venue has answered every write
_SPEND_CLEARS_NS: Final = 40 * SECOND  # foreign spend is over half a minute after it was last seen
_LATE_NS: Final = 9 * SECOND  # prints that came late block in silence
_BY_TURNS_NS: Final = 8 * SECOND  # orders that exclude each other under a limit move by turns
_OTHERS_OPEN_NS: Final = 16 * SECOND  # others of the account open their books
_EPISODES_MAX_NS: Final = 4_000 * SECOND
_LAST_READ_NS: Final = 10 * SECOND
_STOP_NS: Final = 8 * SECOND
_SIGN_MAX_NS: Final = 240 * SECOND
_STOPPED_MAX_NS: Final = 60 * SECOND
_ALSO: Final = {"fill_contradicts_itself": "cash_differs"}
"""What else a contradiction may rightly be found as: a fill that contradicts itself is not booked,
so that the cash differs, too, and perhaps sooner."""
_STAYS_NS: Final = 20 * SECOND
_TRADES_NS: Final = 4 * SECOND
_EXIT_NS: Final = 6 * SECOND


def run_phases(world: "SimulatedWorld") -> None:
    """Rounds of safety, liveness and stillness until `scenario.events` acts, then the end. Raises
    `Broken`."""
    scenario = world.scenario
    for each in world.worlds:
        each.crowd.place_floors(world.now_ns)
    # The account was paid in long ago: no read is so late that it does not show the cash.
    world.wait(2 * scenario.slow_lag_ns)
    for each in world.worlds:
        each.start_process(each.process)
    if world.contradictor is not None:
        _stop_and_call(world, world.contradictor)
        return
    while True:
        _safety(world)
        _heal(world)
        if _has_cash(world):
            # Quotes that the cash does not reach for are refused and cannot rest.
            for each in world.worlds:
                _converge(each)
                _stay_still(each)
            for each in world.worlds:
                if scenario.has("flatten"):
                    _flatten(each)
                if scenario.has("exit"):
                    _exit(each)
                if scenario.has("reload"):
                    _reload(each)
            if scenario.strangers != "cancel" or scenario.has("event_ends"):
                _restart(world)
        if world.driver.steps >= scenario.events:
            break
    _stop(world)


def _stop_and_call(world: "SimulatedWorld", contradictor: "Contradictor") -> None:
    """B15: at most a minute after the first sign nothing rests, the kill switch is set with the
    sentence of this kind, and so it stays."""
    kind, until_ns = world.scenario.contradiction, world.now_ns + _SIGN_MAX_NS
    world.crowd_acts(until_ns)
    contradictor.schedule_start()

    def is_stopped() -> bool:
        found, _, _ = world.process.trader.guard.latched.partition(": ")
        return found in (kind, _ALSO.get(kind)) and not world.auditor.truth.resting()

    while True:
        begun = world.driver.run_until(until_ns, lambda: contradictor.first_ns is not None)
        check(begun, "B15", f"no occasion for {kind} came: {why_not(world)}")
        assert contradictor.first_ns is not None
        end_ns = contradictor.first_ns + _STOPPED_MAX_NS
        stopped = world.driver.run_until(end_ns, lambda: is_stopped() or contradictor.is_withdrawn)
        if not contradictor.is_withdrawn:
            break
        contradictor.begin_again()
    text = f"{kind} for {_STOPPED_MAX_NS // SECOND} s, and not stopped: latched by "
    check(stopped, "B15", f"{text}{world.process.trader.guard.latched!r}; {why_not(world)}")
    contradictor.took_ns = world.now_ns - contradictor.first_ns
    world.wait(_STAYS_NS)
    check(is_stopped(), "B15", f"stopped for {kind}, and not any more: {why_not(world)}")


def _has_cash(world: "SimulatedWorld") -> bool:
    wanted_cents = 0
    for each in world.worlds:
        scenario, risk = each.scenario, each.file.settings.risk
        loss_cents = max(scenario.event_loss_cents, risk.event_loss_cents)
        wanted_cents += 10 * loss_cents * len(scenario.rungs)
    return world.scenario.cash_cents >= wanted_cents


def _safety(world: "SimulatedWorld") -> None:
    span_ns = world.scenario.safety_ns
    until_ns = world.now_ns + span_ns
    for each in world.worlds:
        each.faulty, each.is_quiet = world.scenario.has_faults(), False
        each.fault_schedule.schedule_faults(span_ns)
        each.schedule_after(0, partial(each.crowd_acts, until_ns))
    world.driver.run_until(until_ns)


def _heal(world: "SimulatedWorld") -> None:
    for each in world.worlds:
        each.faulty, each.is_quiet = False, True
        each.raise_budget()
    _run_out(world)
    for each in world.worlds:
        each.fault_schedule.heal()
        each.crowd.refloor(each.auditor.truth.resolved, world.now_ns)
    traders = [each.process.trader for each in world.worlds]
    if "foreign_token" in world.coverage.counts:
        world.wait(
            _SPEND_CLEARS_NS,
            lambda: not any("foreign_spend" in each.out.findings for each in traders),
        )
    _settle(world)


def _run_out(world: "SimulatedWorld") -> None:
    def are_over() -> bool:
        return not any(each.fault_schedule.going for each in world.worlds)

    if not are_over():
        world.wait(_EPISODES_MAX_NS, are_over)


def _settle(world: "SimulatedWorld") -> None:
    within_ns = 10 * SECOND + 3 * world.scenario.trust_lag_ns
    if len(world.worlds) > 1:
        within_ns += _OTHERS_OPEN_NS
    for each in world.worlds:
        _settle_series(each, within_ns)


def _settle_series(world: "SimulatedWorld", within_ns: int) -> None:
    quoting = world.wait(within_ns, lambda: world.process.trader.phase is Phase.QUOTING)
    check(quoting, "B2", f"not quoting: {why_not(world)}")
    # The present book may trip the jump guard; then quotes stay away, as after its faults.
    _come_back(world)
    # A write without an answer is retried, once there is a token for it.
    world.wait(_UNKNOWN_MAX_NS, lambda: not world.process.trader.desk.unknown)


def _come_back(world: "SimulatedWorld") -> None:
    def is_back() -> bool:
        now_ns = world.process.clock.to_host_ns(world.now_ns)
        return all(
            now_ns >= max(ladder.health.pulled_until_ns, ladder.jump_guard.pulled_until_ns)
            for ladder in world.process.trader.quoting.ladders
        )

    world.wait(SECOND)
    back = world.wait(_PULLED_MAX_NS, is_back)
    check(back, "B2", f"quotes stay away: {why_not(world)}")


_PROVOKED_BY: Final = {
    "cancelled_by_others": ("stp_met",),
    "foreign_spend": ("foreign_token",),
    "strategy_at_fault": ("tantrum_quote",),
    "outside_value_unused": ("outside_value",),
    "order_missing": ("not_found:amend", "not_found:cancel", "not_found:read"),
    "status_unreadable": ("odd_status:read",),
}
"""Findings that outlive their cause, by what may have been that."""


def _was_provoked(finding: str, world: "SimulatedWorld") -> bool:
    if finding == "silent_target":
        rungs = world.process.trader.quoting.active_rungs()
        return all(rung.state.is_known or cannot_be_known(world, rung) for rung in rungs)
    if finding == "latched" and world.scenario.creates_per_minute:
        # A breaker drawn low may trip in quiet, too, by what it had counted before.
        return "creates_per_minute" in world.process.trader.out.findings[finding]
    if finding == "latched" and world.scenario.variant("loss_budget"):
        # A restart may find the small budget spent before a person has raised it.
        return " for the day" in world.process.trader.out.findings[finding]
    if finding == "amend_qty_is_total":
        return world.scenario.variant("amend_qty") != ""
    if finding == "inconsistency_observed" and world.scenario.variant("fill_fees"):
        # The cash differs by what fills cost unshown, until it is a transfer.
        return world.process.trader.out.findings[finding].startswith("cash_differs ")
    return any(world.coverage.counts.get(name) for name in _PROVOKED_BY.get(finding, ()))


def _converge(world: "SimulatedWorld") -> None:
    """B2: resting orders become the targets."""
    process = world.process
    findings, observed = process.trader.out.findings, False

    def is_done() -> bool:
        nonlocal observed
        observed = observed or "inconsistency_observed" in findings
        return not differences(world)

    within_ns = max(
        0, process.clock.to_world_ns(process.trader.out.purse.opens_ns()) - world.now_ns
    )
    # An amend without an answer is believed after two equal reads a lag apart.
    within_ns += _CONVERGE_NS + 2 * world.scenario.trust_lag_ns
    if _parked(world):
        # A rung parked by a refusal, or by an answer that cannot be read, waits for a read of the
        # series that began late enough after it.
        within_ns += _UNPARK_NS + world.scenario.trust_lag_ns
    if _follows_curve(world):
        within_ns += _LEARNS_NS
    if "feed_late" in world.coverage.counts:
        within_ns += _LATE_NS
    if world.scenario.has_new_events:
        within_ns += _among_new_events_ns(world)
    done = world.wait(within_ns, is_done)
    # Cut by a limit into as many as may stand there, orders are put together some seconds later.
    # From a first sign on nothing grows until it has gone; a transfer takes a second audit. Where
    # nobody rests, that is believed once the venue's store has had its time to be back.
    late: tuple[tuple[Callable[[], bool], int], ...] = (
        (lambda: has_full_levels(world), _ROUTES_NS),
        (lambda: observed, _OBSERVED_NS),
        (lambda: has_emptied_books(world), process.settings.staleness.empty_book_grace_ns),
    )
    for has_reason, more_ns in late:
        if not done and has_reason():
            done = world.wait(more_ns, lambda: not differences(world))
    check(done, "B2", f"resting orders are not the targets: {why_not(world)}")


def _among_new_events_ns(world: "SimulatedWorld") -> int:
    for ladder in world.process.trader.quoting.ladders:
        for rung in ladder.rungs:
            most = max((quote.qty for quote in rung.wanted), default=0)
            if most and world.auditor.exposure.is_tight(rung.market_id, most):
                return _BY_TURNS_NS
    return 0


def _follows_curve(world: "SimulatedWorld") -> bool:
    process = world.process
    every = (process.configured, process.in_force, process.trader.reconfiguration.proven)
    return any(each.strategy.name not in ("", "fixed_spread") for each in every)


def _reload(world: "SimulatedWorld") -> None:
    """B2: the operator changes something while everything is quiet."""
    world.reload_one(random.Random(f"quiet reload {world.scenario.seed} {world.driver.steps}"))
    _come_back(world)
    _converge(world)
    _stay_still(world)


def _flatten(world: "SimulatedWorld") -> None:
    """B4, B2: after a flatten order positions only shrink while the crowd trades."""
    truth = world.auditor.truth
    world.coverage.fault("quiet_flatten")
    world.deliver(world.process, m.FlattenRequested("all is quiet"))
    world.wait(SECOND + 2 * world.scenario.trust_lag_ns)
    before = {market: truth.net(market) for market in world.exchange.all_markets()}
    _trade_unless_breaker(world, _TRADES_NS)
    world.wait(_TRADES_NS)
    for market, net in before.items():
        now = truth.net(market)
        held = min(0, net) <= now <= max(0, net) or market in truth.resolved
        check(held, "B4", f"{market} was to be flat: {net} shares have become {now}")
    world.deliver(world.process, m.ResumeRequested())
    _settle(world)
    _converge(world)
    # Levels that come back with inventory are put together in steps, ten seconds apart.
    world.wait(_ROUTES_NS)
    _stay_still(world)


def _exit(world: "SimulatedWorld") -> None:
    """B3, B4, B2: an exit of one event while the crowd trades ends in its time, and its event is
    quoted again after it."""
    rng = random.Random(f"quiet exit {world.scenario.seed} {world.driver.steps}")
    event = rng.choice(world.process.trader.quoting.ladders).event.event_ticker
    world.coverage.fault("quiet_exit")
    most_cents = Cents(rng.choice((50, 500, 5_000)))
    world.deliver(world.process, m.ExitRequested(event, _EXIT_NS, most_cents, "all is quiet"))
    _trade_unless_breaker(world, _TRADES_NS)
    # Its orders are cancelled, and their fills read, after its time.
    world.wait(_EXIT_NS + SECOND + 2 * world.scenario.trust_lag_ns)
    world.deliver(world.process, m.ResumeRequested(event=event))
    _settle(world)
    _converge(world)
    world.wait(_ROUTES_NS)
    _stay_still(world)


def _restart(world: "SimulatedWorld") -> None:
    """B2, B6: killed in quiet, sometimes during trades, without its journal, or while an event
    ends."""
    rng = random.Random(f"quiet restart {world.scenario.seed} {world.driver.steps}")
    down_ns = rng.choice((SECOND // 20, 2 * SECOND))
    lost = rng.random() < 0.3
    if rng.random() < 0.5:
        _trade_unless_breaker(world, 3 * SECOND)
    if lost:
        down_ns += world.scenario.timeout_ns + world.scenario.late_ns
    world.coverage.fault("quiet_restart")
    world.replace(world.process, down_ns, rng, lost=lost)
    reads_ns = 2 * world.scenario.trust_lag_ns
    if world.scenario.has("event_ends") and rng.random() < 0.5:
        ends = partial(world.fault_schedule.begin_fault, "event_ends", 0, rng)
        world.schedule_after(down_ns + rng.randint(0, reads_ns), ends)
    world.wait(down_ns + 4 * SECOND + reads_ns + world.scenario.trust_lag_ns)
    _run_out(world)
    _settle(world)
    for each in world.worlds:
        _converge(each)
        _stay_still(each)


def _trade_unless_breaker(world: "SimulatedWorld", for_ns: int) -> None:
    """A breaker drawn low would trip during trades, and rightly."""
    if not world.process.settings.breakers.creates_per_minute:
        world.schedule_after(0, partial(world.crowd_acts, world.now_ns + for_ns))


def _parked(world: "SimulatedWorld") -> bool:
    ladders = world.process.trader.quoting.ladders
    return any(rung.blocked.startswith("refused") for each in ladders for rung in each.rungs)


def _writes(world: "SimulatedWorld") -> int:
    requests = world.process.trader.out.counters.requests
    return sum(requests[kind] for kind in ("create", "amend", "cancel"))


def _stay_still(world: "SimulatedWorld") -> None:
    """B2: hardly any writes on a still book. Orders may change their route ten seconds after a
    limit cut their side, so of three looks the last has to be still."""
    if world.scenario.variant("second_setting"):
        return  # it takes its turn on a still book, too
    if _is_dry(world):
        # Throttled requests come when there is a token.
        world.wait(_DRY_MAX_NS, lambda: not _is_dry(world))
    world.wait(SECOND)
    writes, bound = _looked(world)
    for _ in range(2):
        if writes <= bound:
            break
        world.wait(_ROUTES_NS)
        writes, bound = _looked(world)
    check(writes <= bound, "B2", f"{writes} writes in {_STILL_NS} ns on a still book")


def _looked(world: "SimulatedWorld") -> tuple[int, int]:
    before = _writes(world)
    world.wait(_STILL_NS)
    trader = world.process.trader
    rungs = [rung for ladder in trader.quoting.ladders for rung in ladder.rungs]
    # Where only a write of ours can confirm a book, two a second and rung are allowed.
    unknowable = any(cannot_be_known(world, rung) for rung in rungs)
    return _writes(world) - before, 12 * len(rungs) if unknowable else len(rungs) + 1


def _is_dry(world: "SimulatedWorld") -> bool:
    process = world.process
    return process.traffic.bucket.is_dry(process.clock.to_host_ns(world.now_ns))


def _stop(world: "SimulatedWorld") -> None:
    """B13, B9."""
    together = world.worlds
    for each in together:
        each.stopping = True
        each.deliver(each.process, m.StopRequested("the end"))

    def resting() -> list[v.OrderState]:
        return [order for each in together for order in each.auditor.truth.resting()]

    def unfinished() -> list["SimulatedWorld"]:
        return [each for each in together if each.process.finished is None]

    world.wait(_STOP_NS, lambda: not resting())
    check(not resting(), "B13", f"still resting: {resting()}")
    world.wait(_STOP_NS + 5 * world.scenario.trust_lag_ns, lambda: not unfinished())
    check(not unfinished(), "B13", f"not finished: {[*map(why_not, unfinished())]}")
    check(not resting(), "B13", f"finished while resting: {resting()}")
    for each in together:
        _books_agree(each)


_MOVE_CASH: Final = ("transfer", "twin_orders", "twin_stp", "twin_trades", "begun_amid")


def _books_agree(world: "SimulatedWorld") -> None:
    process, truth = world.process, world.auditor.truth
    trader = process.trader
    world.coverage.hit("books_compared")
    difference = trader.report(process.clock.to_host_ns(world.now_ns)).ledger_difference_cents
    for (market, outcome), qty in truth.held.items():
        held = trader.ledgers.holdings(market)[outcome is Outcome.NO]
        check(held == qty, "B9", f"{market} {outcome}: {held} booked, {qty} held")
    for market, winner in truth.resolved.items():
        noted = trader.ledgers.settlement.known_winner(market)
        check(noted in (None, winner), "B9", f"{market}: {noted} noted, {winner} won")
    # Cash is the account's, whichever of its series it came by. A payout that the last reads did
    # not show is not booked yet; one of just before the opening is in the opening balance.
    book = trader.ledgers.book
    waiting_cents, waits = 0, False
    for each in world.worlds:
        for market, winner in each.auditor.truth.resolved.items():
            if book.winner(market) is None:
                waits |= any(book.holdings(market))
                waiting_cents += DOLLAR * book.holdings(market)[winner is Outcome.NO]
    # What others of the account did as this one ended it may not have read.
    since_ns = process.finished_ns - _LAST_READ_NS - 3 * world.scenario.trust_lag_ns
    others = [each.auditor for each in world.worlds if each is not world]
    late = [cents for audit in others for cents in audit.cents_since(since_ns)]
    assert difference is not None
    expected = trader.ledgers.expected_cents + difference
    total = world.auditor.exposure.account.total_cents
    fitting = [total - cents for cents in _sums([waiting_cents, *late])]
    check(expected in fitting, "B9", f"{expected} expected, {total} there, {waiting_cents} to pay")
    if len(world.worlds) == 1 and not any(map(world.scenario.has, _MOVE_CASH)):
        moved = 0 if world.scenario.variant("fill_fees") else trader.ledgers.transfers_cents
        check(not moved, "B9", f"{moved} cents are taken for a transfer that nobody made")
    odd = [name for name in trader.out.findings if not _was_provoked(name, world)]
    if difference:
        # Until a payout is booked, a minute at most, nobody can tell what else moved the cash.
        check(waits or "cash_differs" in odd, "B9", f"{difference} cents without a finding")
        odd = [name for name in odd if name != "cash_differs"]
    check(not odd, "findings", {name: trader.out.findings[name] for name in odd})


def _sums(amounts: list[int]) -> dict[int, None]:
    sums: dict[int, None] = {0: None}
    for amount in amounts:
        sums |= {total + amount: None for total in sums}
    return sums
