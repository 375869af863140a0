"""Files of a run: in place where a folder is local or shared, as copies where it is on another file system."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import _nigh
from .._errors import FileError, InputError


@dataclass(frozen=True)
class File:
    """A file whose content is known."""

    url: str
    #: XXH3 of 128 bits.
    digest: str
    bytes: int


@dataclass(frozen=True)
class Storage:
    """How file systems are opened, and where copies of their files are kept."""

    #: What fsspec needs to open them, such as keys.
    options: dict[str, Any] = field(default_factory=dict)
    #: A folder of this machine; one of the system's by default.
    cache: str | None = None

    def open(self, url: str) -> tuple[Any, str]:
        """The file system of a URL or path, and the path in it."""
        try:
            from fsspec.core import url_to_fs
        except ImportError as error:
            raise ImportError(f"nigh.ray needs fsspec (pip install 'nigh[ray]'): {error}") from error
        try:
            fs, path = url_to_fs(url, **self.options)
        except (ImportError, ValueError) as error:
            raise InputError(f"{url}: {error}") from error
        return fs, path

    def in_place(self, url: str) -> Path | None:
        """The path of a local or shared file, which needs no copy."""
        fs, path = self.open(url)
        return Path(path) if _is_local(fs) else None

    def expand(self, source: str) -> list[str]:
        """The files of a path, folder or glob, in the order of their names."""
        fs, path = self.open(source)
        if _has_magic(path):
            found = [each for each in fs.glob(path) if fs.isfile(each)]
        elif fs.isdir(path):
            found = [each for each in fs.find(path, maxdepth=1)]
        else:
            found = [path] if fs.exists(path) else []
        # Marks that other programs leave, such as _SUCCESS and .crc.
        found = sorted(each for each in found if len(found) == 1 or not each.rsplit("/", 1)[-1].startswith(("_", ".")))
        if not found:
            raise FileError(f"{source}: there is no such file; expected a file, folder or glob of files of edges, or a graph file")
        return [fs.unstrip_protocol(each) for each in found]

    def mark(self, url: str) -> str:
        """What changes when a file does, without reading it."""
        fs, path = self.open(url)
        if _is_local(fs):
            found = os.stat(path)
            return f"{found.st_size} {found.st_mtime_ns}"
        return str(fs.ukey(path))

    def examine(self, url: str) -> File:
        """Reads a file whose content is not known yet."""
        path = self.in_place(url)
        if path is not None:
            return File(url, _nigh.file_digest(path), path.stat().st_size)
        with self._copied(url) as copy:
            known = File(url, _nigh.file_digest(copy), copy.stat().st_size)
            os.replace(copy, self._place(known))
        return known

    def local(self, file: File) -> Path:
        """A path on this machine with the content of a file."""
        path = self.in_place(file.url)
        if path is not None:
            if not path.exists():
                raise FileError(f"{path} is gone; this machine has to see the same folder, or the file was removed")
            return path
        place = self._place(file)
        if not place.exists():
            with self._copied(file.url) as copy:
                if _nigh.file_digest(copy) != file.digest:
                    raise FileError(f"{file.url} has changed while it was in use")
                os.replace(copy, place)
        return place

    def _place(self, file: File) -> Path:
        folder = self._folder() / file.digest
        folder.mkdir(parents=True, exist_ok=True)
        # Formats are told by the end of a name.
        return folder / file.url.rsplit("/", 1)[-1]

    def _folder(self) -> Path:
        if self.cache is not None:
            return Path(self.cache)
        folder = Path(tempfile.gettempdir()) / f"nigh-ray-{os.getuid() if hasattr(os, 'getuid') else 0}"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder

    @contextlib.contextmanager
    def _copied(self, url: str) -> Iterator[Path]:
        fs, path = self.open(url)
        folder = self._folder()
        folder.mkdir(parents=True, exist_ok=True)
        copy = folder / f"partial-{uuid.uuid4().hex}"
        try:
            fs.get_file(path, str(copy))
            yield copy
        finally:
            copy.unlink(missing_ok=True)


@dataclass(frozen=True)
class Folder:
    """Where a run keeps its files."""

    url: str
    storage: Storage

    @staticmethod
    def at(url: str | os.PathLike[str], storage: Storage) -> Folder:
        """A folder by path or URL; a path is made absolute, since workers have a place of their own."""
        fs, path = storage.open(os.fspath(url))
        return Folder(str(fs.unstrip_protocol(path)).rstrip("/"), storage)

    def name(self, name: str) -> str:
        """The URL of a file in it."""
        return f"{self.url}/{name}"

    def size(self, name: str) -> int | None:
        """The size of a file, if there is one."""
        fs, path = self.storage.open(self.name(name))
        try:
            return int(fs.size(path))
        except FileNotFoundError:
            return None

    def read_json(self, name: str) -> dict[str, Any] | None:
        """A file of ours, if it is there."""
        fs, path = self.storage.open(self.name(name))
        try:
            found = json.loads(fs.cat_file(path))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise FileError(f"{self.name(name)}: {error}; remove it to compute its files again") from error
        return found if isinstance(found, dict) else None

    def write_json(self, name: str, content: dict[str, Any]) -> None:
        """A file that appears when it is complete."""
        with self.partial() as folder:
            (folder / "json").write_text(json.dumps(content, indent=1) + "\n")
            self.publish(folder / "json", name)

    @contextlib.contextmanager
    def partial(self) -> Iterator[Path]:
        """A folder of this machine for files that are being written; what stays in it is removed."""
        root = self.storage.in_place(self.url)
        if root is None:
            with tempfile.TemporaryDirectory(prefix="nigh-ray-") as folder:
                yield Path(folder)
            return
        # On the same disk, so that a file can be given its name at once.
        path = root / "work" / "partial" / uuid.uuid4().hex
        path.mkdir(parents=True)
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)

    def publish(self, path: Path, name: str) -> None:
        """Gives a complete file its name."""
        place = self.storage.in_place(self.name(name))
        if place is not None:
            place.parent.mkdir(parents=True, exist_ok=True)
            os.replace(path, place)
            return
        fs, target = self.storage.open(self.name(name))
        fs.makedirs(target.rsplit("/", 1)[0], exist_ok=True)
        partial = f"{target}.{uuid.uuid4().hex}.partial"
        fs.put_file(str(path), partial)
        fs.mv(partial, target)

    def remove(self, name: str) -> None:
        """Removes a folder in it with all that it has."""
        fs, path = self.storage.open(self.name(name))
        if fs.exists(path):
            fs.rm(path, recursive=True)


def _is_local(fs: Any) -> bool:
    protocol = fs.protocol if isinstance(fs.protocol, (tuple, list)) else (fs.protocol,)
    return "file" in protocol or "local" in protocol


def _has_magic(path: str) -> bool:
    return any(sign in path for sign in "*?[")
