"""One part under the mutation tool: its working copy, its run, and what became of each mutant."""

import json
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.mutation.parts import Part

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("bot", "laddermaker", "venue", "strategies", "configs", "docs", "tests", "pyproject.toml")
PLUGIN = "tests.mutation.few"
KILLED = frozenset({1, 3})
"""Exit codes of pytest that mean that a test noticed."""

SURVIVED = 0
UNCALLED = 33
"""No test calls the function."""

NO_MUTANT = ""

SECOND_LOOK_CPU_S = 30
"""Processor time after which a second look counts as endless; no part's tests take the half."""

_TEXT = re.compile(r"""(?:\bf)?"[^"]*"|'[^']*'""")
_STRICT = re.compile(r",strict=\w+")
KINDS = {
    "text": lambda code: _TEXT.sub("", code),
    "strict": lambda code: _STRICT.sub("", "".join(code.split())).replace(",)", ")"),
}
"""Kinds of change by what is left of the code without them: the wording of a text, and whether
`zip` checks that its arguments are of one length."""


@dataclass(frozen=True)
class Mutant:
    """A mutant that no test noticed.

    change: the lines that it has instead of the original's, as one. diff: both, to be read.
    kind: what alone differs, one of `KINDS`, else empty.
    """

    name: str
    function: str
    change: str
    diff: str
    kind: str = ""


@dataclass(frozen=True)
class Verdict:
    """What became of the mutants of one module."""

    module: str
    mutants: int
    survivors: tuple[Mutant, ...]

    @property
    def killed(self) -> int:
        """Mutants that a test noticed, by failing or by never ending."""
        return self.mutants - len(self.survivors)


def selection_of(part: Part) -> list[str]:
    found = {path for glob in part.tests for path in ROOT.glob(glob)}
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


def prepare(part: Part, folder: Path) -> None:
    """A copy of the project in `folder`, with the tool's settings for this part."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    leave = shutil.ignore_patterns("__pycache__", "*.pyc")
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=leave)
        else:
            shutil.copy2(ROOT / name, folder / name)
    rows = {
        "source_paths": ["bot", "venue", "strategies"],
        "only_mutate": list(part.modules),
        "also_copy": ["configs", "docs"],
        "pytest_add_cli_args": ["-p", PLUGIN],
        "pytest_add_cli_args_test_selection": selection_of(part),
        "use_git_change_detection": False,
        "timeout_multiplier": 4.0,  # an endless loop is common here; the second look has longer
    }
    settings = "\n".join(f"{name} = {json.dumps(value)}" for name, value in rows.items())
    with (folder / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write(f"\n[tool.mutmut]\n{settings}\n")


def run(part: Part, folder: Path, jobs: int) -> list[Verdict]:
    """Try every mutant of a part, some of them twice.

    The tool tries a mutant in a process that has imported the module already, with the tests seen
    to call the function. Where that says nothing, it is tried again in a process of its own with
    all tests of the part: a function that runs at import, and a first try that was not to its end
    within the time. Raises RuntimeError when the tests fail by themselves.
    """
    prepare(part, folder)
    done = subprocess.run(
        [*_tool(), "run", "--max-children", str(jobs)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    (folder / "run.log").write_text(done.stdout, encoding="utf-8")
    if done.returncode != 0:
        raise RuntimeError(f"{part.name}: {done.stdout[-2_000:]}")
    return [_verdict(part, folder, module) for module in part.modules]


def _tool() -> list[str]:
    return [str(Path(sys.executable).parent / "mutmut")]


def _verdict(part: Part, folder: Path, module: str) -> Verdict:
    codes = exit_codes(folder / "mutants" / f"{module}.meta")
    early = _at_import(folder, module)
    left = {name: code for name, code in codes.items() if code not in KILLED}
    again = {
        name
        for name, code in left.items()
        if code not in (SURVIVED, UNCALLED) or name.partition("__mutmut_")[0] in early
    }
    if again and _second_look(part, folder, NO_MUTANT):
        raise RuntimeError(f"{part.name}: the tests fail by themselves in a process of their own")
    noticed = {name for name in again if _second_look(part, folder, name)}
    survivors = [_shown(folder, name) for name in left if name not in noticed]
    return Verdict(module, len(codes), tuple(survivors))


def _at_import(folder: Path, module: str) -> set[str]:
    """The functions that run when a module is imported, by the tool's names."""
    script = (
        "import importlib, sys; from mutmut.state import state; "
        "importlib.import_module(sys.argv[1]); print(*state()._stats, sep=chr(10))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, module.removesuffix(".py").replace("/", ".")],
        cwd=folder / "mutants",
        env={**os.environ, "MUTANT_UNDER_TEST": "stats"},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def exit_codes(meta: Path) -> dict[str, int | None]:
    """What the tool noted of each mutant of a module, by its name; empty without any."""
    if not meta.exists():
        return {}
    return dict(json.loads(meta.read_text(encoding="utf-8"))["exit_code_by_key"])


def _second_look(part: Part, folder: Path, name: str) -> bool:
    """Whether a test of the part notices the mutant in a process of its own."""
    arguments = ["--rootdir=.", "-x", "-p", PLUGIN, *selection_of(part)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=folder / "mutants",
        env={
            **os.environ,
            "MUTANT_UNDER_TEST": name,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # none is needed, and they load slowly
        },
        capture_output=True,
        preexec_fn=_limit,
        check=False,
    )
    return done.returncode != 0


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECOND_LOOK_CPU_S, SECOND_LOOK_CPU_S))


def _shown(folder: Path, name: str) -> Mutant:
    done = subprocess.run(
        [*_tool(), "show", name], cwd=folder, capture_output=True, text=True, check=True
    )
    lines = list(_changed(done.stdout))
    before, change = (
        " ".join(line[1:].strip() for line in lines if line.startswith(sign)) for sign in "-+"
    )
    function = name.rpartition(".")[2].partition("__mutmut_")[0]
    kind = kind_of(before, change)
    return Mutant(name, function_name(function), change, "\n".join(lines), kind)


def kind_of(before: str, after: str) -> str:
    """The kind of change that alone tells two pieces of code apart; empty when there is more."""
    return next((kind for kind, rest in KINDS.items() if rest(before) == rest(after)), "")


def _changed(diff: str) -> Iterator[str]:
    """The lines of a diff that were taken out or put in."""
    for line in diff.splitlines():
        if line.startswith(("-", "+")) and not line.startswith(("---", "+++")):
            yield line


def function_name(mangled: str) -> str:
    """A function as a reader knows it: `Trim.cut` for `xǁTrimǁcut`, `cut` for `x_cut`."""
    if mangled.startswith("xǁ"):
        return ".".join(mangled[2:].split("ǁ"))
    return mangled.removeprefix("x_")
