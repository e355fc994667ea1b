"""python -m bench: run every bench of this folder and print its figures with their anchors.

A bench is a module with `run(quick: bool) -> list[tuple[str, str]]`: rows of (figure, text). Its
docstring describes the measurement and its anchor, and is printed above its rows.
"""

import argparse
import importlib
import json
import pkgutil
import platform
import sys
from pathlib import Path

import bench

Rows = list[tuple[str, str]]


def names() -> list[str]:
    return sorted(
        module.name
        for module in pkgutil.iter_modules(bench.__path__)
        if module.name != "__main__" and _has_run(module.name)
    )


def _has_run(name: str) -> bool:
    folder = Path(bench.__path__[0])
    return "\ndef run(" in (folder / f"{name}.py").read_text(encoding="utf-8")


def table(rows: Rows) -> str:
    width = max((len(figure) for figure, _ in rows), default=0)
    return "\n".join(f"  {figure.ljust(width)}  {text}" for figure, text in rows)


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for. Returns 0, or 2 when a named bench does not exist."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds: seconds, not minutes")
    parser.add_argument("--only", metavar="NAME", help="one bench by the name of its file")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    chosen = parser.parse_args(arguments)
    known = names()
    if chosen.only is not None and chosen.only not in known:
        print(f"no bench {chosen.only!r}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    results: dict[str, Rows] = {}
    for name in known if chosen.only is None else [chosen.only]:
        module = importlib.import_module(f"bench.{name}")
        if not chosen.json:
            print(f"\n{name}: {(module.__doc__ or '').strip()}\n", flush=True)
        results[name] = module.run(chosen.quick)
        if not chosen.json:
            print(table(results[name]), flush=True)
    if chosen.json:
        host = f"{platform.python_implementation()} {platform.python_version()}"
        print(json.dumps({"python": host, "quick": chosen.quick, "results": results}))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
