"""Restrictions of an operator."""

from bot.core.trading_state import Restriction, Source, TradingState


def by_operator(
    state: TradingState,
    why: str = "asked for",
    since_ns: int | None = None,
    *,
    of_account: bool = False,
) -> Restriction:
    return Restriction(
        source=Source.OPERATOR,
        state=state,
        why=why,
        ends="`bot resume`",
        since_ns=since_ns,
        of_account=of_account,
    )
