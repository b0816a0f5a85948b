"""Addresses of files on other machines: https://..., s3://..., gs://..."""

from __future__ import annotations

import re

#: What an address begins with: the name of a protocol.
PROTOCOL = re.compile(r"[a-z][a-z0-9+.-]+://")


def is_remote(path: str) -> bool:
    return PROTOCOL.match(path) is not None
