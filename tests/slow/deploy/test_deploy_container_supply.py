"""Claims about the audit: silence of the advisory service is never taken for a clean bill."""

import json
import sys
from pathlib import Path

import pytest

from deploy.supply import audit

LOCK = Path("requirements.lock")
WELL = {"name": "one", "version": "1", "vulns": []}
KNOWN = {
    "name": "two",
    "version": "2",
    "vulns": [{"id": "PYSEC-1", "fix_versions": ["3"], "aliases": [], "description": ""}],
}
SKIPPED = {"name": "three", "skip_reason": "not found"}


def answering(tmp_path, rows=None, said="", code=0) -> list[str]:
    script = tmp_path / "pip_audit.py"
    out = "" if rows is None else json.dumps({"dependencies": rows, "fixes": []})
    script.write_text(
        f"import sys\nsys.stdout.write({out!r})\nsys.stderr.write({said!r})\nsys.exit({code})\n"
    )
    return [sys.executable, str(script)]


def test_packages_without_an_advisory_are_counted(tmp_path):
    assert audit.audited(answering(tmp_path, [WELL, WELL]), LOCK, "pypi") == (2, [])


def test_an_advisory_is_reported_with_the_release_that_fixes_it(tmp_path):
    _, known = audit.audited(answering(tmp_path, [WELL, KNOWN], code=1), LOCK, "pypi")
    assert known == ["requirements.lock: two 2: PYSEC-1, mended in 3"]


@pytest.mark.parametrize(
    ("rows", "said"), [([WELL, SKIPPED], "no answer for 1 of 2 packages: three"), ([], None)]
)
def test_an_incomplete_or_empty_response_is_no_audit(tmp_path, rows, said):
    with pytest.raises(audit.NotAsked, match=said):
        audit.audited(answering(tmp_path, rows), LOCK, "pypi")


def test_an_unreachable_advisory_service_is_reported(tmp_path):
    program = answering(tmp_path, said="trace\nConnectionError: no route\n", code=1)
    with pytest.raises(audit.NotAsked, match="osv cannot be reached: ConnectionError: no route"):
        audit.audited(program, LOCK, "osv")


def test_the_audited_locks_have_hashes():
    for name in audit.LOCKS:
        assert "--hash=sha256:" in (audit.ROOT / name).read_text()


def test_no_lock_names_an_index():
    for path in (*audit.ROOT.glob("*.lock"), *audit.ROOT.glob("deploy/*/*.lock")):
        assert "index-url" not in path.read_text()
