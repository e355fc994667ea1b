"""Claims about the error table: every published code, its status, and what it says of a write."""

from pathlib import Path

import pytest

from venue.wire.errors import CODES, PRECEDENCE, Advice, Code, Culprit, Row, Sequenced, row_for

TABLE = Path(__file__).parents[3] / "venue/conformance/codes.txt"
ROWS = [
    tuple(line.split()[:3])
    for line in TABLE.read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


def test_the_closed_set_is_the_published_one_in_its_order():
    ours, published = [code.value for code in Code], [code for _, code, _ in ROWS]
    missing = sorted({*ours} ^ {*published})
    assert not missing, f"{missing}: one row in venue/wire/errors.py, one in {TABLE.name}"
    assert ours == published


@pytest.mark.parametrize(("status", "code", "sequenced"), ROWS)
def test_a_code_has_its_published_status_and_says_whether_a_write_was_sequenced(
    status, code, sequenced
):
    row = CODES[Code(code)]
    assert (row.status, row.sequenced) == (int(status), Sequenced(sequenced))


def test_every_code_has_a_row():
    assert set(CODES) == set(Code), "a code has its row in CODES, beside its name in Code"


def test_precedence_is_the_order_of_the_table():
    assert sorted(Code, key=PRECEDENCE.__getitem__) == list(Code)


@pytest.mark.parametrize("code", [c for c in Code if CODES[c].sequenced is Sequenced.NEVER])
def test_what_never_reached_the_engine_may_go_again_after_a_wait(code):
    assert CODES[code].advice is Advice.WAIT


@pytest.mark.parametrize("code", [c for c in Code if CODES[c].sequenced is Sequenced.UNKNOWN])
def test_what_may_have_been_carried_out_is_read_back(code):
    assert CODES[code].advice is Advice.READ_BACK


@pytest.mark.parametrize("code", Code)
def test_a_code_puts_the_fault_where_its_status_says(code):
    by_status = {
        400: Culprit.CALLER,
        401: Culprit.CREDENTIAL,
        403: Culprit.CREDENTIAL,
        404: Culprit.STATE,
        409: Culprit.STATE,
        422: Culprit.STATE,
        429: Culprit.PACE,
        500: Culprit.SERVICE,
        503: Culprit.SERVICE,
    }
    exceptions = {Code.INVALID_REQUEST: Culprit.CALLER, Code.ENGINE_OVERLOADED: Culprit.SERVICE}
    row = CODES[code]
    assert row.culprit is exceptions.get(code, by_status[row.status])


@pytest.mark.parametrize(
    ("advice", "codes"),
    [
        (Advice.STOP_KEY, "unauthenticated forbidden_scope api_key_misconfigured"),
        (Advice.STOP_KEY, "conflicting_credentials"),
        (Advice.FRESH_WALK, "invalid_cursor"),
        (Advice.PARK_MARKET, "market_not_found market_halted market_resolved"),
        (Advice.PARK_VENUE, "venue_halted venue_cancel_only"),
        (Advice.LOOK_AGAIN, "order_not_found"),
        (Advice.REREAD_FUNDS, "insufficient_balance insufficient_shares"),
        (Advice.EXISTS, "duplicate_order_id"),
        (Advice.ENDED, "order_not_cancelable"),
        (Advice.GIVE_UP, "budget_not_fillable no_executable_liquidity"),
        (Advice.FIX, "invalid_price invalid_qty invalid_request invalid_request_body"),
    ],
)
def test_a_code_that_was_decided_against_names_the_next_step(advice, codes):
    assert {CODES[Code(code)].advice for code in codes.split()} == {advice}


@pytest.mark.parametrize("code", Code)
def test_a_known_code_answers_by_its_own_row_whatever_its_status(code):
    assert row_for(599, code.value) == CODES[code]


@pytest.mark.parametrize(
    ("status", "sequenced", "advice"),
    [
        (100, Sequenced.UNKNOWN, Advice.READ_BACK),
        (301, Sequenced.UNKNOWN, Advice.READ_BACK),
        (308, Sequenced.UNKNOWN, Advice.READ_BACK),
        (400, Sequenced.DECIDED, Advice.FIX),
        (401, Sequenced.DECIDED, Advice.STOP_KEY),
        (403, Sequenced.DECIDED, Advice.STOP_KEY),
        (404, Sequenced.DECIDED, Advice.FIX),
        (418, Sequenced.DECIDED, Advice.FIX),
        (422, Sequenced.DECIDED, Advice.FIX),
        (429, Sequenced.NEVER, Advice.WAIT),
        (500, Sequenced.UNKNOWN, Advice.READ_BACK),
        (499, Sequenced.DECIDED, Advice.FIX),
        (502, Sequenced.UNKNOWN, Advice.READ_BACK),
        (504, Sequenced.UNKNOWN, Advice.READ_BACK),
    ],
)
@pytest.mark.parametrize("code", ["", "a_code_of_tomorrow", "RATE_LIMITED"])
def test_an_unrecognised_code_is_a_generic_failure_of_its_status_class(
    status, sequenced, advice, code
):
    culprits = {
        Advice.READ_BACK: Culprit.SERVICE,
        Advice.FIX: Culprit.CALLER,
        Advice.STOP_KEY: Culprit.CREDENTIAL,
        Advice.WAIT: Culprit.PACE,
    }
    assert row_for(status, code) == Row(status, culprits[advice], sequenced, advice)
