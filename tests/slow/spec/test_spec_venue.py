"""Every check of the outside judge holds of a real venue; runs last, for some of it waits."""

import pytest

from venue.conformance.runner import Verdict, judge_one, suite


# One worker: its venue's directory is waited for once.
@pytest.mark.xdist_group("spec")
@pytest.mark.parametrize("each", suite(), ids=lambda each: each.name)
def test_the_venue_keeps_the_statement(bench, each):
    result = judge_one(each, bench)
    if result.verdict is Verdict.SKIPPED:
        pytest.skip(result.reason)
    assert result.verdict is Verdict.PASSED, "\n".join((result.reason, *result.exchanges))
