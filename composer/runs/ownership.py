"""Whether a run was trained by this user: a signature of its data section, made with a key that only the user has.

A checkpoint is only a file, and its config may name any file of the machine on which somebody opens it. The files that
it names are therefore read only if the checkpoint is signed by the user who opens it, or if the user names the files.
The key is made at the first run, and stays on the machine (or in the home folder that several machines share).
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

#: The length of the key, in bytes.
KEY_BYTES = 32


def key_file() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(state).expanduser() / "sequence-composer" / "key"


def sign(section: object) -> str | None:
    """The signature of a config's ``data`` section; None where this user has no folder for a key."""
    key = _read_key() or _make_key()
    return None if key is None else _signature(key, section)


def signed(content: Mapping[str, Any]) -> bool:
    """Whether a checkpoint's ``data`` section is signed by this user."""
    key, found = _read_key(), content.get("signature")
    if key is None or not isinstance(found, str):
        return False
    return hmac.compare_digest(_signature(key, content["config"].get("data")).encode(), found.encode())


def _signature(key: bytes, section: object) -> str:
    text = json.dumps(section, sort_keys=True, default=str)
    return hmac.new(key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def _read_key() -> bytes | None:
    try:
        key = key_file().read_bytes()
    except (OSError, RuntimeError):  # there is none yet, or no home folder
        return None
    return key if len(key) == KEY_BYTES else None


def _make_key() -> bytes | None:
    """Make the key of this user. Of several processes that make one, the first wins."""
    try:
        file = key_file()
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with NamedTemporaryFile(dir=file.parent, prefix=".key.") as ours:  # which its owner alone may read
            ours.write(secrets.token_bytes(KEY_BYTES))
            ours.flush()
            os.fsync(ours.fileno())
            with suppress(FileExistsError):
                os.link(ours.name, file)
    except (OSError, RuntimeError):
        return None
    return _read_key()
