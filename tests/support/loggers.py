"""A run to log, and loggers chosen by overrides."""

import pytest

from composer.config.composition import compose
from composer.core.problems import UserError
from composer.training.loggers import RunInfo, load_loggers

SVG = "<svg xmlns='http://www.w3.org/2000/svg' width='4' height='4'/>"


def info(folder, **changes):
    folder.mkdir(exist_ok=True)
    facts = {"name": "a run", "identifier": "abc123", "config": {"seed": 1, "model": {"nodes": {"x": {"depth": 2}}}}}
    return RunInfo(folder=folder, **(facts | changes))


def open_loggers(section, run):
    """The loggers of a config's ``logger`` section, opened. The caller has to call ``finish``."""
    opened = load_loggers(section)
    opened.open(run)
    return opened


def refused(*overrides):
    with pytest.raises(UserError) as caught:
        chosen(*overrides)
    return str(caught.value)


def chosen(*overrides):
    composed = compose(list(overrides))
    return [type(one).__name__ for one in load_loggers(composed.values.get("logger"), composed.locate).each]
