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


def test_packages_against_which_nothing_is_known_are_counted(tmp_path):
    assert audit.audited(answering(tmp_path, [WELL, WELL]), LOCK, "pypi") == (2, [])


def test_an_advisory_is_told_with_the_release_that_mends_it(tmp_path):
    _, known = audit.audited(answering(tmp_path, [WELL, KNOWN], code=1), LOCK, "pypi")
    assert known == ["requirements.lock: two 2: PYSEC-1, mended in 3"]


def test_a_package_without_an_answer_is_not_audited(tmp_path):
    with pytest.raises(audit.NotAsked, match="no answer for 1 of 2 packages: three"):
        audit.audited(answering(tmp_path, [WELL, SKIPPED]), LOCK, "pypi")


def test_an_empty_answer_is_not_audited(tmp_path):
    with pytest.raises(audit.NotAsked):
        audit.audited(answering(tmp_path, []), LOCK, "pypi")


def test_a_service_that_cannot_be_reached_is_said_to_be_so(tmp_path):
    program = answering(tmp_path, said="trace\nConnectionError: no route\n", code=1)
    with pytest.raises(audit.NotAsked, match="osv cannot be reached: ConnectionError: no route"):
        audit.audited(program, LOCK, "osv")


def test_what_is_audited_is_what_is_shipped_and_what_builds_it():
    for name in audit.LOCKS:
        assert "--hash=sha256:" in (audit.ROOT / name).read_text()


def test_no_lock_names_an_index():
    for path in (*audit.ROOT.glob("*.lock"), *audit.ROOT.glob("deploy/*/*.lock")):
        assert "index-url" not in path.read_text()
