"""Draws the page docs/order-life.md from the transition table; run it to write the page anew."""

from pathlib import Path

from bot.core.order import LIFE, Fact, State

PAGE = Path(__file__).resolve().parents[2] / "docs" / "order-life.md"

_HEAD = """# The life of an own order

Drawn from the table `LIFE` of `bot/core/order.py` by `python -m tests.bot.order_picture`; a test
keeps the two equal. A state without an arrow for a fact cannot meet that fact while the venue keeps
its word. Facts that leave a state as it is are listed below the picture.

"""

_MEANING = {
    Fact.RESEND: "the same bytes were sent again",
    Fact.AMEND: "an amend left",
    Fact.CANCEL: "a cancel left",
    Fact.RESTS: "a 2xx to our write shows it resting",
    Fact.ENDED: "a 2xx to our write shows it over",
    Fact.NEVER: "our write never reached the engine",
    Fact.REFUSED: "our write was decided against",
    Fact.OVER: "order_not_cancelable: it is over, how is not shown",
    Fact.NO_ANSWER: "our write may have been carried out",
    Fact.READ_RESTS: "a read begun late enough shows it resting",
    Fact.READ_ENDED: "a read shows it over",
    Fact.READ_NEVER: "its re-sends are refused, and a late enough list shows no such order",
}


def page() -> str:
    """The page as the table has it now."""
    arrows: dict[tuple[State, State], list[str]] = {}
    stays: dict[State, list[str]] = {}
    for state, row in LIFE.items():
        for fact, after in row.items():
            if after is state:
                stays.setdefault(state, []).append(fact)
            elif after is not None:
                arrows.setdefault((state, after), []).append(fact)
    lines = ["```mermaid", "stateDiagram-v2", "    [*] --> sent: create"]
    lines += ["    [*] --> lost: left by an earlier run", "    [*] --> open: found resting"]
    lines += [f"    {a} --> {b}: {', '.join(facts)}" for (a, b), facts in arrows.items()]
    lines += [
        "    cancelling --> closing: ended, and shares unaccounted for",
        "    cancelling --> blurred: no_answer, never or refused while an amend is undecided",
        "    done --> [*]",
        "```",
        "",
        "| state | stays as it is on |",
        "|---|---|",
    ]
    lines += [f"| {state} | {', '.join(facts)} |" for state, facts in stays.items()]
    lines += ["", "| fact | meaning |", "|---|---|"]
    lines += [f"| {fact} | {meaning} |" for fact, meaning in _MEANING.items()]
    return _HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
