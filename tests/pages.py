"""Remakes every page that is made from tables of the source: `make pages`.

A page whose maker fails stays as it was, and the command ends with 1.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
MADE = {
    "docs/asyncapi.yaml": ("venue", "asyncapi"),
    "docs/operator-api.md": ("tests.builders.venue.operator_page",),
    "docs/assumptions.md": ("tests.builders.house.assumptions_page",),
    "docs/commands.md": ("tests.builders.house.commands_page",),
    "docs/configuration.md": ("tests.builders.config.configuration_page",),
    "docs/metrics.md": ("tests.builders.deploy.metrics_page",),
    "docs/venue.md": ("tests.builders.spec.venue_page",),
    "configs/schema.json": ("bot", "config", "schema"),
}
"""By page the module, and its arguments, that prints it."""

WRITERS = (
    "tests.builders.bot.order_picture",
    "tests.builders.deploy.boards",
    "tests.builders.sim.simulation_page",
)
"""Modules that write their pages themselves."""


def remake(root: Path = ROOT) -> int:
    """The exit code: 0 if all pages of the project in `root` were made."""
    failed = 0
    for page, module in {**MADE, **{name: (name,) for name in WRITERS}}.items():
        done = subprocess.run(
            [sys.executable, "-m", *module], cwd=root, capture_output=True, text=True, check=False
        )
        if done.returncode:
            failed = 1
            sys.stderr.write(f"{page}: not made\n{done.stderr}")
        elif page in MADE:
            (root / page).write_text(done.stdout, encoding="utf-8")
    return failed


if __name__ == "__main__":
    sys.exit(remake())
