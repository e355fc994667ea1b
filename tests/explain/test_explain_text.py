"""Claims about the words in which a change that was planned is told."""

import pytest

from bot.commands.explain_text import _choice
from bot.lab.explain.explained import Choice


@pytest.mark.parametrize(
    ("kind", "keeps_place", "told"),
    [
        ("cancel", None, "worth 8.000 cents, its place worth 1.250; nothing else"),
        ("amend", False, "worth 8.000 cents, its place is lost (worth 1.250); nothing else"),
        ("amend", True, "worth 8.000 cents, its place is kept (worth 1.250); nothing else"),
    ],
)
def test_what_the_place_was_worth_is_said_of_the_place(
    kind: str, keeps_place: bool | None, told: str
) -> None:
    assert told in _choice(Choice(kind, "no longer wanted", 8.0, keeps_place, 1.25, ()))
