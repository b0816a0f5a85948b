"""Checkpoints of formats 1 and 2: the zip archive of torch.save, with a digest of its bytes as the comment. Only read.

torch.load does not verify the checksums of the archive, so a damaged weight would be loaded as another weight. The
digest covers every byte of the file, and is verified before anything is unpickled.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import pickletools
import re
import struct
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from composer.runs.checkpoint_file import Damaged

#: The comment of the archive: this mark, then the digest as hexadecimal digits.
MARK = b"sequence-composer sha256 "
COMMENT = len(MARK) + 2 * hashlib.sha256().digest_size

#: The last field of an archive: the length of its comment.
NO_COMMENT, OUR_COMMENT = struct.pack("<H", 0), struct.pack("<H", COMMENT)

#: What the pickle of a checkpoint refers to: tensors and their storages. torch.load permits more, such as a bytearray
#: of any size.
PERMITTED = re.compile(rb"collections OrderedDict|torch\._utils _rebuild_tensor_v2|torch [A-Za-z0-9]+Storage")


def read(path: Path) -> Any:
    """The content of a checkpoint: tensors and plain data only, because other pickled objects could run code.

    A file that is torn or changed raises ``Damaged``, before it takes more memory than its size.
    """
    try:
        has_digest = verify(path)
        check_archive(path)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Detected pickle protocol")  # such a file is refused below
            content = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise Damaged(
            f"'{path}' is refused: it holds something else than tensors and plain data, which could run code."
        ) from error
    except (RuntimeError, EOFError, OSError, ValueError, LookupError, TypeError, AttributeError, struct.error) as error:
        raise Damaged(f"'{path}' is not a whole checkpoint: it cannot be read.") from error
    if isinstance(content, dict) and content.pop("sealed", False) and not has_digest:
        raise Damaged(f"'{path}' is damaged: its digest is missing.")
    for name, tensor in _tensors(content, ""):
        if tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes():
            problem = f"the tensor '{name}' has a shape of more values than are stored"
            raise Damaged(f"'{path}' is not a checkpoint of Sequence Composer: {problem}.")
    return content


def _tensors(value: object, name: str) -> Iterator[tuple[str, torch.Tensor]]:
    if isinstance(value, torch.Tensor):
        yield name, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list | tuple) else ()
    for key, each in items:
        yield from _tensors(each, str(key))


def verify(path: Path) -> bool:
    """Raise ``Damaged`` if the digest of a checkpoint does not fit its bytes. Returns whether there is a digest."""
    with path.open("rb") as file:
        left = os.fstat(file.fileno()).st_size - COMMENT - len(OUR_COMMENT)
        if left < 0:
            return False
        file.seek(left)
        length, comment = file.read(len(OUR_COMMENT)), file.read()
        if not comment.startswith(MARK):
            return False
        file.seek(0)
        digest = hashlib.sha256()
        while left and (part := file.read(min(left, 1 << 20))):
            digest.update(part)
            left -= len(part)
    digest.update(NO_COMMENT)
    if length != OUR_COMMENT or comment[len(MARK) :] != digest.hexdigest().encode():
        raise Damaged(f"'{path}' is damaged: its content does not match its digest.")
    return True


def check_archive(path: Path) -> None:
    """Raise an error for an archive that would unpack to more than its size, or refers to more than tensors."""
    try:
        with zipfile.ZipFile(path) as archive:
            records = archive.infolist()
            compressed = any(record.compress_type != zipfile.ZIP_STORED for record in records)
            if compressed or sum(record.file_size for record in records) > path.stat().st_size:
                raise Damaged(
                    f"'{path}' is refused: it would unpack to more than its size. A checkpoint is not compressed."
                )
            pickles = [archive.read(record) for record in records if record.filename.endswith("data.pkl")]
    except (zipfile.BadZipFile, NotImplementedError, EOFError, OSError, ValueError, struct.error) as error:
        raise Damaged(f"'{path}' is not a whole checkpoint: it cannot be read.") from error
    for name in (name for content in pickles for name in foreign_names(content)):
        raise Damaged(
            f"'{path}' is refused: it holds something else than tensors and plain data, which could run code: '{name}'."
        )


def foreign_names(content: bytes) -> Iterator[str]:
    """The names that a pickle refers to beside those of tensors."""
    try:
        for opcode, argument, _ in pickletools.genops(content):
            if opcode.name in ("STACK_GLOBAL", "INST", "EXT1", "EXT2", "EXT4"):
                yield opcode.name
            elif opcode.name == "GLOBAL" and not PERMITTED.fullmatch(str(argument).encode()):
                yield str(argument).replace(" ", ".")
    except ValueError:  # no pickle, which torch.load reports
        return
