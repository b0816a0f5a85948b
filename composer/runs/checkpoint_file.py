"""The file of a checkpoint: safetensors, which any program reads that knows the format, and which holds no code.

Tensors are entries under their paths in the content, such as ``model/nodes.encoder.weight``. Everything else is the
entry ``content``: JSON as bytes, because the header's own texts are limited in size. In the JSON, ``{"$tensor": name}``
stands for an entry; tensors that are the same one (tied weights) are one entry, before and after.

The header carries a digest of all bytes of the file, with zeros in the digest's own place. The digest is verified
before anything is used.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import torch
from safetensors import SafetensorError, TensorSpec, safe_open, serialize_file
from torch import Tensor

from composer.core.problems import UserError
from composer.core.storage.atomic_files import replaced

#: The entry of everything that is no tensor.
CONTENT = "content"

#: The digest in the header, and its value while the digest is computed.
MARK, ZEROS = b'"sha256":"', b"0" * 64

#: What reading a file raises that is not of the form of a checkpoint.
MALFORMED = (SafetensorError, RuntimeError, OSError, ValueError, LookupError, TypeError, AttributeError)


class Damaged(UserError):
    """A checkpoint that is torn, changed, or not of the form that a checkpoint has."""


def write(path: Path, content: Mapping[str, Any], previous: Path | None = None) -> None:
    """Write a checkpoint in one atomic step. An ``OSError`` leaves the file that was there.

    previous: the path at which the file before it is kept
    """
    tensors = _Tensors()
    tree = json.dumps(tensors.plain(content, ""), separators=(",", ":"), allow_nan=False).encode()
    values = {**tensors.entries, CONTENT: torch.frombuffer(bytearray(tree), dtype=torch.uint8)}
    # serialize_file reads the values from their memory. save_file takes longer: it looks for tensors that share memory,
    # which may do so here.
    entries = {
        name: TensorSpec(
            dtype=str(each.dtype).removeprefix("torch."),
            shape=each.shape,
            data_ptr=each.data_ptr(),
            data_len=each.nbytes,
        )
        for name, each in values.items()
    }
    with replaced(path, previous) as temporary:
        try:
            serialize_file(entries, temporary, {"format": "pt", "sha256": ZEROS.decode()})
        except SafetensorError as error:
            number = re.search(r"os error (\d+)", str(error))
            raise (OSError(int(number[1]), os.strerror(int(number[1]))) if number else error) from error
        with temporary.open("r+b") as file:
            place = _place_of_digest(file)
            assert place is not None
            digest = _digest(file, place)
            file.seek(place)
            file.write(digest)


def read(path: Path) -> Any:
    """The content of a checkpoint whose digest fits its bytes. Nothing in it is run."""
    try:
        with safe_open(path, framework="pt", backend="pread") as file:
            if CONTENT not in file.keys():  # noqa: SIM118 - the file is no mapping
                raise Damaged(f"'{path}' is not a checkpoint of Sequence Composer: it holds weights alone.")
            verify(path)
            tensors = file.get_tensors()
        return _restored(json.loads(tensors.pop(CONTENT).numpy().tobytes()), tensors)
    except FileNotFoundError:
        raise
    except MALFORMED as error:
        raise Damaged(f"'{path}' is not a whole checkpoint: it cannot be read.") from error


def verify(path: Path) -> None:
    """Raise ``Damaged`` if the digest of a checkpoint is missing or does not fit its bytes."""
    with path.open("rb") as file:
        place = _place_of_digest(file)
        if place is None:
            raise Damaged(f"'{path}' is damaged: its digest is missing.")
        file.seek(place)
        if file.read(len(ZEROS)) != _digest(file, place):
            raise Damaged(f"'{path}' is damaged: its content does not match its digest.")


def is_safetensors(path: Path) -> bool:
    """Whether a file begins as a safetensors file does: with the length of its header, which is JSON."""
    with path.open("rb") as file:
        return file.read(9)[8:] == b"{"


def is_checkpoint(path: Path) -> bool:
    """Whether a safetensors file is a checkpoint, and not weights alone."""
    with path.open("rb") as file:
        return _place_of_digest(file) is not None


def _place_of_digest(file: IO[bytes]) -> int | None:
    """Where the digest begins in a file. A tensor's name cannot be taken for it: JSON escapes quotes in names."""
    size = os.fstat(file.fileno()).st_size
    start = file.read(8)
    length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
    found = file.read(min(length, size)).find(MARK)
    return None if found < 0 else 8 + found + len(MARK)


def _digest(file: IO[bytes], place: int) -> bytes:
    """The SHA-256 of a file with zeros in the place of the digest, as hexadecimal digits."""
    file.seek(0)
    digest = hashlib.sha256(file.read(place) + ZEROS)
    file.seek(place + len(ZEROS))
    while part := file.read(1 << 20):
        digest.update(part)
    return digest.hexdigest().encode()


class _Tensors:
    """The entries of a file: the tensors of a tree, each of them once, by the path at which it was met first."""

    def __init__(self) -> None:
        self.entries: dict[str, Tensor] = {}
        self.references: dict[tuple[Any, ...], dict[str, Any]] = {}
        self.kept: list[Tensor] = []

    def plain(self, value: Any, path: str) -> Any:
        """A tree as JSON has it, with references in the place of tensors."""
        if isinstance(value, Tensor):
            return self._reference(value, path)
        if isinstance(value, Mapping):
            if all(isinstance(key, str) and not key.startswith("$") for key in value):
                return {key: self.plain(each, f"{path}/{key}") for key, each in value.items()}
            return {"$items": [[self.plain(k, path), self.plain(v, f"{path}/{k}")] for k, v in value.items()]}
        if isinstance(value, list | tuple):
            parts = [self.plain(each, f"{path}/{number}") for number, each in enumerate(value)]
            return parts if isinstance(value, list) else {"$tuple": parts}
        if isinstance(value, float) and not math.isfinite(value):
            return {"$float": str(value)}
        return value

    def _reference(self, tensor: Tensor, path: str) -> dict[str, Any]:
        """The order of a tensor's axes in memory is kept, because the last bit of a sum can depend on it."""
        if tensor.dtype == torch.complex128:  # which the format does not know
            return {"$complex": self._reference(torch.view_as_real(tensor.resolve_conj()), path)}
        key = (tensor.device, tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype)
        if key not in self.references:
            values, reference = tensor.detach().cpu().resolve_conj().resolve_neg(), {}
            if not values.is_contiguous():
                order = sorted(range(values.dim()), key=lambda axis: -values.stride()[axis])
                if values.permute(order).is_contiguous():
                    values, reference = values.permute(order), {"order": order}
                values = values.contiguous()
            name = path.removeprefix("/").encode(errors="replace").decode()
            while name in self.entries or name == CONTENT:
                name += "_"
            self.entries[name] = values
            self.references[key] = {"$tensor": name, **reference}
            self.kept.append(tensor)  # so that no other tensor has its address
        return self.references[key]


def _restored(value: Any, tensors: Mapping[str, Tensor]) -> Any:
    match value:
        case list():
            return [_restored(each, tensors) for each in value]
        case {"$tensor": name, **more}:
            order = more.get("order")
            return tensors[name] if order is None else tensors[name].permute(torch.tensor(order).argsort().tolist())
        case {"$complex": real}:
            return torch.view_as_complex(_restored(real, tensors))
        case {"$items": items}:
            return {_restored(key, tensors): _restored(each, tensors) for key, each in items}
        case {"$tuple": parts}:
            return tuple(_restored(each, tensors) for each in parts)
        case {"$float": text}:
            return float(text)
        case dict():
            return {key: _restored(each, tensors) for key, each in value.items()}
    return value
