"""The catalogue of blocks: one file per block, in folders by kind, imported as ``composer.catalogue.<kind>.<name>``.

In a checkout the files lie in its folder ``blocks/``, in an installed package beside this module.
"""

from composer.core.program import shipped

__path__ = [str(shipped("blocks"))]
