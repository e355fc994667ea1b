"""The addresses of a venue process that is judged."""

from pathlib import Path

from venue.conformance.runner import Verdict, judge_one, suite


class Site:
    """Where a venue and its operator's side answer, and the file with the operator's token."""

    def __init__(self, ready: dict[str, str], control: str, token_file: Path) -> None:
        self.base_url = ready["base_url"]
        self.stream_url = ready["stream_url"]
        self.control = control
        self.token_file = token_file


def check_named(name):
    """The judge's check of this name."""
    (check,) = [each for each in suite() if each.name == name]
    return check


def judged(bench, name):
    """What the judge finds by the check of this name."""
    return judge_one(check_named(name), bench)


def assert_failed(bench, name, *words):
    """The check of this name fails, and its reason has these words."""
    result = judged(bench, name)
    assert result.verdict is Verdict.FAILED, result
    assert all(each in result.reason for each in words), result


def assert_passed(bench, name):
    """The check of this name passes."""
    result = judged(bench, name)
    assert result.verdict is Verdict.PASSED, result
