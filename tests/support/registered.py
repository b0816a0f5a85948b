"""The registered blocks by kind and name, to parametrise tests with, and each with its defaults."""

from composer.core import registry
from composer.core.block import Signature
from composer.testing import Subject
from composer.testing.defaults import default_subject, plain_block

FAMILIES = [(kind, name) for kind in registry.kinds() for name in registry.blocks(kind)]

#: The blocks that act only inside another one.
INNER = [(kind, name) for kind, name in FAMILIES if Signature.of(registry.blocks(kind)[name]).inner]


def with_defaults(kind: str, name: str) -> Subject:
    """A registered block with its defaults; a stack, which has no mixer unless it is told, with one."""
    knobs = {"mixer": plain_block("mixer")} if kind == "stack" else {}
    return default_subject(registry.blocks(kind)[name], **knobs)
