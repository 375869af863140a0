"""Files of a run: in place where a folder is local or shared, as copies where it is on another file system."""

from __future__ import annotations

import contextlib
import errno
import hashlib
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
from .._errors import FileError, InputError, NighError

#: Of a graph file of the user: its first page has the checksums of all that follows, and every read compares them.
PAGE = 4096
PAGE_DIGEST = "page-"
#: Digests of files that this process has read, by what the system says of them.
_digests: dict[tuple[int, ...], str] = {}


@dataclass(frozen=True)
class File:
    """A file whose content is known."""

    url: str
    #: XXH3 of 128 bits, or `page_digest`.
    digest: str
    bytes: int
    #: When it was written, in nanoseconds; 0 if that is not known.
    changed: int = 0

    def is_content_of(self, path: Path) -> bool:
        """Whether a file of this machine has this content. It is read once, and again only if it was written to."""
        with explained(self.url):
            found = page_digest(path) if self.digest.startswith(PAGE_DIGEST) else _digest(path)
        return found == self.digest

    def check(self, path: Path) -> None:
        """An error if a file of this machine has another content."""
        if not self.is_content_of(path):
            raise FileError(
                f"{self.url} has changed while it was in use. A file that this run wrote can be removed, and the same call writes it "
                "again; if a source has changed, take another folder"
            )


def page_digest(path: Path) -> str:
    """That of the first page of a graph file."""
    with path.open("rb") as file:
        return PAGE_DIGEST + hashlib.sha256(file.read(PAGE)).hexdigest()


def _digest(path: Path) -> str:
    found = path.stat()
    state = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    if state not in _digests:
        _digests[state] = _nigh.file_digest(path)
    return _digests[state]


@contextlib.contextmanager
def explained(url: str) -> Iterator[None]:
    """Errors of the system name the file and say what to do."""
    try:
        yield
    except OSError as error:
        if isinstance(error, NighError):
            raise
        raise FileError(
            f"{url}: {error.strerror or error}. Every worker needs the folder to be there, to be writable and to have room; the same "
            "call goes on from what is complete"
        ) from error


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
            file.check(path)
            return path
        place = self._place(file)
        # A copy that was damaged is made again.
        if not place.exists() or not file.is_content_of(place):
            with self._copied(file.url) as copy:
                file.check(copy)
                os.replace(copy, place)
        return place

    def _place(self, file: File) -> Path:
        folder = self._folder() / file.digest
        with explained(f"the copy {folder} of {file.url}"):
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
        copy = folder / f"partial-{uuid.uuid4().hex}"
        try:
            with explained(f"{copy}, a copy of {url}"):
                folder.mkdir(parents=True, exist_ok=True)
                fs.get_file(path, str(copy))
            yield copy
        finally:
            with contextlib.suppress(OSError):
                copy.unlink()


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

    def has(self, file: File) -> bool:
        """Whether a file is as it was written: by its size and time, and by its content if its time is another."""
        path = self.storage.in_place(file.url)
        if path is None:
            fs, there = self.storage.open(file.url)
            try:
                return int(fs.size(there)) == file.bytes
            except FileNotFoundError:
                return False
        try:
            found = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        return found.st_size == file.bytes and (found.st_mtime_ns == file.changed or file.is_content_of(path))

    def read_json(self, name: str) -> dict[str, Any] | None:
        """A file of `write_json`, if it is there."""
        fs, path = self.storage.open(self.name(name))
        try:
            with explained(self.name(name)):
                text = fs.cat_file(path) if fs.exists(path) else None
            found = None if text is None else json.loads(text)
        except ValueError as error:
            raise FileError(f"{self.name(name)} is damaged: {error}; remove it, and the same call goes on") from error
        if text is None:
            return None
        if not isinstance(found, dict) or found.pop("check", None) != _check_of(found):
            raise FileError(f"{self.name(name)} is damaged: its checksum is another; remove it, and the same call goes on")
        return found

    def write_json(self, name: str, content: dict[str, Any]) -> None:
        """A file that appears when it is complete, with a checksum."""
        with self.partial() as folder:
            with explained(self.name(name)):
                (folder / "json").write_text(json.dumps({**content, "check": _check_of(content)}, indent=1) + "\n")
            self.publish(folder / "json", name)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps other processes from running in the folder, where its file system has locks; they end with the process."""
        path = self.storage.in_place(self.url)
        if path is None:
            yield
            return
        with explained(self.url):
            path.mkdir(parents=True, exist_ok=True)
        try:
            import fcntl

            descriptor = os.open(path, os.O_RDONLY)
        except (ImportError, OSError):
            yield
            return
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise InputError(f"another process is at work in {self.url}; wait until it is done, or take another folder") from None
        except OSError:
            # Network file systems may have no locks. Then files are still compared with their digests.
            pass
        try:
            yield
        finally:
            os.close(descriptor)

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
        with explained(self.name("work")):
            path.mkdir(parents=True)
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)

    def publish(self, path: Path, name: str) -> None:
        """Gives a complete file its name."""
        place = self.storage.in_place(self.name(name))
        if place is not None:
            with explained(self.name(name)):
                place.parent.mkdir(parents=True, exist_ok=True)
                _move(path, place)
            return
        fs, target = self.storage.open(self.name(name))
        fs.makedirs(target.rsplit("/", 1)[0], exist_ok=True)
        partial = f"{target}.{uuid.uuid4().hex}.partial"
        fs.put_file(str(path), partial)
        fs.mv(partial, target)

    def remove(self, name: str) -> None:
        """Removes a folder in it with all that it has. What others keep open or still write may stay."""
        place = self.storage.in_place(self.name(name))
        if place is not None:
            # A link to a disk for such files is the user's, and stays.
            for each in place.iterdir() if place.is_symlink() else [place]:
                shutil.rmtree(each, ignore_errors=True)
            return
        fs, path = self.storage.open(self.name(name))
        if fs.exists(path):
            fs.rm(path, recursive=True)


def _move(path: Path, place: Path) -> None:
    """Gives a file its name at once, also if the folder `work` is a link to another disk."""
    try:
        os.replace(path, place)
        return
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
    copy = place.with_name(f".{place.name}.{uuid.uuid4().hex}.partial")
    try:
        shutil.copy2(path, copy)
        os.replace(copy, place)
    finally:
        copy.unlink(missing_ok=True)


def _check_of(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _is_local(fs: Any) -> bool:
    protocol = fs.protocol if isinstance(fs.protocol, (tuple, list)) else (fs.protocol,)
    return "file" in protocol or "local" in protocol


def _has_magic(path: str) -> bool:
    return any(sign in path for sign in "*?[")
