"""A file of few lines, and a trader that follows the changes of one."""

from pathlib import Path

from bot.config.bot_config import finish, read_draft
from bot.config.live import LiveConfig
from bot.config.strategies import Makers
from bot.core import messages as m
from bot.core.trader import Trader
from bot.strategy.api import Strategy

SMALL = """\
name: small
series: AURELIA-VAL
venue: {embedded: venue.yaml}
strategy: {name: fixed_spread}
risk: {event_loss_cents: 100, series_loss_cents: 200, rung_position_qty: 30, order_qty: 10}
"""


class Bot:
    """A trader that has begun, its file, and the events that it got."""

    def __init__(self, folder: Path, text: str = SMALL, sets: tuple[str, ...] = ()) -> None:
        self.text = text
        self.path = folder / "bot.yaml"
        self.path.write_text(text)
        config = finish(read_draft(self.path, sets=sets))
        self.makers = makers = Makers(folder)
        self.trader = Trader(config.trader, config.make_strategy, remake=makers)
        self.trader.receive(m.Started("0" * 20, (), True, configured=config.configured), 1)
        self.live = LiveConfig(config, makers, self.trader.reconfiguration, self.take, folder)

    def take(self, event: m.Event) -> None:
        self.trader.receive(event, 2)

    def live_strategy(self) -> Strategy:
        """A strategy made from the configuration in force."""
        return self.makers(self.trader.reconfiguration.configured.strategy)()

    def change(self, old: str, new: str, text: str = "") -> m.Event | None:
        """The event that a change of the text makes, taken in. text: instead of the first one."""
        text = text or self.text
        assert old in text
        event = self.live.check(text.replace(old, new).encode())
        if event is not None:
            self.live.send_event(event)
        return event
