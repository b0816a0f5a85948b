"""A compiled model from Python: called with tensors and lengths, drawn, described, checked; wrong calls say why."""

import pytest
import torch

import composer
from composer import Ids, UserError
from composer.core.problems import ConfigError

#: Reads two sequences of tokens, one of which it generates.
SEQ2SEQ = ["data=reverse", "data.train_size=40", "data.valid_size=10", "model.dim=8", "mixer=gru"]


@pytest.fixture(scope="module")
def model():
    return composer.compose(SEQ2SEQ).compile()


def rows(*lists):
    return [torch.tensor(row) for row in lists]


def test_padded_tensors_with_lengths_give_what_each_row_gives_alone(model):
    sources, targets = rows([5, 6, 7, 8], [9, 3]), rows([8, 7, 6], [3, 9, 1, 4, 2])
    padded = {
        name: torch.nn.utils.rnn.pad_sequence(each, batch_first=True, padding_value=-100)
        for name, each in (("source", sources), ("target", targets))
    }
    lengths = {"source": [4, 2], "target": torch.tensor([3, 5])}
    together = model(padded, lengths)["output"]
    assert together.lengths.tolist() == [3, 5]
    for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
        alone = model({"source": source[None], "target": Ids(target[None])})["output"]
        torch.testing.assert_close(together.values[row, : len(target)], alone.values[0])


def test_a_generated_field_is_given_whole_and_read_one_step_late(model):
    source = torch.tensor([[5, 6, 7]])
    first, other = (
        model({"source": source, "target": torch.tensor([[8, 9, last]])})["output"].values for last in (3, 4)
    )
    assert torch.equal(first, other)  # the output at the last step is predicted from the steps before
    changed = model({"source": source, "target": torch.tensor([[8, 1, 3]])})["output"].values
    assert torch.equal(first[:, :2], changed[:, :2])
    assert not torch.equal(first[:, 2], changed[:, 2])


def test_signals_and_a_batch_of_the_data_are_taken_as_the_graph_takes_them(model):
    batch = model.plan.objective.batch("train", torch.arange(4))
    outputs, _ = model.graph(model.graph.read(batch.signals))
    torch.testing.assert_close(model(batch.signals)["output"].values, outputs["output"].values)


def test_the_only_sequence_needs_no_name_for_its_lengths_and_numbers_become_floats():
    model = composer.compose(["data=adding", "data.train_size=20", "model=seq2vec", "model.dim=8"]).compile()
    (name,) = model.graph.plan.inputs
    values = torch.randint(0, 2, (2, 5, model.fields[name].dim))
    output = model({name: values}, [5, 3])["output"].values
    alone = model({name: values[1:, :3].double()})["output"].values
    torch.testing.assert_close(output[1:], alone)


TARGET = [[5, 6, 7]]

WRONG = {
    "a tensor": ((torch.zeros(2, 3),), r"a Tensor, and not with a mapping"),
    "a missing field": (({"source": TARGET},), r"'target' is missing"),
    "a wrong name": (({"sorce": TARGET, "target": TARGET},), r"no field 'sorce'.*Did you mean 'source'"),
    "floats for tokens": (({"source": [[0.5]], "target": TARGET},), r"'source' holds numbers of type torch.float32"),
    "an unknown token": (({"source": [[99]], "target": TARGET},), r"'source' holds the token 99, .* 0 to 51"),
    "one axis": (({"source": [5], "target": TARGET},), r"'source' has the shape \(1,\), and not \(B, T\)"),
    "no rows": (({"source": torch.zeros(0, 3, dtype=torch.long), "target": TARGET},), r"the shape \(0, 3\)"),
    "ragged lists": (({"source": [[1, 2], [3]], "target": TARGET},), r"'source' is .* no tensor"),
    "other rows": (({"source": [[5], [6]], "target": TARGET},), r"numbers of rows: source 2, target 1"),
    "another signal": (({"source": composer.Vec(torch.zeros(1, 3)), "target": TARGET},), r"'source' is Vec, not Ids"),
    "nameless lengths": (({"source": TARGET, "target": TARGET}, [3]), r"it reads 2 sequences"),
    "long lengths": (({"source": TARGET, "target": TARGET}, {"source": [4]}), r"up to its 3 steps, found \[4\]"),
    "too many lengths": (({"source": TARGET, "target": TARGET}, {"source": [1, 2]}), r"expected 1 whole numbers"),
    "lengths of nothing": (({"source": TARGET, "target": TARGET}, {"saurce": [1]}), r"Did you mean 'source'"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_call_says_what_is_wrong_and_what_the_model_reads(model, what):
    arguments, words = WRONG[what]
    with pytest.raises(UserError, match=words) as error:
        model(*arguments)
    assert "source: ids (B, T) of 52 tokens" in str(error.value)
    assert "target: ids (B, T)" in str(error.value)


def test_a_model_describes_draws_and_checks_itself(model, tmp_path):
    described = model.describe(length=64)
    assert described.data["length"] == 64
    assert f"{described.data['totals']['parameters']:,}" in str(described)
    assert "of 64 steps" in described._repr_html_()
    assert sum(p.numel() for p in model.graph.parameters()) == described.data["totals"]["parameters"]

    other = composer.compose([*SEQ2SEQ, "mixer=lstm"]).compile()
    model.draw(against=other).save(tmp_path / "both.svg")
    model.draw().save(tmp_path / "one.mmd")
    assert (tmp_path / "both.svg").read_text().startswith("<svg")
    assert (tmp_path / "one.mmd").read_text() == model.draw().mermaid
    with pytest.raises(UserError, match=r"\.svg or \.mmd"):
        model.draw().save("one.png")
    assert model.draw().svg in model._repr_html_()

    checked = model.check(["causality", "padding"])
    assert checked.hold
    assert list(checked.laws) == ["causality", "padding"]
    with pytest.raises(UserError, match="Did you mean 'causality'"):
        model.check(["causalty"])


def test_the_table_of_a_model_names_every_node_and_all_parameters(model):
    text = repr(model)
    lines = text.splitlines()
    for node in model.graph.plan.nodes:
        assert any(line.startswith(f"{node.name} ") for line in lines), node.name
    counts = [int(line.split()[-1].replace(",", "")) for line in lines[4:]]
    assert sum(counts) == model.describe().data["totals"]["parameters"]


def test_compile_reports_all_problems_of_a_config_as_one_error():
    config = composer.compose([*SEQ2SEQ, "model.nodes.encoder.depth=0", "optimiser.learning_rate=-1"])
    with pytest.raises(ConfigError) as error:
        config.compile()
    paths = {problem.path for problem in error.value.problems}
    assert paths == {"optimiser.learning_rate", "model.nodes.encoder.depth"}


def test_a_broken_law_is_told():
    from composer.training.run.compiled_model import LawsChecked

    found = LawsChecked({"padding": "NaN reaches <the> output", "causality": ""})
    assert not found.hold
    assert found.broken == {"padding": "NaN reaches <the> output"}
    assert "BROKEN" in repr(found)
    assert "&lt;the&gt;" in found._repr_html_()
