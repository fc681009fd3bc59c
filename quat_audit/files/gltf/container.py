# SPDX-License-Identifier: GPL-3.0-or-later
"""glTF container: file bytes ↔ JSON and buffers (a .glb's BIN chunk, files beside it, data: URIs).

Nothing here knows about accessors or animation. Buffers are loaded when they are first asked for: a file whose
missing resource only holds a texture can be audited.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import unquote, unquote_to_bytes

from ...errors import InputError

Json = dict[str, Any]
Load = Callable[[str], bytes]

MAGIC = b"glTF"
JSON_CHUNK, BIN_CHUNK = b"JSON", b"BIN\0"
AGAIN = "the file is damaged: download or export it again"
# Larger sizes cannot be meant, and their products would leave the 64-bit integers.
MOST = 2**48
# Bytes that are read before the rest; the byte order mark and white space that may stand before a file's JSON.
FIRST_LOOK, _BLANK = 4096, b"\xef\xbb\xbf \t\r\n"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


@dataclass(frozen=True, eq=False)
class Document:
    """A glTF file taken apart.

    Attributes:
        path: where the file is.
        raw: its bytes.
        json: its JSON, an object whose ``asset.version`` is 2.x.
        chunk: first and last + 1 byte of the BIN chunk's data within ``raw``; None without one.
        load: relative file name → its bytes.
    """

    path: Path
    raw: bytes
    json: Json
    chunk: tuple[int, int] | None
    load: Load
    _loaded: dict[int, memoryview] = field(default_factory=dict, repr=False)

    def items(self, key: str) -> list[Json]:
        """A top-level array of objects, e.g. ``accessors``; [] when the file has none. Raises InputError."""
        return objects(self.json, key, "the file")

    def buffer(self, number: int) -> memoryview:
        """The bytes of one buffer, cut to its byteLength. Raises InputError when they cannot be had."""
        if number not in self._loaded:
            self._loaded[number] = _load_buffer(self, number)
        return self._loaded[number]


def objects(owner: Json, key: str, where: str) -> list[Json]:
    """An array of objects within ``owner``; [] when absent. Raises InputError when it is something else."""
    value = owner.get(key, [])
    if type(value) is not list or any(type(x) is not dict for x in value):
        raise InputError(f"{where}: {key!r} must be an array of objects; {AGAIN}")
    return value


def member(owner: Json, key: str, where: str) -> Json:
    """An object within ``owner``; {} when absent. Raises InputError when it is something else."""
    value = owner.get(key, {})
    if type(value) is not dict:
        raise InputError(f"{where}: {key!r} must be an object; {AGAIN}")
    return value


def whole(owner: Json, key: str, where: str, default: int | None = None) -> int:
    """A whole number ≥ 0 within ``owner``. Raises InputError when it is missing without default, or something else."""
    value = owner.get(key, default)
    if type(value) is float and value.is_integer():  # "count": 3.0 is the same JSON number
        value = int(value)
    if type(value) is not int or not 0 <= value <= MOST:
        raise InputError(f"{where}: {key!r} must be a whole number from 0, got {str(value)[:40]!r}; {AGAIN}")
    return value


def open_document(path: Path) -> Document:
    """The file at ``path``. Raises InputError."""
    try:
        with path.open("rb") as file:
            raw = file.read(FIRST_LOOK)
            if _may_be(raw):
                raw += file.read()
    except OSError as error:
        raise InputError(f"cannot be opened ({error.strerror or error}): check the path and its permissions") from None
    files: dict[str, bytes] = {}

    def load(name: str) -> bytes:
        if name not in files:  # kept: a patch goes with the bytes that were audited, whatever happens on disk
            beside = path.parent / name
            if beside.exists() and not beside.is_file():  # opening a pipe would wait for ever
                raise InputError("it is not a regular file")
            files[name] = beside.read_bytes()
        return files[name]

    return parse(path, raw, load)


def _may_be(first: bytes) -> bool:
    """Whether a file can be glTF by its first bytes: a broken copy of many gigabytes is not read to the end."""
    text = first.lstrip(_BLANK)
    return first.startswith(MAGIC) or not text or text.startswith(b"{")


def parse(path: Path, raw: bytes, load: Load) -> Document:
    """The document in ``raw``; a .glb is known by its first four bytes, not by its name. Raises InputError."""
    if not raw:
        raise InputError(f"the file is empty (0 bytes); {AGAIN}")
    chunk = None
    if raw[:4] == MAGIC:
        text, chunk = _glb_chunks(raw)
    elif path.suffix.lower() == ".gltf" or raw.lstrip(_BLANK)[:1] == b"{":
        text = raw
    else:
        raise InputError(
            f"not a binary glTF file: it starts with {raw[:4]!r} where 'glTF' must stand; "
            "check that the file is what its suffix says"
        )
    return Document(path, raw, _load_json(text), chunk, load)


def _glb_chunks(raw: bytes) -> tuple[bytes, tuple[int, int] | None]:
    if len(raw) < 20:
        raise InputError(f"truncated: {len(raw)} bytes are less than the header of a .glb; {AGAIN}")
    version, length = struct.unpack_from("<II", raw, 4)
    if version != 2:
        raise InputError(f"glTF version {version} is not supported, only 2: convert the file to glTF 2.0")
    if length > len(raw):
        raise InputError(f"truncated: the header promises {length} bytes, the file has {len(raw)}; {AGAIN}")
    text, chunk, at = None, None, 12
    while at + 8 <= length:
        size, kind = struct.unpack_from("<I4s", raw, at)
        start, end = at + 8, at + 8 + size
        if end > length:
            raise InputError(
                f"truncated: the chunk at byte {at} promises {size} bytes, {length - start} are left; {AGAIN}"
            )
        if text is None:
            if kind != JSON_CHUNK:
                raise InputError(f"the first chunk must be JSON, it is {kind!r}; {AGAIN}")
            text = raw[start:end]
        elif kind == BIN_CHUNK and chunk is None:
            chunk = (start, end)
        at = end
    if text is None:
        raise InputError(f"truncated: there is no JSON chunk; {AGAIN}")
    return text, chunk


def _load_json(text: bytes) -> Json:
    def refuse(constant: str) -> NoReturn:
        raise InputError(f"the JSON holds {constant}, which JSON has no number for; {AGAIN}")

    try:
        value = json.loads(text.decode("utf-8-sig"), parse_constant=refuse)
    except UnicodeDecodeError as error:
        raise InputError(f"the JSON is not UTF-8 text at byte {error.start}; {AGAIN}") from None
    except json.JSONDecodeError as error:
        raise InputError(f"JSON error in line {error.lineno}, column {error.colno}: {error.msg}; {AGAIN}") from None
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits, 100,000 brackets
        raise InputError(f"the JSON cannot be read ({error}); {AGAIN}") from None
    if type(value) is not dict or type(value.get("asset")) is not dict or "version" not in value["asset"]:
        raise InputError("not a glTF file: its JSON has no asset.version; check that the file is what its suffix says")
    version = str(value["asset"]["version"])[:20]
    if not version.startswith("2."):
        raise InputError(f"glTF version {version} is not supported, only 2.x: convert the file to glTF 2.0")
    return value


def uri_of(owner: Json, where: str) -> str | None:
    """The uri of a buffer or image. Raises InputError when it is no text."""
    uri = owner.get("uri")
    if uri is not None and type(uri) is not str:
        raise InputError(f"{where}: 'uri' must be text; {AGAIN}")
    return uri


def relative_name(uri: str) -> str | None:
    """The file that a relative URI names (percent-encoding undone); None for data: and other schemes."""
    return None if _SCHEME.match(uri) else unquote(uri)


def _load_buffer(document: Document, number: int) -> memoryview:
    buffers, where = document.items("buffers"), f"buffer {number}"
    if not 0 <= number < len(buffers):
        raise InputError(f"{where} does not exist, the file has {len(buffers)}; {AGAIN}")
    length = whole(buffers[number], "byteLength", where)
    uri = uri_of(buffers[number], where)
    data: memoryview
    if uri is None:
        if number != 0 or document.chunk is None:
            raise InputError(f"{where} has neither a uri nor a BIN chunk; {AGAIN}")
        data = memoryview(document.raw)[slice(*document.chunk)]
    elif uri.startswith("data:"):
        data = memoryview(_decode_data_uri(uri, where))
    else:
        name = relative_name(uri)
        if name is None:
            raise InputError(
                f"{where} is at {uri[:80]!r}: only files beside it are read; download it and save the glTF again"
            )
        try:
            data = memoryview(document.load(name))
        except (OSError, ValueError, InputError) as error:  # a name with a NUL is a ValueError
            why = getattr(error, "strerror", None) or error
            raise InputError(f"{where}: {name!r} cannot be read ({why}): put the file beside the .gltf") from None
    if len(data) < length:
        raise InputError(f"{where}: byteLength promises {length} bytes, there are {len(data)}; {AGAIN}")
    return data[:length]


def _decode_data_uri(uri: str, where: str) -> bytes:
    head, comma, payload = uri.partition(",")
    if not comma:
        raise InputError(f"{where}: its data: URI has no comma; {AGAIN}")
    try:
        raw = unquote_to_bytes(payload)
        if not head.endswith(";base64"):
            return raw
        raw = raw.translate(None, b" \t\r\n")
        return base64.b64decode(raw + b"=" * (-len(raw) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise InputError(f"{where}: its data: URI is not base64 ({error}); {AGAIN}") from None


def unwritable(document: Document, number: int) -> str:
    """Why the bytes of a buffer cannot be changed in place; "" when they can."""
    uri = document.items("buffers")[number].get("uri")
    if uri is None:
        return ""
    if uri.startswith("data:"):
        head, _, payload = uri.partition(",")
        raw = _decode_data_uri(uri, f"buffer {number}")
        if not head.endswith(";base64") or base64.b64encode(raw).rstrip(b"=") != payload.encode().rstrip(b"="):
            return f"the data: URI of buffer {number} is not plain base64"
        if document.raw.count(f'"{uri}"'.encode()) != 1:
            return f"the data: URI of buffer {number} stands in the JSON with escapes, or twice"
        return ""
    name = relative_name(uri)
    if name is None or Path(name).anchor or ".." in Path(name).parts or "\\" in name:
        return f"buffer {number} is the file {uri[:80]!r} outside the glTF's folder"
    users = [b for b in document.items("buffers") if relative_name(str(b.get("uri", "data:"))) == name]
    return "" if len(users) == 1 else f"{len(users)} buffers are the same file {name!r}"


def with_buffers(document: Document, changed: Mapping[int, bytes]) -> dict[str, bytes]:
    """The file with other buffer contents of the same length: relative file name → bytes, the main file first.

    Buffers in ``changed`` must not be `unwritable`. Everything that is no byte of them stays as it is.
    """
    raw, others = document.raw, {}
    for number, data in changed.items():
        uri = document.items("buffers")[number].get("uri")
        if uri is None:
            assert document.chunk is not None
            start = document.chunk[0]
            raw = raw[:start] + data + raw[start + len(data) :]
        elif uri.startswith("data:"):
            head, _, payload = uri.partition(",")
            whole_data = data + _decode_data_uri(uri, f"buffer {number}")[len(data) :]
            encoded = base64.b64encode(whole_data).decode().rstrip("=")
            padding = "=" * (len(payload) - len(payload.rstrip("=")))
            raw = raw.replace(f'"{uri}"'.encode(), f'"{head},{encoded}{padding}"'.encode())
        else:
            name = unquote(uri)
            others[name] = data + document.load(name)[len(data) :]
    return {document.path.name: raw, **others}


def resources(document: Document) -> tuple[str, ...]:
    """Relative names of the existing files within the glTF's folder that the file refers to, sorted."""
    # Those three are most of a character file and refer to nothing outside it.
    parts = (v for k, v in document.json.items() if k not in ("accessors", "bufferViews", "animations"))
    names, todo = set(), list(parts)
    while todo:
        value: Any = todo.pop()
        if type(value) is dict:
            uri = value.get("uri")
            if type(uri) is str and (name := relative_name(uri)):
                names.add(name)
            todo.extend(value.values())
        elif type(value) is list:
            todo.extend(value)
    return tuple(sorted(n for n in names if _exists_within(document.path.parent, n)))


def _exists_within(folder: Path, name: str) -> bool:
    if "\0" in name or Path(name).anchor or ".." in Path(name).parts:
        return False
    return (folder / name).is_file()
