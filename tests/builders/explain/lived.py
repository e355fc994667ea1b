"""A run on the thin venue in virtual time with its journal, and another that goes on from it."""

from pathlib import Path

from bot.config.bot_config import finish, read_draft
from bot.core import messages as m
from bot.core.trader import Trader
from bot.io.journal.journal import remember, segments
from bot.io.journal.records import OPENING, Entry, Head, framed
from bot.io.journal.recovery import RunningState
from tests.builders.bot.thin import Thin
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.names import OrderId

CONFIG = """\
series: ACME-VAL
venue:
  embedded: venue.yaml
strategy:
  name: fixed_spread
risk:
  event_loss_cents: 100000
  series_loss_cents: 200000
  rung_position_qty: 300
  order_qty: 100
start:
  unknown_orders: adopt
status:
  port: 0
"""
FIRST = "a" * 20
SECOND = "b" * 20


def config(folder: Path, text: str = CONFIG) -> Path:
    path = folder / "thin.yaml"
    path.write_text(text)
    return path


class Lived(Thin):
    """A thin venue whose trader keeps a journal."""

    def __init__(self, path: Path, nonce: str = FIRST) -> None:
        whole = finish(read_draft(path))
        super().__init__([70, 50, 30], whole.make_strategy)
        self.trader = Trader(whole.trader, whole.make_strategy)
        self.nonce, self.configured = nonce, whole.configured
        self.entries: list[Entry] = []
        receive = self.trader.receive

        def kept(event: m.Event, now_ns: int) -> list[m.Effect]:
            effects = receive(event, now_ns)
            self.entries.append(Entry(now_ns, event))
            self.entries.extend(Entry(now_ns, effect) for effect in effects)
            return effects

        self.trader.receive = kept

    def begin(self, state: Path | None = None) -> None:
        """Start; with a state directory as one that knows what its journal says."""
        if state is None:
            self.give(m.Started(self.nonce, (), new_account=True, configured=self.configured))
        else:
            memory = remember(segments(state))
            self.give(
                m.Started(
                    self.nonce,
                    memory.open_intents,
                    working=memory.working,
                    configured=self.configured,
                )
            )
        self.give(m.FeedOpened())
        self.show_all()
        self.live(8)

    def live(self, seconds: float) -> None:
        """Let time pass; the channel shows every book once a second."""
        self.run(seconds, self.show_all, NS_PER_SECOND)

    def show_all(self) -> None:
        for index in range(len(self.mids)):
            self.show(index, self.now_ns)

    def written(self, folder: Path, number: int = 1, *, from_entry: int = 0) -> Path:
        """Its journal as a segment of a state directory. from_entry: what came before is no longer
        kept, but for what the head of a segment says of it."""
        folder.mkdir(exist_ok=True)
        trail = RunningState(Head(0, ()))
        for entry in self.entries[:from_entry]:
            trail.follow(entry)
        head = trail.head(self.now_ns) if from_entry else Head(0, ())
        frames = [framed(entry) for entry in self.entries[from_entry:]]
        content = OPENING + framed(head) + b"".join(frames)
        (folder / f"journal-{number:08d}.log").write_bytes(content)
        return folder

    @property
    def newest(self) -> tuple[OrderId, model.Order]:
        return max(self.orders.items(), key=lambda row: int(row[0]))
