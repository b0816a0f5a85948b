"""Files compressed by Zstandard, with the extra ``zstd``."""

from __future__ import annotations

import io
from pathlib import Path

from composer.core.extras import extra

#: The number of compressed bytes that are read at a time.
CHUNK = 2**17


def open_zstd(path: Path) -> io.BufferedReader:
    """The unpacked bytes of a file. A file that is cut short or not compressed so is an EOFError."""
    return io.BufferedReader(_Unpacked(path), CHUNK)


class _Unpacked(io.RawIOBase):
    """Frames may follow each other, as parallel compression writes them."""

    def __init__(self, path: Path) -> None:
        self._library = extra("zstandard", f"reading '{path}'", "zstd")
        self._packed = path.open("rb")
        self._frame = self._library.ZstdDecompressor().decompressobj()
        self._begun = False  # whether bytes of the frame were read
        self._left, self._ready = b"", memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._ready:
            if not self._unpack():
                return 0
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _unpack(self) -> bool:
        """Unpack some more bytes; False at the end of the file."""
        packed = self._left or self._packed.read(CHUNK)
        if not packed:
            if self._begun:
                raise EOFError("the file ends in the middle")
            return False
        try:
            self._ready = memoryview(self._frame.decompress(packed))
        except self._library.ZstdError as error:
            raise EOFError(str(error)) from error
        self._begun, self._left = True, b""
        if self._frame.eof:
            self._left, self._begun = self._frame.unused_data, False
            self._frame = self._library.ZstdDecompressor().decompressobj()
        return True

    def close(self) -> None:
        self._packed.close()
        super().close()
