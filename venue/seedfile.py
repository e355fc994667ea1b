"""A YAML file as plain strings with line numbers. Every scalar stays the text that was written
(`no` is "no"); duplicate keys, anchors, aliases and tags are refused."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import yaml

Plain = str | list["Plain"] | dict[str, "Plain"]
Place = tuple[str | int, ...]
"""Where a value is: the keys and list positions on the way to it."""


class SeedFault(Exception):
    """A seed file cannot be used. `str()` is the whole list of faults, one a line."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = tuple(faults)


class SeedText:
    def __init__(self, path: Path, content: Plain, lines: dict[Place, int]) -> None:
        self.path = path
        self.content = content
        self._lines = lines

    def fault(self, place: Place, found: str, accepted: str) -> str:
        known = place
        while known not in self._lines:
            known = known[:-1]
        key = ".".join(str(step) for step in place) or "the file"
        return f"{self.path}:{self._lines[known]}: {key}: {found}; accepted: {accepted}"


_STRING_TAGS: Final = ("tag:yaml.org,2002:str", "tag:yaml.org,2002:seq", "tag:yaml.org,2002:map")


def read_seed_text(path: Path) -> SeedText:
    """Read a YAML file. Raises SeedFault when it cannot be read or is not plain YAML."""
    try:
        raw = path.read_bytes()
        text = raw.decode("utf-8")
    except OSError as fault:
        raise SeedFault([f"{path}:1: cannot be read: {fault.strerror}"]) from None
    except UnicodeDecodeError as fault:
        line = 1 + raw.count(b"\n", 0, fault.start)
        raise SeedFault([f"{path}:{line}: not UTF-8 text"]) from None
    try:
        _refuse_sharing(path, text)
        root = yaml.compose(text, Loader=yaml.BaseLoader)
    except yaml.MarkedYAMLError as fault:
        mark = fault.problem_mark or fault.context_mark
        line = 1 if mark is None else mark.line + 1
        raise SeedFault([f"{path}:{line}: not YAML: {fault.problem}"]) from None
    except (yaml.YAMLError, RecursionError) as fault:
        raise SeedFault([f"{path}:1: not YAML: {fault}"]) from None
    if root is None:
        raise SeedFault([f"{path}:1: the file is empty"])
    faults: list[str] = []
    lines: dict[Place, int] = {}
    content = _plain(root, (), lines, faults, path)
    if faults:
        raise SeedFault(faults)
    return SeedText(path, content, lines)


def _refuse_sharing(path: Path, text: str) -> None:
    faults = []
    for event in _events(path, text):
        line = 1 if event.start_mark is None else event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            faults.append(f"{path}:{line}: *{event.anchor}: aliases are refused; write it out")
        elif isinstance(event, yaml.NodeEvent) and event.anchor is not None:
            faults.append(f"{path}:{line}: &{event.anchor}: anchors are refused; write it out")
    if faults:
        raise SeedFault(faults)


def _events(path: Path, text: str) -> Iterator[yaml.Event]:
    """What the text is made of. A number that the library cannot read ends it as a fault of the
    file."""
    loader = yaml.BaseLoader(text)
    try:
        while loader.check_event():
            yield loader.get_event()  # type: ignore[no-untyped-call]
    except (ValueError, OverflowError):
        line = loader.get_mark().line + 1
        raise SeedFault([f"{path}:{line}: not YAML: a number beyond all there are"]) from None
    finally:
        loader.dispose()


def _plain(
    node: yaml.Node, place: Place, lines: dict[Place, int], faults: list[str], path: Path
) -> Plain:
    line = node.start_mark.line + 1
    lines[place] = line
    if node.tag not in _STRING_TAGS:
        faults.append(f"{path}:{line}: {node.tag}: tags are refused; every value is plain text")
    if isinstance(node, yaml.SequenceNode):
        return [
            _plain(child, (*place, number), lines, faults, path)
            for number, child in enumerate(node.value)
        ]
    if not isinstance(node, yaml.MappingNode):
        return str(node.value)
    fields: dict[str, Plain] = {}
    for key_node, value_node in node.value:
        key_line = key_node.start_mark.line + 1
        if not isinstance(key_node, yaml.ScalarNode):
            faults.append(f"{path}:{key_line}: a key is plain text")
            continue
        key = str(key_node.value)
        if key in fields:
            first = lines[(*place, key)]
            faults.append(f"{path}:{key_line}: {key}: given twice, first on line {first}")
            continue
        fields[key] = _plain(value_node, (*place, key), lines, faults, path)
    return fields
