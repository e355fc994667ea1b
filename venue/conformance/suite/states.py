"""Checks of states: halted and resolved markets, settlement, event status, venue-wide stops."""

from venue.conformance.api import buy, eventually, refusal_of, sell
from venue.conformance.bench import Bench
from venue.conformance.judge import Json, holds, same
from venue.conformance.registry import check


@check()
def check_a_halted_market_rejects_orders(bench: Bench) -> None:
    """Market state | A halted market rejects orders with 422 market_halted."""
    market = bench.market()
    bench.set_market(market, "halt")
    same(bench.anna.refused(**buy(market)), "market_halted")
    same(bench.shown(market["market_id"])["state"], "halted")


@check(readings="S23")
def check_a_halt_keeps_orders_allows_cancels_and_can_end(bench: Bench) -> None:
    """Market state | Halted: amends refused, cancels work, orders stay; it can end."""
    market, kept = bench.resting("yes", 40, 3)
    other = bench.anna.placed(**buy(market, "yes", 39, 3))
    bench.set_market(market, "halt")
    same(refusal_of(bench.anna.amend(kept["order_id"], qty=1)), "market_halted")
    same(bench.anna.cancelled(other["order_id"])["reduced_by"], 3)
    bench.set_market(market, "resume")
    same(bench.bruno.placed(**buy(market, "no", 60, 3))["status"], "filled")
    bench.anna.order_read(kept["order_id"], status="filled")


@check()
def check_a_resolved_market_rejects_orders_for_ever_and_stays_readable(bench: Bench) -> None:
    """Market state | A resolved market rejects orders for ever: 422 market_resolved.
    Market state | Resolved: open_interest 0; the ticker still resolves.
    """
    market = bench.market()
    bench.trade(market, 50, 4)
    bench.set_market(market, "resolve", winner="yes")
    for who in (bench.anna, bench.bruno):
        same(who.refused(**buy(market)), "market_resolved")
    for act in ("halt", "resume"):
        bench.attempt("POST", f"/markets/{market['market_id']}/{act}", {})
    same(bench.anna.refused(**buy(market)), "market_resolved", "after halt and resume")
    snapshot = bench.anna.get(f"/markets/{market['ticker'].lower()}/snapshot")
    same((snapshot["market"]["state"], snapshot["stats"]["open_interest"]), ("resolved", 0))
    for name in ("orderbook", "candles"):
        bench.anna.get(f"/markets/{market['ticker']}/{name}")


@check()
def check_positions_persist_until_the_market_resolves(bench: Bench) -> None:
    """Venue state | Positions persist until resolution pays them out."""
    market = bench.market()
    bench.trade(market, 50, 4)
    bench.set_market(market, "halt")
    same(bench.anna.holdings(market["ticker"]), {"yes": 4}, "while halted")
    before = bench.anna.balance()["total_cents"]
    bench.set_market(market, "resolve", winner="yes")
    holds(bench.anna.balance()["total_cents"] > before, "the winner is not paid")


@check(readings="S22")
def check_a_winning_share_pays_100_and_a_losing_one_nothing(bench: Bench) -> None:
    """Venue state | Settlement: 100 a winning share, no fee; positions leave the list."""
    for winner in ("yes", "no"):
        market = bench.market()
        bench.trade(market, 50, 4)
        before = {"yes": bench.anna.balance(), "no": bench.bruno.balance()}
        bench.set_market(market, "resolve", winner=winner)
        after = {"yes": bench.anna.balance(), "no": bench.bruno.balance()}
        for outcome, paid in ((winner, 400), ("no" if winner == "yes" else "yes", 0)):
            got = after[outcome]["total_cents"] - before[outcome]["total_cents"]
            same(got, paid, f"{outcome} when {winner} wins")
        same(bench.anna.holdings(market["ticker"]), {})


@check()
def check_resting_orders_of_a_resolved_market_end(bench: Bench) -> None:
    """Order status | expired: ended without the caller asking; terminal.
    Order status | cancel of an expired order: 422 order_not_cancelable.
    """
    market = bench.market()
    before = bench.anna.balance()
    order = bench.anna.placed(**buy(market, "yes", 40, 4))
    bench.set_market(market, "resolve", winner="no")
    path = f"/orders/{order['order_id']}"
    ends = ("expired", "canceled")
    eventually(lambda: bench.anna.get(path)["status"], lambda status: status in ends)
    same(refusal_of(bench.anna.cancel(order["order_id"])), "order_not_cancelable")
    same(bench.anna.balance(), before, "its reserve is released")


@check(readings="S21")
def check_resolution_ends_resting_orders_as_expired(bench: Bench) -> None:
    """Order status | At resolution resting orders expire, reserve released."""
    market = bench.market()
    order, _ = bench.trade(market, 40, 1, of=4)
    bench.set_market(market, "resolve", winner="no")
    read = bench.anna.order_read(order["order_id"], status="expired")
    same((read["filled_qty"], read["reserved_cents"]), (1, 0))


@check()
def check_settled_means_every_rung_has_resolved(bench: Bench) -> None:
    """Event status | settled: every rung has resolved; mid-resolution a ladder is still closed.
    Event status | States: unopened, open, closed, settled.
    """
    event = bench.event(bench.scratch_company)
    rungs = [bench.rung(event, label) for label in ("1B", "2B")]
    same(bench.event_shown(event)["status"], "open")
    bench.set_market(rungs[0], "resolve", winner="yes")
    same(bench.event_shown(event)["status"], "closed", "one of two resolved")
    bench.set_market(rungs[1], "resolve", winner="no")
    same(bench.event_shown(event)["status"], "settled", "both resolved")


@check()
def check_the_remaining_rungs_settle_independently(bench: Bench) -> None:
    """Event status | The remaining rungs of a closed ladder settle independently."""
    event = bench.event(bench.scratch_company)
    first, second = (bench.rung(event, label) for label in ("1B", "2B"))
    bench.set_market(first, "resolve", winner="yes")
    bench.anna.placed(**buy(second, "yes", 50, 1))
    same(bench.bruno.placed(**buy(second, "no", 50, 1))["status"], "filled")
    same(bench.shown(second["market_id"])["state"], "active")


def _status_becomes(bench: Bench, event: Json, status: str) -> None:
    eventually(lambda: bench.event_shown(event)["status"], lambda now: now == status)


@check(readings="S33")
def check_an_event_is_closed_by_the_operator_or_its_first_resolution(bench: Bench) -> None:
    """Event status | closed: from the first resolved rung on, or by the operator."""
    event = bench.event(bench.scratch_company, status="unopened")
    bench.rung(event, "1B")
    same(bench.event_shown(event)["status"], "unopened")
    for status in ("open", "closed", "open"):
        bench.act("PUT", f"/events/{event['event_ticker']}/status", {"status": status})
        _status_becomes(bench, event, status)


@check()
def check_a_halted_venue_accepts_nothing_cancels_included(bench: Bench) -> None:
    """Venue state | venue_halted: nothing accepted, cancels included; 409."""
    market, order = bench.resting("yes", 40, 4)
    with bench.venue_state("halted"):
        same(bench.anna.refused(**buy(market)), "venue_halted")
        same(refusal_of(bench.anna.cancel(order["order_id"])), "venue_halted")
        same(refusal_of(bench.anna.amend(order["order_id"], qty=1)), "venue_halted")
    same(bench.anna.order_read(order["order_id"])["status"], "open")
    same(bench.anna.cancelled(order["order_id"])["reduced_by"], 4, "once it is open again")


@check(readings="S24")
def check_reads_go_on_while_the_venue_is_halted(bench: Bench) -> None:
    """Venue state | Reads go on while the venue is halted."""
    market = bench.market()
    anna = bench.anna
    with bench.venue_state("halted"):
        for path in ("/markets", "/orders", "/portfolio/balance"):
            anna.get(path)
        anna.snapshot(market)


@check()
def check_a_venue_in_cancel_only_takes_cancels_and_no_orders(bench: Bench) -> None:
    """Venue state | venue_cancel_only: cancels work, new orders do not; 409."""
    market, order = bench.resting("yes", 40, 4)
    with bench.venue_state("cancel_only"):
        same(bench.anna.refused(**buy(market)), "venue_cancel_only")
        same(bench.anna.refused(**sell(market)), "venue_cancel_only")
        same(bench.anna.cancelled(order["order_id"])["reduced_by"], 4)


@check(readings="S50")
def check_amends_are_refused_in_cancel_only(bench: Bench) -> None:
    """Venue state | venue_cancel_only: every amend refused, shrinking too."""
    _, order = bench.resting("yes", 40, 4)
    with bench.venue_state("cancel_only"):
        for change in ({"qty": 1}, {"price": 39}):
            found = refusal_of(bench.anna.amend(order["order_id"], **change))
            same(found, "venue_cancel_only", f"{change}")
