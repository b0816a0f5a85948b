"""Imported by the server of processes.py: its forks need not import or compute again what every run does alike."""

from composer.config.composition import compose
from composer.core import registry

for kind in (*registry.kinds(), *registry.SECTION_PACKAGES):
    registry.entries(kind)  # imports blocks, data sources, objectives, optimisers
compose()  # imports Hydra's plugins and its grammar
