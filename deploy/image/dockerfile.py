"""A Dockerfile as data: its stages and their instructions, as far as ours uses the language.

An unknown instruction is refused with its line: a step that was left out would make a check of the
others worthless.

Source: the reference of the Dockerfile's format.
"""

import json
import re
import shlex
from pathlib import Path
from typing import Final, NamedTuple

_FLAGS: Final = {
    "COPY": frozenset({"from"}),
    "RUN": frozenset({"mount"}),
    "HEALTHCHECK": frozenset({"interval", "timeout", "start-period", "retries"}),
}
_PLAIN: Final = frozenset(
    {"FROM", "LABEL", "ENV", "WORKDIR", "USER", "VOLUME", "STOPSIGNAL", "ENTRYPOINT", "CMD"}
)
_VARIABLE: Final = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")


class DockerfileFault(Exception):
    """A line that is not understood; the text names it."""


class Step(NamedTuple):
    """One instruction. flags: of `--name=value`, in order. text: the rest, its lines joined."""

    line: int
    name: str
    flags: tuple[tuple[str, str], ...]
    text: str

    def words(self) -> list[str]:
        """The rest as a list: that of the exec form, else split at white space."""
        if self.text.startswith("["):
            return exec_form(self)
        return shlex.split(self.text)

    def flag(self, name: str) -> str | None:
        """The value of a flag that is given at most once."""
        found = [value for each, value in self.flags if each == name]
        if len(found) > 1:
            raise DockerfileFault(f"line {self.line}: --{name} more than once")
        return found[0] if found else None


class Stage(NamedTuple):
    """One FROM with what follows. base: an image, or the name of a stage above."""

    name: str
    base: str
    steps: tuple[Step, ...]

    def last(self, name: str) -> Step | None:
        """The last instruction of this name, which is the one in force."""
        found = [step for step in self.steps if step.name == name]
        return found[-1] if found else None

    def environment(self, inherited: dict[str, str]) -> dict[str, str]:
        """The variables that its ENVs set, on top of those of what it begins with."""
        found = dict(inherited)
        for step in self.steps:
            if step.name == "ENV":
                for word in shlex.split(step.text):
                    key, equals, value = word.partition("=")
                    if not equals:
                        raise DockerfileFault(f"line {step.line}: ENV wants KEY=VALUE")
                    found[key] = expanded(value, found)
        return found


def read(path: Path) -> tuple[Stage, ...]:
    """The stages of a Dockerfile, in order. Raises DockerfileFault."""
    stages: list[Stage] = []
    for step in _steps(path.read_text(encoding="utf-8")):
        if step.name == "FROM":
            words = step.words()
            if len(words) == 3 and words[1].upper() == "AS":
                stages.append(Stage(words[2], words[0], ()))
            elif len(words) == 1:
                stages.append(Stage(str(len(stages)), words[0], ()))
            else:
                raise DockerfileFault(f"line {step.line}: FROM image, or FROM image AS name")
        elif not stages:
            raise DockerfileFault(f"line {step.line}: {step.name} before any FROM")
        else:
            stages[-1] = stages[-1]._replace(steps=(*stages[-1].steps, step))
    return tuple(stages)


def exec_form(step: Step) -> list[str]:
    """The words of a JSON array. Raises DockerfileFault for the shell form."""
    text = step.text.removeprefix("CMD").strip() if step.name == "HEALTHCHECK" else step.text
    try:
        words = json.loads(text)
    except ValueError:
        words = None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise DockerfileFault(f"line {step.line}: {step.name} in exec form is wanted")
    return words


def expanded(text: str, variables: dict[str, str]) -> str:
    """Text with $NAME and ${NAME} filled in; an unset variable is empty, as in a builder."""
    return _VARIABLE.sub(lambda found: variables.get(found[1] or found[2], ""), text)


def _steps(text: str) -> list[Step]:
    steps: list[Step] = []
    begun, parts = 0, []
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if bare.startswith("#") or not bare:
            continue
        begun = begun or number
        parts.append(bare.removesuffix("\\").strip())
        if not bare.endswith("\\"):
            steps.append(_step(begun, " ".join(part for part in parts if part)))
            begun, parts = 0, []
    if parts:
        raise DockerfileFault(f"line {begun}: the file ends within an instruction")
    return steps


def _step(line: int, text: str) -> Step:
    name, _, rest = text.partition(" ")
    name, rest = name.upper(), rest.strip()
    if name not in _PLAIN and name not in _FLAGS:
        raise DockerfileFault(f"line {line}: {name} is not understood")
    flags: list[tuple[str, str]] = []
    while rest.startswith("--"):
        flag, _, rest = rest.partition(" ")
        key, _, value = flag[2:].partition("=")
        if key not in _FLAGS.get(name, ()):
            raise DockerfileFault(f"line {line}: {name} --{key} is not understood")
        flags.append((key, value))
        rest = rest.strip()
    return Step(line, name, tuple(flags), rest)
