"""Claims that every way to a venue keeps, written once: the client of the interface, the paper
exchange of `bot run --paper`, and the simulated exchange of the lab."""

import pytest

from bot.core import messages as m
from bot.io.adapter import NOT_JOURNALED
from tests.builders.adapters.worlds import VenueUser, lived, native, paper, simulated
from venue.wire.errors import CODES, Advice, Code
from venue.wire.model import OrderStatus
from venue.wire.money import Side
from venue.wire.names import OrderId

of_each = pytest.mark.parametrize(
    "opened", [native, paper, simulated], ids=lambda each: each.__name__
)
NO_SUCH = OrderId("99999999999999999999")


# --- an order's life ------------------------------------------------------------------------------


@of_each
def test_a_created_order_rests_and_is_listed(opened):
    async def scenario(user: VenueUser) -> None:
        order = await user.create(61, 10)
        assert (order.status, order.remaining_qty, order.filled_qty) == (OrderStatus.OPEN, 10, 0)
        await user.settle()
        listed = (await user.body(m.ReadResting(""))).orders
        assert [(each.order_id, each.price, each.remaining_qty) for each in listed] == [
            (order.order_id, 61, 10)
        ]

    lived(opened, scenario)


@of_each
def test_a_cancelled_order_is_gone_and_says_how_much_was_removed(opened):
    async def scenario(user: VenueUser) -> None:
        order = await user.create(61, 10)
        cancelled = await user.body(m.CancelResting(order.order_id))
        assert (cancelled.order.order_id, cancelled.reduced_by) == (order.order_id, 10)
        assert (await user.read(order.order_id)).status is OrderStatus.CANCELED
        assert (await user.body(m.ReadResting(""))).orders == ()

    lived(opened, scenario)


@of_each
def test_a_repeated_cancel_is_answered_and_removes_nothing(opened):
    async def scenario(user: VenueUser) -> None:
        order = await user.create(61, 10)
        await user.body(m.CancelResting(order.order_id))
        again = await user.body(m.CancelResting(order.order_id))
        assert (again.order.order_id, again.reduced_by) == (order.order_id, 0)

    lived(opened, scenario)


@of_each
def test_a_fill_is_on_the_order_in_the_fills_and_in_the_position(opened):
    async def scenario(user: VenueUser) -> None:
        order = await user.create(62, 10)
        await user.settle()
        await user.world.sell(user.markets[0], 60, 4)
        shown = await user.read(order.order_id)
        assert (shown.status, shown.remaining_qty, shown.filled_qty) == (
            OrderStatus.PARTIALLY_FILLED, 6, 4,
        )  # fmt: skip
        fills = (await user.body(m.ReadFills(""))).fills
        assert [(each.order_id, each.qty, each.outcome_price) for each in fills] == [
            (order.order_id, 4, 62)
        ]
        (position,) = (await user.body(m.ReadPositions(""))).positions
        assert (position.market_id, position.qty) == (user.markets[0], 4)

    lived(opened, scenario)


@of_each
def test_cash_is_reserved_while_an_order_rests_and_released_by_its_cancel(opened):
    async def scenario(user: VenueUser) -> None:
        before = (await user.body(m.ReadBalance())).balance
        order = await user.create(61, 10)
        await user.settle()
        resting = (await user.body(m.ReadBalance())).balance
        assert resting.reserved_cents >= 610
        assert resting.total_cents == before.total_cents
        await user.body(m.CancelResting(order.order_id))
        await user.settle()
        assert (await user.body(m.ReadBalance())).balance == before

    lived(opened, scenario)


@of_each
def test_an_amend_to_less_keeps_the_place_in_the_queue(opened):
    async def scenario(user: VenueUser) -> None:
        order = await user.create(62, 10)
        await user.settle()
        await user.world.bid(user.markets[0], 62, 10)
        await user.settle()
        assert (await user.amend(order.order_id, qty=5)).remaining_qty == 5
        await user.settle()
        await user.world.sell(user.markets[0], 62, 5)
        assert (await user.read(order.order_id)).filled_qty == 5

    lived(opened, scenario)


@of_each
@pytest.mark.parametrize("change", [{"qty": 12}, {"price": 62}], ids=["more", "another price"])
def test_any_other_amend_goes_to_the_back_of_the_queue(opened, change):
    async def scenario(user: VenueUser) -> None:
        order = await user.create(62 if "qty" in change else 61, 10)
        await user.settle()
        await user.world.bid(user.markets[0], 62, 10)
        await user.settle()
        await user.amend(order.order_id, **change)
        await user.settle()
        await user.world.sell(user.markets[0], 62, 10)
        assert (await user.read(order.order_id)).filled_qty == 0
        await user.world.bid(user.markets[0], 62, 5)
        await user.settle()
        await user.world.sell(user.markets[0], 62, 5)
        assert (await user.read(order.order_id)).filled_qty == 5

    lived(opened, scenario)


@of_each
def test_a_repeated_client_order_id_is_the_same_order(opened):
    async def scenario(user: VenueUser) -> None:
        order = user.order(61, 10)
        first = (await user.body(m.Create(order, again=False))).order
        second = (await user.body(m.Create(order, again=True))).order
        assert second.order_id == first.order_id
        await user.settle()
        assert len((await user.body(m.ReadResting(""))).orders) == 1

    lived(opened, scenario)


# --- refusals -------------------------------------------------------------------------------------


async def cancel_of_nothing(user: VenueUser) -> m.Answer:
    return await user.ask(m.CancelResting(NO_SUCH))


async def read_of_nothing(user: VenueUser) -> m.Answer:
    return await user.ask(m.ReadOrder(NO_SUCH))


async def cancel_of_what_has_filled(user: VenueUser) -> m.Answer:
    order = await user.create(62, 4)
    await user.settle()
    await user.world.sell(user.markets[0], 60, 4)
    await user.settle()
    return await user.ask(m.CancelResting(order.order_id))


async def sale_of_what_is_not_held(user: VenueUser) -> m.Answer:
    return await user.ask(m.Create(user.order(65, 10, side=Side.SELL), again=False))


async def purchase_beyond_the_cash(user: VenueUser) -> m.Answer:
    answers = [await user.ask(m.Create(user.order(61, 100_000), again=False)) for _ in range(3)]
    return answers[-1]


async def order_in_a_halted_market(user: VenueUser) -> m.Answer:
    await user.world.halt(user.markets[0])
    await user.settle()
    await user.body(m.ReadSeries(user.world.series, ""))
    return await user.ask(m.Create(user.order(61, 10), again=False))


@of_each
@pytest.mark.parametrize(
    ("refused", "advice"),
    [
        (cancel_of_nothing, Advice.LOOK_AGAIN),
        (read_of_nothing, Advice.LOOK_AGAIN),
        (cancel_of_what_has_filled, Advice.ENDED),
        (sale_of_what_is_not_held, Advice.REREAD_FUNDS),
        (purchase_beyond_the_cash, Advice.REREAD_FUNDS),
        (order_in_a_halted_market, Advice.PARK_MARKET),
    ],
    ids=lambda each: getattr(each, "__name__", str(each)),
)
def test_a_refusal_carries_the_code_whose_row_says_what_may_be_done(opened, refused, advice):
    async def scenario(user: VenueUser) -> None:
        answer = await refused(user)
        assert isinstance(answer, m.Rejected), answer
        row = CODES[Code(answer.code)]
        assert (answer.status, row.advice) == (row.status, advice)

    lived(opened, scenario)


@of_each
def test_what_is_not_in_the_journal_in_time_is_not_sent(opened):
    async def scenario(user: VenueUser) -> None:
        answers: list[m.Answer] = []

        async def never() -> bool:
            return False

        create = m.Create(user.order(61, 10), again=False)
        send = m.Send(m.RequestId(1), create, "for a test")
        user.requests.start(send, lambda response: answers.append(response.answer), never)
        await user.settle()
        assert answers == [NOT_JOURNALED]
        assert (await user.body(m.ReadResting(""))).orders == ()

    lived(opened, scenario)


# --- reads ----------------------------------------------------------------------------------------

FILLS = 120
"""More than the first page of any of them."""


@of_each
def test_fills_are_read_page_by_page_newest_first_and_each_once(opened):
    async def scenario(user: VenueUser) -> None:
        order = await user.create(62, FILLS)
        await user.settle()
        for number in range(FILLS):
            await user.world.bid(user.markets[0], 60, 1)
            await user.world.sell(user.markets[0], 60, 1)
            if number % 10 == 0:
                await user.settle()
        await user.settle()
        pages = [await user.body(m.ReadFills(""))]
        while pages[-1].cursor:
            pages.append(await user.body(m.ReadFills(pages[-1].cursor)))
        fills = [fill for page in pages for fill in page.fills]
        assert len(pages) > 1
        assert len({fill.fill_id for fill in fills}) == len(fills) == FILLS
        assert sum(fill.qty for fill in fills) == (await user.read(order.order_id)).filled_qty
        times = [fill.created_at for fill in fills]
        assert times == sorted(times, reverse=True)

    lived(opened, scenario)


# --- the channel ----------------------------------------------------------------------------------


@of_each
def test_a_subscription_shows_the_whole_book_then_its_changes_in_order(opened):
    async def scenario(user: VenueUser) -> None:
        kinds = [type(each) for each in user.events]
        assert kinds.index(m.FeedOpened) < kinds.index(m.SubscriptionAccepted)
        first = {each.market_id: each for each in reversed(user.events_of(m.BookUpdate))}
        assert set(first) == set(user.markets)
        book = first[user.markets[0]]
        assert (book.bids[0], book.asks[0]) == ((60, 40), (70, 40))
        since = len(user.events)
        for price in (61, 62, 63):
            await user.world.bid(user.markets[0], price, 5)
            await user.settle()
        await user.world.sell(user.markets[0], 63, 5)
        await user.settle()
        changes = user.events_of(m.BookUpdate, since)
        assert [each.bids[0][0] for each in changes] == [61, 62, 63, 62]
        assert [each.ts_ns for each in changes] == sorted(each.ts_ns for each in changes)
        (trade,) = user.events_of(m.Trade, since)
        assert (trade.price, trade.size, trade.taker_bought_yes) == (63, 5, False)

    lived(opened, scenario)


@of_each
def test_our_own_order_is_in_the_book_of_the_channel(opened):
    async def scenario(user: VenueUser) -> None:
        await user.create(61, 7)
        await user.settle()
        assert user.events_of(m.BookUpdate)[-1].bids[0] == (61, 7)

    lived(opened, scenario)


@of_each
def test_a_fill_of_ours_shows_as_a_trade_on_the_channel(opened):
    async def scenario(user: VenueUser) -> None:
        await user.create(62, 10)
        await user.settle()
        since = len(user.events)
        await user.world.sell(user.markets[0], 60, 4)
        await user.settle()
        trades = user.events_of(m.Trade, since)
        assert user.world.connection.capabilities.pushed_fills
        assert trades
        assert trades[0].price <= 62

    lived(opened, scenario)


@of_each
def test_after_a_loss_of_the_channel_a_new_subscription_shows_what_changed_meanwhile(opened):
    async def scenario(user: VenueUser) -> None:
        since = len(user.events)
        await user.world.drop_channel()
        await user.world.bid(user.markets[0], 64, 3)
        for _ in range(10):
            await user.settle()
        kinds = [type(each) for each in user.events[since:]]
        assert kinds.index(m.FeedClosed) < kinds.index(m.FeedOpened)
        assert user.events_of(m.BookUpdate, since) == []
        await user.subscribe()
        assert user.events_of(m.SubscriptionAccepted, since)
        books = {each.market_id: each for each in user.events_of(m.BookUpdate, since)}
        assert set(books) == set(user.markets)
        assert books[user.markets[0]].bids[0] == (64, 3)

    lived(opened, scenario)


# --- the end --------------------------------------------------------------------------------------


@of_each
def test_a_drain_waits_until_every_request_in_flight_has_its_answer(opened):
    async def scenario(user: VenueUser) -> None:
        answered: list[m.Response] = []
        requests = [m.Create(user.order(50 + number, 1), again=False) for number in range(5)]
        for number, request in enumerate([*requests, m.ReadBalance()]):
            send = m.Send(m.RequestId(number), request, "for a test")
            user.requests.start(send, answered.append)
        assert answered == []
        assert await user.requests.drain() == 0
        assert sorted(each.request_id for each in answered) == list(range(6))
        assert all(isinstance(each.answer, m.Ok) for each in answered)

    lived(opened, scenario)
