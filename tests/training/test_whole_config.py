"""One place checks the whole config: every command refuses the same values, all problems at once."""

import pytest

from composer.cli.main import main
from composer.config.composition import compose
from composer.core.problems import ConfigError
from composer.training.run.plan import check_config, prepare

pytestmark = pytest.mark.slow  # a composition takes half a second

WRONG = ["optimiser.learning_rate=abc", "trainer.precision=bf16", "training.steps=0", "model.nodes.encoder.depth=0"]
PATHS = ["training.steps", "trainer.precision", "optimiser.learning_rate", "model.nodes.encoder.depth"]


@pytest.mark.parametrize("check", [prepare, check_config])
def test_all_sections_and_the_graph_are_reported_at_once(check):
    with pytest.raises(ConfigError) as caught:
        check(compose(WRONG))
    assert [problem.path for problem in caught.value.problems] == PATHS


@pytest.mark.parametrize("command", ["describe", "draw", "check"])
def test_every_command_refuses_what_training_refuses(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command, "optimiser.learning_rate=abc"])
    assert ended.value.code == 2
    assert "expected a number above 0, found 'abc'" in capsys.readouterr().err


def test_a_run_to_resume_has_no_effect_on_a_description(capsys):
    with pytest.raises(SystemExit):
        main(["describe", "resume=runs/x"])
    assert "resume   command line: resume=runs/x" in (said := capsys.readouterr().err)
    assert "has no effect here" in said


def test_data_that_no_node_reads_is_noted(capsys):
    main(["describe", "model=language_model", "model.dim=16"])
    assert "'source' is not read" in capsys.readouterr().out
    assert check_config(compose(["model.dim=16"])).unread == []
    told = check_config(compose(["model=language_model", "objective=next_token", "model.dim=16"]))
    assert told.unread == ["source"]
