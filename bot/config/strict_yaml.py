"""A YAML file as plain text with line numbers: no type is guessed, nothing is said twice. See
docs/failure-modes.md#row-69."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import yaml

from bot.io.state.atomic_file import FILE_BYTES_MAX

Plain = str | list["Plain"] | dict[str, "Plain"]
Place = tuple[str | int, ...]
"""The keys and list positions that lead to a value."""

DEPTH_MAX: Final = 16
_PLAIN_TAGS: Final = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("str", "seq", "map"))


class Fault(msgspec.Struct, frozen=True, order=True):
    line: int
    text: str


class YamlText(msgspec.Struct, frozen=True):
    """`lines` has the line of every value, and of every key under its place; `raw` the
    very bytes. sets: texts of keys that are set over the file's (`bot.config.overrides`)."""

    path: Path
    content: dict[str, Plain]
    lines: dict[Place, int]
    raw: bytes = b""
    sets: tuple[str, ...] = ()

    def line_of(self, place: Place) -> int:
        """The line of a value, or of the nearest thing around it."""
        while place not in self.lines:
            place = place[:-1]
        return self.lines[place]


class YamlFault(Exception):
    """A file is not such YAML. `lines` has all faults, with file and line."""

    def __init__(self, path: Path, faults: list[Fault]) -> None:
        self.path = path
        self.faults = tuple(sorted(faults))
        self.lines = tuple(f"{path}:{fault.line}: {fault.text}" for fault in self.faults)
        super().__init__("\n".join(self.lines))


def read_yaml(path: Path, raw: bytes | None = None) -> YamlText:
    """The content of a file, a mapping at the top. Raises YamlFault with all faults.

    raw: its bytes where they have been read already.
    """
    if raw is None:
        try:
            with path.open("rb") as file:
                raw = file.read(FILE_BYTES_MAX + 1)
        except IsADirectoryError:
            text = "a folder, where a YAML file is wanted"
            raise YamlFault(path, [Fault(1, text)]) from None
        except OSError as fault:
            raise YamlFault(path, [Fault(1, f"cannot be read: {fault.strerror}")]) from None
    if len(raw) > FILE_BYTES_MAX:
        raise YamlFault(path, [Fault(1, f"longer than {FILE_BYTES_MAX} bytes")])
    try:
        text = raw.decode("utf-8")
        root = _composed(path, text)
    except UnicodeDecodeError as fault:
        line = 1 + raw.count(b"\n", 0, fault.start)
        raise YamlFault(path, [Fault(line, "not UTF-8 text")]) from None
    except yaml.MarkedYAMLError as fault:
        raise YamlFault(path, [_marked(fault)]) from None
    except yaml.reader.ReaderError as fault:
        line = 1 + text.count("\n", 0, fault.position)
        sign = f"the sign U+{fault.character:04X} has no place in it"
        raise YamlFault(path, [Fault(line, f"not YAML: {sign}")]) from None
    except yaml.YAMLError as fault:
        raise YamlFault(path, [Fault(1, f"not YAML: {' '.join(str(fault).split())}")]) from None
    if not isinstance(root, yaml.MappingNode):
        raise YamlFault(path, [Fault(1, "keys and values are wanted at the top")])
    faults: list[Fault] = []
    lines: dict[Place, int] = {}
    content = _mapping(root, (), lines, faults)
    if faults:
        raise YamlFault(path, faults)
    return YamlText(path, content, lines, raw)


def _marked(fault: yaml.MarkedYAMLError) -> Fault:
    """The place of a syntax error. An open quote or bracket shows only later: its beginning is
    named too."""
    began, mark = fault.context_mark, fault.problem_mark or fault.context_mark
    line = 1 if mark is None else mark.line + 1
    text = f"not YAML: {fault.problem}"
    if began is not None and began.line + 1 != line:
        text += f", {fault.context} that begins on line {began.line + 1}"
    return Fault(line, text)


def _composed(path: Path, text: str) -> yaml.Node | None:
    """The one document's node; sharing is refused before it is resolved, so that
    nothing can grow."""
    faults = []
    depth = 0
    for event in _events(path, text):
        line = 1 if event.start_mark is None else event.start_mark.line + 1
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > DEPTH_MAX:
            # At once: what the library does with nesting grows with its square.
            raise YamlFault(path, [Fault(line, f"nested deeper than {DEPTH_MAX}")])
        if isinstance(event, yaml.AliasEvent):
            faults.append(Fault(line, f"alias *{event.anchor} is refused; write the value out"))
        elif isinstance(event, yaml.NodeEvent) and event.anchor is not None:
            faults.append(Fault(line, f"anchor &{event.anchor} is refused; write the value out"))
    if faults:
        raise YamlFault(path, faults)
    return yaml.compose(text, Loader=yaml.BaseLoader)


def _events(path: Path, text: str) -> Iterator[yaml.Event]:
    """What the library takes for a number may be none: that is a fault too."""
    loader = yaml.BaseLoader(text)
    try:
        while loader.check_event():
            yield loader.get_event()  # type: ignore[no-untyped-call]
    except (ValueError, OverflowError):
        line = loader.get_mark().line + 1
        raise YamlFault(path, [Fault(line, "not YAML: a number beyond all there are")]) from None
    finally:
        loader.dispose()


def _plain(node: yaml.Node, place: Place, lines: dict[Place, int], faults: list[Fault]) -> Plain:
    lines[place] = node.start_mark.line + 1
    if node.tag not in _PLAIN_TAGS:
        faults.append(Fault(lines[place], f"tag {node.tag} is refused; every value is plain text"))
    if isinstance(node, yaml.SequenceNode):
        return [
            _plain(child, (*place, number), lines, faults)
            for number, child in enumerate(node.value)
        ]
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, place, lines, faults)
    return _text(node, faults)


def _text(node: yaml.Node, faults: list[Fault]) -> str:
    """A value or a key. A character that YAML refuses is refused escaped too."""
    text = str(node.value)
    refused = yaml.reader.Reader.NON_PRINTABLE.search(text)
    if refused is not None:
        sign = f"the sign U+{ord(refused[0]):04X} has no place in it"
        faults.append(Fault(node.start_mark.line + 1, f"not YAML: {sign}"))
    return text


def _mapping(
    node: yaml.MappingNode, place: Place, lines: dict[Place, int], faults: list[Fault]
) -> dict[str, Plain]:
    lines.setdefault(place, node.start_mark.line + 1)
    fields: dict[str, Plain] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, yaml.ScalarNode):
            faults.append(Fault(line, "a key is plain text"))
            continue
        key = _text(key_node, faults)
        if key == "<<":
            faults.append(Fault(line, "merge key << is refused; write the values out"))
        elif key in fields:
            first = lines[(*place, key)]
            faults.append(Fault(line, f"{key}: is there twice, first on line {first}"))
        else:
            fields[key] = _plain(value_node, (*place, key), lines, faults)
            # The key's own line: a value that is a block begins on the next one.
            lines[(*place, key)] = line
    return fields
