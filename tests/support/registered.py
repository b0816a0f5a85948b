"""The registered blocks by kind and name, to parametrise tests with."""

from composer.core import registry
from composer.core.block import Signature

FAMILIES = [(kind, name) for kind in registry.kinds() for name in registry.blocks(kind)]

#: The blocks that act only inside another one.
INNER = [(kind, name) for kind, name in FAMILIES if Signature.of(registry.blocks(kind)[name]).inner]
