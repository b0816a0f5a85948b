"""The file of a checkpoint: the zip archive that torch.save writes, with a digest of its bytes as the comment.

torch.load does not verify the checksums of the archive, so a damaged weight would be loaded as another weight. The
digest covers every byte of the file, and is verified before anything is unpickled.
"""

from __future__ import annotations

import hashlib
import os
import pickletools
import re
import struct
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import torch

from composer.core.problems import UserError

#: The comment of the archive: this mark, then the digest as hexadecimal digits.
MARK = b"sequence-composer sha256 "
COMMENT = len(MARK) + 2 * hashlib.sha256().digest_size

#: The last field of an archive: the length of its comment.
NO_COMMENT, OUR_COMMENT = struct.pack("<H", 0), struct.pack("<H", COMMENT)

#: What the pickle of a checkpoint refers to: tensors and their storages. torch.load permits more, such as a bytearray
#: of any size.
PERMITTED = re.compile(rb"collections OrderedDict|torch\._utils _rebuild_tensor_v2|torch [A-Za-z0-9]+Storage")


class Damaged(UserError):
    """A checkpoint that is torn, changed, or not of the form that a checkpoint has."""


def write(file: IO[bytes], content: Mapping[str, Any]) -> None:
    """Write a checkpoint with its digest into an empty file that can be read, too."""
    try:
        torch.save(dict(content), file)
    except RuntimeError as error:
        if isinstance(error.__context__, OSError):  # torch fails again where it closes an archive without room
            raise error.__context__ from error
        raise
    file.flush()
    file.seek(0)
    digest = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
    file.seek(-len(NO_COMMENT), os.SEEK_END)
    file.write(OUR_COMMENT + MARK + digest.encode())


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
    found = re.findall(rb"c([\w.]+)\n([\w.]+)\n", content)  # the opcode GLOBAL, or a text that looks like it
    if b"\x93" not in content and all(PERMITTED.fullmatch(b" ".join(name)) for name in found):
        return
    try:
        for opcode, argument, _ in pickletools.genops(content):
            if opcode.name in ("STACK_GLOBAL", "INST", "EXT1", "EXT2", "EXT4"):
                yield opcode.name
            elif opcode.name == "GLOBAL" and not PERMITTED.fullmatch(str(argument).encode()):
                yield str(argument).replace(" ", ".")
    except ValueError:  # no pickle, which torch.load reports
        return
