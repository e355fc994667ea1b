"""`python -m tests.mutation`: every part, or those named; survivors, with reasons in survivors.md.

Ends with 0 when each module has its share killed and every survivor has its reason in
survivors.md, and with 1 otherwise.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.mutation.mutants import Mutant, Verdict, run
from tests.mutation.parts import KILLED_MIN, PARTS

REASONS = Path(__file__).with_name("survivors.md")


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    options.add_argument("parts", nargs="*", help=f"of: {', '.join(part.name for part in PARTS)}")
    options.add_argument("--jobs", type=int, default=2, help="mutants tried at once")
    options.add_argument("--keep", type=Path, default=None, help="folder that keeps the copies")
    asked = options.parse_args()
    strange = set(asked.parts) - {part.name for part in PARTS}
    if strange:
        options.error(f"no such part: {', '.join(sorted(strange))}")
    reasons = reasons_of(REASONS.read_text(encoding="utf-8"))
    well = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) if asked.keep is None else asked.keep.resolve()
        for part in PARTS:
            if asked.parts and part.name not in asked.parts:
                continue
            for verdict in run(part, folder / part.name, asked.jobs):
                print(report(verdict, reasons), flush=True)
                well = well and is_well(verdict, reasons)
    return 0 if well else 1


Reasons = dict[str, set[tuple[str, str]]]
"""By module: function and change of each survivor that has a reason; or, `EVERYWHERE`, a kind."""

EVERYWHERE = "everywhere"


def reasons_of(page: str) -> Reasons:
    """What the page's tables give a reason for: below a heading that names the module in
    backquotes, the first two columns, each in backquotes, of rows with a third."""
    found: Reasons = {}
    module = ""
    for line in page.splitlines():
        if line.startswith("#"):
            module = line.partition("`")[2].partition("`")[0]
        cells = [cell.strip() for cell in line.replace("\\|", "\0").split("|")[1:-1]]
        if len(cells) == 3 and cells[0].startswith("`") and cells[2]:
            function, change = (cell.strip("`").replace("\0", "|") for cell in cells[:2])
            found.setdefault(module, set()).add((function, change))
    return found


def row_of(function: str, change: str) -> str:
    """A row of the page, its reason yet to be written."""
    escaped = change.replace("|", "\\|")
    return f"| `{function}` | `{escaped}` |  |"


def is_well(verdict: Verdict, reasons: Reasons) -> bool:
    """Whether enough mutants were killed, and each of the others is explained."""
    enough = verdict.killed >= KILLED_MIN * verdict.mutants
    return enough and all(_explained(verdict, each, reasons) for each in verdict.survivors)


def _explained(verdict: Verdict, mutant: Mutant, reasons: Reasons) -> bool:
    """Whether the page gives a reason, for it or for its kind."""
    row = (mutant.function, mutant.change)
    return row in reasons.get(verdict.module, set()) or (
        (EVERYWHERE, mutant.kind) in reasons.get(EVERYWHERE, set())
    )


def report(verdict: Verdict, reasons: Reasons) -> str:
    """One line for a module, and the survivors that have no reason yet."""
    new = [each for each in verdict.survivors if not _explained(verdict, each, reasons)]
    part = verdict.killed / verdict.mutants if verdict.mutants else 1.0
    lines = [
        f"{verdict.module}: {verdict.mutants} mutants, {verdict.killed} killed ({part:.1%}), "
        f"{len(verdict.survivors)} survived, {len(new)} of them without a reason"
    ]
    for each in new:
        lines += [f"  {each.name}", *(f"    {line}" for line in each.diff.splitlines())]
        lines.append(f"    {row_of(each.function, each.change)}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
