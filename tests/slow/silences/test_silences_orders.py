"""Claims about other rules for orders: amends, duplicates, ends, cancels, ceilings, halts.

As in `test_silences_replies`: the real shell on a bent venue, judged by the engine's own events.
"""

import asyncio
import json

import pytest

from bot.core import messages as m
from tests.builders.shell.life import Life, Plan, assert_exact, assert_safe, live
from tests.builders.shell.site import FLOOR, TAKER, Bend
from tests.builders.shell.truth import MAKER
from tests.builders.silences.bends import Instead, NewIds, QtyIsTotal, Replies, orders_in, refused
from tests.builders.silences.restless import restless, shrinking
from venue.engine.messages import HaltMarket, ResolveMarket, ResumeMarket, SetVenueState
from venue.rest.faults import FaultKind, FaultRule, Share, Verb
from venue.wire.model import VenueState
from venue.wire.money import Outcome
from venue.wire.requests import TimeInForce


def lived(bend, **changes) -> Life:
    """A run on a venue with a bend: three seconds of trade, then calm."""
    return live(Plan(**{"seed": 3, "faulty_s": 3.0, "calm_s": 3.0, "bend": bend, **changes}))


def assert_exact_but(life: Life, *found: str) -> None:
    """Safe, the books agree to the cent, and nothing is found but this."""
    assert_safe(life)
    assert set(life.trader.out.findings) == set(found)
    assert life.ended.report.ledger_difference_cents == 0


def losing(kind: FaultKind, *verbs: Verb, share: int = 400_000):
    """An act: this share of the answers to these verbs is lost while the crowd trades."""

    async def act(life: Life) -> None:
        life.site.venue.faults.set(FaultRule(kind, Share(share, 5), verbs))
        life.loop.call_later(life.plan.faulty_s, life.site.venue.faults.clear)

    return act


@pytest.mark.parametrize("seed", [3, 5, 7])
def test_s13_an_amend_may_change_the_order_id(seed):
    bend = NewIds(anew=True)
    life = lived(bend, seed=seed, strategy=restless, crowd_per_s=4.0)
    assert bend.changed >= 1
    assert_exact_but(life)


@pytest.mark.parametrize(("anew", "at_s"), [(True, 1.0), (True, 2.4), (False, 1.0), (False, 2.4)])
def test_s13_fills_may_stay_with_the_old_order_id(anew, at_s):
    """They land long before the amend that gives the order its new id, or just before it."""

    async def act(life: Life) -> None:
        for when_s, qty in ((at_s, 3), (2.4, 1)):
            await asyncio.sleep(life.site.bot_began_s + when_s - life.loop.time())
            for market, value in life.site.crowd.value.items():
                price = round(value) + 3 if when_s == at_s else 1
                await life.site.crowd.place(TAKER, market, Outcome.YES, price, qty)

    bend = NewIds(anew=anew)
    life = lived(bend, strategy=shrinking, act=act, crowd_per_s=0.001, calm_s=6.0)
    assert bend.changed >= 2
    assert life.truth.fills >= 2
    assert_exact_but(life)


def test_s13_the_qty_of_an_amend_may_be_meant_as_the_total():
    async def act(life: Life) -> None:
        await asyncio.sleep(1.2)
        for market, value in life.site.crowd.value.items():
            price, no = round(value) + 3, Outcome.NO
            await life.site.crowd.place(TAKER, market, Outcome.YES, price, 3, TimeInForce.IOC)
            await life.site.crowd.place(TAKER, market, no, 103 - round(value), 3, TimeInForce.IOC)
        await asyncio.sleep(1.2)
        for market in life.site.markets:
            # Only a book that moves has the strategy asked again.
            await life.site.crowd.place(FLOOR, market, Outcome.YES, 20, 1)
            await asyncio.sleep(0.2)

    bend = QtyIsTotal()
    life = lived(bend, strategy=shrinking, act=act, crowd_per_s=0.001)
    assert bend.meant_otherwise >= 1
    assert_exact_but(life, "amend_qty_is_total")


def test_s14_an_identical_resend_may_be_refused_as_a_duplicate():
    class Duplicates(Bend):
        refusals = 0

        async def rest(self, method, path, query, body, ask):
            status, headers, data = await ask(method, path, query, body)
            if method == "POST" and status == 200:
                self.refusals += 1
                return refused(422, "duplicate_order_id")
            return status, headers, data

    bend = Duplicates()
    act = losing(FaultKind.RESULT_UNKNOWN_AFTER, Verb.CREATE)
    life = lived(bend, act=act, calm_s=10.0)
    assert bend.refusals >= 2
    assert_exact(life)


@pytest.mark.parametrize("status", ["canceled", "expired", "filled"])
def test_s18_an_order_that_ended_may_end_in_any_terminal_status(status):
    def change(method, path, was, body):
        for order in orders_in(body):
            if order["status"] in ("canceled", "filled", "expired"):
                order["status"] = status
        return was, body

    life = lived(Replies(change), strategy=restless)
    assert_exact_but(life)


@pytest.mark.parametrize("shown", ["expired", "canceled"])
def test_s21_an_order_may_expire_for_any_cause(shown):
    def change(method, path, status, body):
        for order in orders_in(body):
            if order["order_id"] in gone:
                order["status"] = shown
        return status, body

    async def act(life: Life) -> None:
        def expire() -> None:
            resting = life.truth.resting()
            gone.update(order.order_id for order in resting[:2])
            for order in resting[:2]:
                life.site.withdraw(order.order_id)

        for at_s in (0.8, 1.6, 2.4):
            life.loop.call_later(at_s, expire)

    gone: set[str] = set()
    life = lived(Replies(change), act=act, calm_s=4.0)
    assert len(gone) >= 4
    assert life.wanted == [], life.wanted
    assert_exact_but(life, *(["cancelled_by_others"] if shown == "canceled" else []))


def resolving(at_s: float):
    """An act: the first rung resolves, YES wins."""

    async def act(life: Life) -> None:
        market = life.site.markets[0]
        life.loop.call_later(at_s, life.site.operate, ResolveMarket(market, Outcome.YES))

    return act


@pytest.mark.parametrize("listed", ["gone", "with_no_shares", "as_it_was"])
def test_s22_the_positions_of_a_resolved_market_may_vanish_or_stay(listed):
    def change(method, path, status, body):
        if path != "/portfolio/positions":
            return status, body
        first = bend.site.markets[0]
        known.update(
            {row["outcome"]: row for row in body["positions"] if row["market_id"] == first}
        )
        mine = {row["outcome"] for row in body["positions"] if row["market_id"] == first}
        for outcome, row in known.items():
            if listed != "gone" and outcome not in mine:
                body["positions"].append(row if listed == "as_it_was" else {**row, "qty": 0})
        return status, body

    known: dict[str, dict] = {}
    bend = Replies(change)
    life = lived(bend, act=resolving(7.0), rungs=3, crowd_per_s=6.0, faulty_s=8.0, calm_s=9.0)
    assert known
    assert_exact_but(life)


def test_s22_positions_that_vanish_for_a_while_stop_new_orders_and_nothing_else():
    def change(method, path, status, body):
        if path == "/portfolio/positions":
            body["positions"] = []
        return status, body

    bend = Replies(change, 2.0, 8.5)
    life = lived(bend, crowd_per_s=8.0, calm_s=16.0)
    assert life.truth.held
    assert_exact(life)


@pytest.mark.parametrize("code", ["market_halted", "of_tomorrow"])
def test_s23_a_halted_market_may_refuse_cancels(code):
    class NoCancels(Bend):
        halted = False
        refusals = 0

        async def rest(self, method, path, query, body, ask):
            order = self.site.truth.orders.get(path.rpartition("/")[2])
            first = order is not None and order.market_id == self.site.markets[0]
            if method == "DELETE" and first and self.halted:
                self.refusals += 1
                return refused(422, code)
            return await ask(method, path, query, body)

    async def act(life: Life) -> None:
        def turn(halted: bool) -> None:
            bend.halted = halted
            market = life.site.markets[0]
            life.site.operate(HaltMarket(market) if halted else ResumeMarket(market))

        life.loop.call_later(1.0, turn, True)
        life.loop.call_later(2.8, turn, False)

    bend = NoCancels()
    life = lived(bend, act=act, strategy=restless, calm_s=12.0)
    assert bend.refusals >= 1
    assert_exact_but(life)


@pytest.mark.parametrize("ceiling", [3, 7])
def test_s25_a_smaller_ceiling_is_learned_from_the_refusal(ceiling):
    def answer(method, path, body):
        if method in ("POST", "PUT") and body.get("qty", 0) > ceiling:
            return refused(400, "invalid_qty")
        return None

    bend = Instead(answer)
    life = lived(bend, calm_s=6.0)
    assert bend.given >= 1
    assert_safe(life)
    sides = {(order.market_id, order.side, order.outcome) for order in life.resting_at_stop}
    assert len(sides) == 4, "orders within the ceiling rest on both sides of both rungs"
    assert bend.given <= 12


CODES = [
    (409, "venue_halted"), (422, "market_halted"), (422, "insufficient_balance"),
    (400, "invalid_qty"), (404, "market_not_found"), (400, "of_tomorrow"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "code"), CODES)
def test_s29_a_resend_may_be_refused_for_what_came_before_it_was_looked_up(status, code):
    class LooksLast(Bend):
        refusals = 0
        seen: frozenset[bytes] = frozenset()

        async def rest(self, method, path, query, body, ask):
            again = method == "POST" and body in self.seen
            if method == "POST":
                self.seen = self.seen | {body}
            if again and self.site.age_s() < 4.0:
                self.refusals += 1
                return refused(status, code)
            return await ask(method, path, query, body)

    bend = LooksLast()
    act = losing(FaultKind.RESULT_UNKNOWN_AFTER, Verb.CREATE, share=300_000)
    life = lived(bend, act=act, faulty_s=2.5, calm_s=16.0)
    assert bend.refusals >= 1
    assert_safe(life)
    assert life.ended.report.ledger_difference_cents == 0


@pytest.mark.parametrize("second", ["nothing_removed", "order_not_cancelable"])
def test_s31_a_second_cancel_may_remove_nothing_or_be_refused(second):
    class Seconds(Bend):
        seconds = 0

        async def rest(self, method, path, query, body, ask):
            order = self.site.truth.orders.get(path.rpartition("/")[2])
            over = order is not None and order.remaining_qty == 0
            if method != "DELETE" or not over:
                return await ask(method, path, query, body)
            self.seconds += 1
            if second == "order_not_cancelable":
                return refused(422, second)
            status, headers, data = await ask("GET", path, b"", b"")
            shown = {"order": json.loads(data), "reduced_by": 0}
            return status, headers, json.dumps(shown).encode()

    bend = Seconds()
    act = losing(FaultKind.RESULT_UNKNOWN_AFTER, Verb.CANCEL, share=600_000)
    life = lived(bend, act=act, strategy=restless, crowd_per_s=8.0)
    assert bend.seconds >= 2
    assert_exact_but(life)


@pytest.mark.parametrize(
    ("status", "code"),
    [(404, "order_not_found"), (409, "of_tomorrow"), (409, "order_not_cancelable"),
     (422, "order_not_cancelable"), (422, "invalid_request")],
)  # fmt: skip
def test_s43_an_amend_of_an_ended_order_may_be_404_409_or_422(status, code):
    class EndsFirst(Bend):
        refusals = 0

        async def rest(self, method, path, query, body, ask):
            if method == "PUT" and self.site.age_s() < 3.0:
                self.refusals += 1
                self.site.withdraw(path.rpartition("/")[2])
                return refused(status, code)
            return await ask(method, path, query, body)

    bend = EndsFirst()
    life = lived(bend, strategy=restless, calm_s=6.0)
    assert bend.refusals >= 2
    assert_safe(life)
    assert life.ended.report.ledger_difference_cents == 0


@pytest.mark.parametrize("shrinking_is_taken", [True, False])
def test_s50_a_venue_that_takes_cancels_only_may_take_amends_that_shrink(shrinking_is_taken):
    class Shrinks(Bend):
        amends = 0

        async def rest(self, method, path, query, body, ask):
            closed = self.site.venue.figures()["venue_state"] is VenueState.CANCEL_ONLY
            shrinks = method == "PUT" and "price" not in json.loads(body)
            if not (closed and shrinks and shrinking_is_taken):
                return await ask(method, path, query, body)
            self.amends += 1
            self.site.operate(SetVenueState(VenueState.OPEN))
            said = await ask(method, path, query, body)
            self.site.operate(SetVenueState(VenueState.CANCEL_ONLY))
            return said

    async def act(life: Life) -> None:
        for at_s, state in ((1.0, VenueState.CANCEL_ONLY), (2.6, VenueState.OPEN)):
            life.loop.call_later(at_s, life.site.operate, SetVenueState(state))

    life = lived(Shrinks(), act=act, strategy=restless, calm_s=9.0)
    assert_exact_but(life)
    assert life.sent(m.Create)


@pytest.mark.parametrize("shown", ["canceled", "filled", "expired"])
def test_s53_an_order_that_met_its_own_account_and_traded_out_may_end_in_any_way(shown):
    def change(method, path, status, body):
        for order in orders_in(body):
            if order["status"] == "canceled":
                order["status"] = shown
        return status, body

    async def act(life: Life) -> None:
        await asyncio.sleep(1.2)
        crowd = life.site.crowd
        for market, value in crowd.value.items():
            # A second key of the same account takes four shares of the ask, the crowd the others.
            ask = round(value) + 3
            await crowd.place(MAKER, market, Outcome.YES, ask, 4, TimeInForce.IOC)
            await crowd.place(TAKER, market, Outcome.YES, ask, 16, TimeInForce.IOC)

    life = lived(Replies(change), strategy=shrinking, act=act, crowd_per_s=0.001, calm_s=8.0)
    assert life.truth.self_trades == 2
    assert life.truth.resting() == []
    assert int(life.ended.exit_code) == 0
    assert life.ended.report.ledger_difference_cents == 0
    assert life.wanted == []
