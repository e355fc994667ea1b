"""Asks an advisory service about every locked package: `python -m deploy.supply.audit`.

pip-audit does the asking; what it lets pass is not let pass here: a package that the service knows
nothing of, as behind an index that answers for files only, counts as not audited and not as well.

Exit codes: 0 nothing is known against any package, 1 something is, 2 a wrong option, 3 it could not
be asked about all of them.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Final, NoReturn

ROOT: Final = Path(__file__).resolve().parent.parent.parent
LOCKS: Final = ("requirements.lock", "deploy/image/postgres.lock", "deploy/image/build.lock")
"""The packages of the image, and those that built it."""

SERVICES: Final = ("pypi", "osv")
_FOUND: Final = 1
_NOT_ASKED: Final = 3


class NotAsked(Exception):
    """The service did not answer for everything; the text says for what."""


def audited(program: list[str], lock: Path, service: str) -> tuple[int, list[str]]:
    """How many packages of a lock were asked about, and a line for everything that is known.

    Raises NotAsked when the service cannot be reached or has no answer for some of them.
    """
    done = subprocess.run(
        [
            *program,
            f"--requirement={lock}",
            "--require-hashes",
            "--disable-pip",
            "--progress-spinner=off",
            "--format=json",
            f"--vulnerability-service={service}",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        rows = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        last = done.stderr.strip().rpartition("\n")[2]
        raise NotAsked(f"{lock.name}: {service} cannot be reached: {last}") from None
    skipped = [row["name"] for row in rows if "skip_reason" in row]
    if skipped or not rows:
        names = ", ".join(skipped[:5]) + (", ..." if len(skipped) > 5 else "")
        share = f"{len(skipped)} of {len(rows)} packages"
        raise NotAsked(f"{lock.name}: {service} has no answer for {share}: {names}")
    return len(rows), [
        f"{lock.name}: {row['name']} {row['version']}: {found['id']}, mended in "
        f"{' or '.join(found['fix_versions']) or 'no release yet'}"
        for row in rows
        for found in row["vulns"]
    ]


def main(arguments: list[str] | None = None) -> NoReturn:
    """Ask about every lock, tell, and end with the exit code."""
    parser = argparse.ArgumentParser(prog="python -m deploy.supply.audit")
    parser.add_argument("--service", choices=SERVICES, default=SERVICES[0])
    options = parser.parse_args(arguments)
    program = [sys.executable, "-m", "pip_audit"]
    code = 0
    for name in LOCKS:
        try:
            count, known = audited(program, ROOT / name, options.service)
        except NotAsked as fault:
            print(f"NOT AUDITED {fault}", file=sys.stderr)
            code = code or _NOT_ASKED
            continue
        for line in known:
            print(f"KNOWN {line}", file=sys.stderr)
            code = _FOUND
        if not known:
            print(f"ok   {name}: nothing is known against any of {count} packages")
    sys.exit(code)


if __name__ == "__main__":
    main()
