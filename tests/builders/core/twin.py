"""The engine and the naive exchange side by side: the same commands, every answer compared."""

from tests.builders.core.dump import dump_of
from tests.builders.core.naive import NaiveExchange
from venue.engine import messages as m
from venue.engine.engine import Engine
from venue.engine.identity import Identity
from venue.wire.money import BookSide

KEY = b"a key for the tests"
PRINTED = (m.TradePrinted, m.FillBooked)


class Twin:
    """Both exchanges. `apply` asserts that they agree and returns what the engine said."""

    def __init__(self):
        self.engine = Engine(KEY)
        self.naive = NaiveExchange(Identity(KEY).order_id)
        self._trades = {}
        self.now_ns = 0

    def apply(self, command):
        self.now_ns += 1
        answer, events = self.engine.apply(command, self.now_ns)
        expected, expected_events = self.naive.apply(command, self.now_ns)
        if isinstance(answer, m.Refused):
            assert isinstance(expected, m.Refused), (command, answer, expected)
            assert answer.code is expected.code, (command, answer, expected)
            assert events == []
            return answer, events
        assert answer == expected, (command, answer, expected)
        prints = [self._renamed(event) for event in events if isinstance(event, PRINTED)]
        assert prints == [e for e in expected_events if isinstance(e, PRINTED)], command
        rest = [event for event in events if not isinstance(event, PRINTED)]
        expected_rest = [event for event in expected_events if not isinstance(event, PRINTED)]
        assert len(rest) == len(expected_rest), (command, rest, expected_rest)
        assert set(rest) == set(expected_rest), (command, rest, expected_rest)
        return answer, events

    def compare_everything(self):
        """Cash of everybody, every book with its queues, open interest, fees."""
        dump = dump_of(self.engine)
        for user in self.naive.cash:
            balance = (self.naive.available(user), self.naive.reserved(user))
            assert self.engine.balance(user) == balance
        assert self.engine.fees_cents == self.naive.fees
        for market_id, market in self.naive.markets.items():
            for side, place in ((BookSide.BID, 3), (BookSide.ASK, 4)):
                queue = [order.order_id for order in market.queue(side is BookSide.BID)]
                levels = dump["markets"][market_id][place]
                assert [order_id for _, ids in levels for order_id in ids] == queue
                depth = {p: s for (half, p), s in market.depth().items() if half is side}
                assert dict(self.engine.depth(market_id, side)) == depth
            assert dump["shares"][market_id]["open_interest"] == market.pairs()
        assert {k: v[0] for k, v in dump["orders"].items()} == {
            k: order.state() for k, order in self.naive.orders.items()
        }

    def _renamed(self, event):
        """With the naive exchange's name of a trade: ids are hashes and are compared as names."""
        trade_id = self._trades.setdefault(event.trade_id, f"trade {len(self._trades) + 1}")
        if isinstance(event, m.TradePrinted):
            return m.TradePrinted(
                event.at_ns, trade_id, *[getattr(event, f) for f in event.__struct_fields__[2:]]
            )
        number = trade_id.removeprefix("trade ")
        return m.FillBooked(
            event.at_ns,
            f"{event.liquidity} {number}",
            trade_id,
            *[getattr(event, f) for f in event.__struct_fields__[3:]],
        )
