"""What is mutated and by which tests it is judged: one part for each name of the claim."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """Modules, and the fast tests that must notice a change in them, the cheapest first; globs."""

    name: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]


KILLED_MIN = 0.90
"""The part of the mutants of each module that must be killed."""

PARTS = (
    Part("money", ("venue/wire/money.py",), ("tests/fast/wire/test_wire_money.py",)),
    Part("errors", ("venue/wire/errors.py",), ("tests/fast/wire/test_wire_errors.py",)),
    Part(
        "risk",
        (
            "bot/core/risk/exposure.py",
            "bot/core/risk/limits.py",
            "bot/core/risk/trim.py",
        ),
        (
            "tests/fast/bot/test_bot_exposure.py",
            "tests/fast/bot/test_bot_trim.py",
            "tests/fast/bot/test_bot_risk_brute.py",
        ),
    ),
    Part(
        "portfolio",
        ("bot/core/account/portfolio.py",),
        (
            "tests/fast/bot/test_bot_account_truth.py",
            "tests/fast/bot/test_bot_portfolio.py",
            "tests/fast/bot/test_bot_settlement.py",
        ),
    ),
    Part(
        "order",
        (
            "bot/core/orders/transitions.py",
            "bot/core/orders/snapshot.py",
        ),
        (
            "tests/fast/bot/test_bot_order.py",
            "tests/fast/bot/test_bot_order_[!m]*.py",
            "tests/fast/bot/test_bot_order_machine.py",
        ),
    ),
    Part(
        "reconcile",
        (
            "bot/core/planning/diff.py",
            "bot/core/planning/actions.py",
        ),
        (
            "tests/fast/bot/test_bot_plan.py",
            "tests/fast/bot/test_bot_plan_routes.py",
            "tests/fast/bot/test_bot_plan_assignment.py",
        ),
    ),
    Part(
        "spend",
        ("bot/core/orders/request_budget.py",),
        ("tests/fast/bot/test_bot_request_budget.py",),
    ),
)
