"""Raw keys: where they come from and the one file they go to. Everything else sees fingerprints."""

import contextlib
import errno
import itertools
import json
import os
import re
import secrets
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

from venue import rawkeys
from venue.rawkeys import Fingerprint
from venue.seed import KeySeed, Seed, TokenSeed
from venue.seedfile import SeedFault
from venue.storage.folder import make_directory, sync_directory

_RAW: Final = re.compile(r"[\x21-\x7e]{16,256}", re.ASCII)


class Credentials:
    """The raw keys and tokens of a seed, by name. Shows names only."""

    def __init__(self, seed: Seed) -> None:
        """Read or make every raw key. Raises SeedFault naming each that cannot be read."""
        self._raw: dict[str, str] = {}
        self._generated: list[str] = []
        faults: list[str] = []
        taken: set[str] = set()
        for entry in _entries(seed):
            raw, fault = _raw_key(entry)
            if fault is not None:
                faults.append(f"key {entry.name}: {fault}")
            elif raw in taken:
                faults.append(f"key {entry.name}: the same raw key as another one")
            else:
                self._raw[entry.name] = raw
                taken.add(raw)
                if entry.generate:
                    self._generated.append(entry.name)
        if faults:
            raise SeedFault(faults)

    def __repr__(self) -> str:
        return f"Credentials({', '.join(self._raw)})"

    def fingerprints(self) -> dict[str, Fingerprint]:
        return {name: rawkeys.fingerprint(raw) for name, raw in self._raw.items()}

    def write_generated(self, path: Path, once: bool) -> Path | None:
        """Write the generated ones as JSON, name to raw key, whole or not at all, for the owner
        alone. once: the keys of a state are made at its first start only, so their file (0400) is
        written durably; one that is in the way is put aside, and its new place returned. Raises
        SeedFault."""
        generated = {name: self._raw[name] for name in self._generated}
        if not path.name:
            wanted = "a file is wanted, like state/venue-keys.json"
            raise SeedFault([f"{path}: keys cannot be written: {wanted}"])
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        try:
            make_directory(path.parent)
            if path.exists() and not (path.is_file() or path.is_dir()):
                # Put in the place of a device, as root, it would be none any more for anybody.
                raise OSError(errno.EINVAL, "not a file")
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            mode = stat.S_IRUSR if once else stat.S_IRUSR | stat.S_IWUSR
            with os.fdopen(os.open(temporary, flags, mode), "w", encoding="utf-8") as file:
                json.dump(generated, file, indent=1)
                file.write("\n")
                file.flush()
                os.fsync(file.fileno())
            kept = _put_aside(path)
            temporary.replace(path)
            if once:
                sync_directory(path.parent)
            return kept
        except OSError as fault:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise SeedFault([f"{path}: keys cannot be written: {fault.strerror}"]) from None


def _put_aside(path: Path) -> Path | None:
    """Where a file of keys that are made once is from now on; None when there is none here."""
    if not path.is_file() or path.stat().st_mode & stat.S_IWUSR:
        return None
    names = (path.with_name(f"{path.name}.{number}") for number in itertools.count(1))
    kept = next(name for name in names if not name.exists())
    path.rename(kept)
    return kept


def keys_place(path: Path, is_known: Callable[[str], bool]) -> Path | None:
    """The file with the keys of a venue that was opened before: `path`, else the newest put aside
    from there, else None. is_known: whether the venue has a key of this SHA-256, in hex."""
    try:
        siblings = [each for each in path.parent.iterdir() if each.stem == path.name]
    except OSError:
        return None
    aside = [each for each in siblings if each.suffix[1:].isdecimal()]
    newest = sorted(aside, key=lambda each: int(each.suffix[1:]), reverse=True)
    for each in (path, *newest):
        if any(is_known(rawkeys.fingerprint(raw).sha256_hex) for raw in _raw_keys(each)):
            return each
    return None


def has_keys(path: Path) -> bool:
    return bool(_raw_keys(path))


def _raw_keys(path: Path) -> list[str]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    raw = content.values() if isinstance(content, dict) else ()
    return [each for each in raw if isinstance(each, str)]


def _entries(seed: Seed) -> list[KeySeed | TokenSeed]:
    entries: list[KeySeed | TokenSeed] = []
    for user in seed.users:
        entries += [*user.keys, *user.tokens]
    return entries


def _raw_key(entry: KeySeed | TokenSeed) -> tuple[str, str | None]:
    """The raw key and no fault, or an empty text and the fault; a fault never shows the key."""
    if entry.file is not None:
        try:
            raw = entry.file.read_text(encoding="utf-8").strip()
        except (OSError, ValueError):  # no UTF-8, or a path with a null character
            return "", f"{str(entry.file)!r} cannot be read"
        source = str(entry.file)
    elif entry.env is not None:
        raw = os.environ.get(entry.env, "")
        source = f"the environment variable {entry.env}"
    else:
        return rawkeys.made(), None
    if _RAW.fullmatch(raw) is None:
        return "", f"{source} holds no key: 16 to 256 printable characters, no space"
    return raw, None
