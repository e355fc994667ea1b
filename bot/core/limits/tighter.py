"""Of two sets of limits the tighter one, limit by limit: what a rollback holds to.

A limit that an operator tightened is never loosened by anybody but an operator.
"""

import msgspec

from bot.core.limits.breaker import limits_of
from bot.core.limits.inforce import limits_in_force
from bot.core.settings import BreakerSettings, RiskSettings, TraderSettings


def no_looser(wanted: TraderSettings, than: TraderSettings) -> TraderSettings:
    """`wanted` with no limit of loss, size or rate above that of `than`; the very `wanted` where
    none is.

    A limit of 0 counts as what it stands for.
    """
    risk = _tighter_risk(limits_in_force(wanted.risk), limits_in_force(than.risk))
    breakers = _tighter_breakers(
        limits_of(wanted.breakers, wanted.risk), limits_of(than.breakers, than.risk)
    )
    if risk == limits_in_force(wanted.risk):
        risk = wanted.risk
    if breakers == limits_of(wanted.breakers, wanted.risk):
        breakers = wanted.breakers
    if risk is wanted.risk and breakers is wanted.breakers:
        return wanted
    if risk == limits_in_force(than.risk):
        risk = than.risk
    if breakers == limits_of(than.breakers, than.risk):
        breakers = than.breakers
    return msgspec.structs.replace(wanted, risk=risk, breakers=breakers)


def _tighter_risk(one: RiskSettings, other: RiskSettings) -> RiskSettings:
    least = {name: min(getattr(one, name), getattr(other, name)) for name in _names(one)}
    # Of the account alone 0 is no limit, and so the loosest of all.
    of_account = [each for each in (one.account_loss_cents, other.account_loss_cents) if each]
    least["account_loss_cents"] = min(of_account, default=0)
    return msgspec.structs.replace(one, **least)


def _tighter_breakers(one: BreakerSettings, other: BreakerSettings) -> BreakerSettings:
    least = {name: min(getattr(one, name), getattr(other, name)) for name in _names(one)}
    return msgspec.structs.replace(one, **least)


def _names(settings: msgspec.Struct) -> tuple[str, ...]:
    return settings.__struct_fields__
