"""The claim that every answer of the venue is one that its own description gives."""

from tests.fuzz.rest import fuzz
from tests.fuzz.site import served

EXAMPLES = 12
SEQUENCES = 60
WITHIN_S = 300


def test_every_generated_request_is_answered_as_described(tmp_path):
    with served(tmp_path) as (site, process):
        found = fuzz(
            site,
            tmp_path,
            examples=EXAMPLES,
            sequences=SEQUENCES,
            seed=1,
            deterministic=True,
            within_s=WITHIN_S,
        )
        assert found.returncode == 0, f"{found.stdout}\n{found.stderr}"
        assert process.poll() is None
    assert "internal_error" not in (tmp_path / "venue.log").read_text(encoding="utf-8")
