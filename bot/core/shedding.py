"""What rests beyond limits that were lowered under it: cancelled at once, the newest first.

An amend to a smaller size may come after fills and then adds to them, so what is beyond a limit
cannot be amended back below it; and a size that is a little too large is no reason for a request
otherwise, while a limit is one in any case.

Source: design, law 8; docs/configuration.md; reliability, B3.
"""

from bot.core.desk import Desk
from bot.core.quoting import Quoting

_WHY = "beyond a limit that was lowered"


def pull_beyond(quoting: Quoting, desk: Desk) -> int:
    """Doom what the limits in force would not admit beside all that is older. How many orders.

    What only shrinks what is held is admitted by every limit, so it stays. Events are looked at one
    by one, each beside all that the others have live.
    """
    pulled = 0
    for ladder in quoting.ladders:
        bounds = quoting.bounds(ladder)
        left = quoting.exposure(ladder).bare()
        ours = {rung.market_id for rung in ladder.rungs}
        for own in desk.all_live():
            if own.market_id not in ours:
                continue
            live = own.exposure()
            if left.largest(live, bounds) >= live.qty_max:
                left.add(live)
            elif not own.doomed:
                own.doomed, own.why = True, _WHY
                quoting.orders_changed(own.market_id)
                pulled += 1
    return pulled
