"""The graph of another run inside a node, end to end: weights, vocabulary, checkpoint, resuming, what is refused."""

import json
import shutil

import pytest
import torch

from composer.config.composition import compose
from composer.core.problems import UserError
from composer.inference.export import export
from composer.inference.model import Model
from composer.runs import checkpoint
from composer.training.run.plan import prepare
from composer.training.run.train import materialise
from tests.support import processes

pytestmark = pytest.mark.slow

SMALL = [
    "model.dim=8", "mixer=gru", "ffn=none", "training.batch=8", "training.figures=false", "training.samples=0",
    "training.decode_rows=0", "trainer.threads=1", "training.steps=4", "training.validate_every=4",
]  # fmt: skip
WORDS = ["good", "bad", "fine", "poor", "film", "story", "actor", "the", "a", "very", "not", "is", "was", "end"]
INNER = "nodes.features.inner.graph."


def sentences(path, count, order=1):
    """Sentences with a tag for every word. Another order gives another vocabulary: words are numbered by frequency."""
    words = WORDS[::order]
    rows = [[words[(i * j) % (1 + i % len(words))] for j in range(3 + i % 4)] for i in range(count)]
    path.write_text("".join("".join(f"{word}\t{word[0].upper()}\n" for word in row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    return sentences(tmp_path_factory.mktemp("files") / "few.conll", 40, order=-1)


def trained(shared, name, *overrides, field="{type: words, column: 1}"):
    """A run over the words of a CoNLL file."""

    def fill(folder):
        data = sentences(folder / "many.conll", 60)
        source = ["data=table", "data.format=conll", f"data.path={data}"]
        fields = [f"++data.fields={{target: {field}}}"]
        processes.train_well([*SMALL, *source, *fields, *overrides, f"runs={folder}", f"name={name}"])

    return shared.folder(f"graph_transfer_{name}", fill) / name


@pytest.fixture
def lm(shared):
    """A forward and a backward language model with an average of their weights."""
    more = ["model.nodes.decoder.depth=1", "model.nodes.backward_decoder.depth=1", "training.ema=0.5"]
    return trained(shared, "lm", "model=bidirectional_lm", "objective=bidirectional_lm", *more)


@pytest.fixture
def text_lm(shared):
    """A causal language model over texts that a tokeniser cuts into words."""

    def fill(folder):
        text = sentences(folder / "many.conll", 60).read_text()
        lines = [" ".join(line.split("\t")[0] for line in part.splitlines()) for part in text.split("\n\n") if part]
        (folder / "many.tsv").write_text("".join(f"{line}\tx\n" for line in lines))
        fields = "++data.fields={target: {type: text, column: 1, tokeniser: {type: words}}}"
        data = ["data=table", f"data.path={folder / 'many.tsv'}", fields, "model.nodes.decoder.depth=1"]
        kind = ["model=language_model", "objective=next_token"]
        processes.train_well([*SMALL, *kind, *data, f"runs={folder}", "name=lm"])

    return shared.folder("graph_transfer_text_lm", fill) / "lm"


def tagger(data, run, *more):
    here = ["experiment=elmo", f"data.path={data}", f"model.nodes.features.run={run}", "model.nodes.encoder.depth=1"]
    return [*SMALL, *here, *more]


def refused(overrides):
    with pytest.raises(UserError) as caught:
        prepare(compose(overrides))
    return " ".join(str(caught.value).split())


def test_frozen_bits_stay_the_checkpoint_stands_alone_and_the_run_resumes_without_the_other_one(lm, few, tmp_path):
    theirs = Model.load(lm).graph.state_dict()  # the moving average
    tokens = Model.load(lm).objective.source.fields["target"].contents.tokens
    other = shutil.copytree(lm, tmp_path / "lm")
    overrides = tagger(few, other, f"runs={tmp_path}", "optimiser.weight_decay=0.5", "schedule=constant")
    assert processes.run(processes.train, [*overrides, "name=whole", "training.ema=0.5"]).code == 0
    assert processes.run(processes.train, [*overrides, "name=parts", "training.ema=0.5", "training.steps=2"]).code == 0
    shutil.rmtree(other)
    assert processes.run(processes.train, [f"resume={tmp_path / 'parts'}", "training.steps=4"]).code == 0
    whole, parts = (
        checkpoint.load(tmp_path / name / "checkpoints" / "last.safetensors") for name in ("whole", "parts")
    )
    for part in ("model", "average"):
        inner = {name: tensor for name, tensor in whole[part].items() if name.startswith(INNER)}
        assert {name.removeprefix(INNER).split(".")[1] for name in inner} == (
            {"embedding", "decoder", "backward_embedding", "backward_decoder"} if part == "model" else
            {"embedding", "decoder", "backward_decoder"}  # tied weights have one average
        )  # fmt: skip
        for name, tensor in inner.items():
            assert torch.equal(tensor, theirs[name.removeprefix(INNER)]), name
        assert all(torch.equal(tensor, parts[part][name]) for name, tensor in whole[part].items())
    assert not torch.equal(whole["model"]["nodes.features.mix"], torch.zeros(2))
    facts = json.loads((tmp_path / "parts" / "run.json").read_text())["init"]["graphs"]["features"]
    assert facts["from"] == str(other / "checkpoints" / "best.safetensors")
    assert (facts["step"], facts["fields"], facts["digest"][:7]) == (4, {"context": "target"}, "sha256:")
    assert parts["init"]["graphs"]["features"] == facts
    model = Model.load(tmp_path / "parts")
    fields = model.objective.source.fields
    assert fields["context"].contents.tokens == tokens != fields["words"].contents.tokens
    (given,) = model.predict([{"words": "a good film", "context": "a good film"}])
    assert len(given["predicted"]) == 3
    export(model.graph, tmp_path / "exported", "torch", {})


def test_processes_agree_and_the_frozen_graph_stays_as_it_was(lm, few, tmp_path):
    overrides = [*tagger(few, lm, "trainer=ddp", "trainer.devices=2", "trainer.accelerator=cpu"), f"runs={tmp_path}"]
    done = processes.train_on(2, [*overrides, "name=run", "training.steps=2", "training.validate_every=null"])
    assert [process.code for process in done] == [0, 0]
    weights = checkpoint.load(tmp_path / "run" / "checkpoints" / "last.safetensors")["model"]
    theirs = Model.load(lm).graph.state_dict()
    inner = {name.removeprefix(INNER): tensor for name, tensor in weights.items() if name.startswith(INNER)}
    assert all(torch.equal(tensor, theirs[name]) for name, tensor in inner.items())
    assert not torch.equal(weights["nodes.features.mix"], torch.zeros(2))


def test_every_kind_of_run_can_be_read(shared, lm, text_lm, few):
    """A causal model over texts cut into words, a masked one over words, and both directions of one."""
    masked = ["model=tagger", "objective=masked_token", "objective.field=target", "model.nodes.encoder.depth=1"]
    causal = {}
    for name, run in {"text": text_lm, "masked": trained(shared, "bert", *masked), "both": lm}.items():
        plan, other = prepare(compose(tagger(few, run))), Model.load(run)
        weights, theirs = materialise(plan).state_dict(), other.graph.state_dict()
        inner = {name.removeprefix(INNER): tensor for name, tensor in weights.items() if name.startswith(INNER)}
        assert all(torch.equal(tensor, theirs[name]) for name, tensor in inner.items())
        context, read = plan.objective.fields["context"], other.objective.source.fields["target"]
        assert context.contents.tokens == read.contents.tokens
        causal[name] = plan.meta.nodes["features"].causal
    assert causal == {"text": True, "masked": False, "both": False}


#: Overrides, and sentences of the message.
REFUSED = [
    (["model.nodes.features.run=nowhere"],
     ["model.nodes.features.run command line: model.nodes.features.run=nowhere there is no run 'nowhere'."]),
    (["model.nodes.features.run=3"], ["expected the folder of a run or its checkpoint, found 3"]),
    (["model.nodes.features.read=[decodr]"],
     ["model.nodes.features.read command line", "the node 'decodr' of", "Did you mean 'decoder'?", "backward_decoder"]),
    (["model.nodes.features.from=tags"], ["model.nodes.features", "'tags' -> features -> joined", "'graph' looks"]),
    (["model.nodes.features.from=embedding"], ["'embedding' is of kind seq, but the port 'x' of 'graph' takes ids"]),
    (["++data.fields.context.lowercase=true"],
     ["data.fields.context.lowercase", "is True, but 'context' takes the vocabulary of", "which has False"]),
    (["data.fields.context.along=word"], ["data.fields.context.along", "'word' is no field of words. Did you mean"]),
]  # fmt: skip


@pytest.mark.parametrize(("overrides", "parts"), REFUSED, ids=lambda value: value[0] if "=" in value[0] else "")
def test_what_does_not_fit_is_said_with_its_place(lm, few, overrides, parts):
    message = refused(tagger(few, lm, *overrides))
    for sentence in parts:
        assert sentence in message, message


def test_a_text_cannot_take_the_vocabulary_of_a_field_of_words(lm, tmp_path):
    (tmp_path / "few.tsv").write_text("".join(f"the {word} film\t{word[0]}\n" for word in WORDS))
    node = f"++model.nodes.features={{kind: pretrained, type: graph, from: source, run: {lm}}}"
    graph = ["model=seq2vec", node, "model.nodes.encoder.from=features", "~model.nodes.embedding"]
    data = ["data=labelled", f"data.path={tmp_path / 'few.tsv'}", "data.tokeniser.type=words"]
    message = refused([*SMALL, *graph, *data])
    assert "model.nodes.features.from command line" in message
    assert "'source' is a text with the tokeniser 'words', but 'target' of" in message
    assert "is a field of words. Declare a field of that type." in message


def test_weights_without_a_graph_are_refused(lm, few, tmp_path):
    model = Model.load(lm)
    export(model.graph, tmp_path, "safetensors", {"config": model.config, "step": 4, "data": dict(model.vocabularies)})
    assert prepare(compose(tagger(few, tmp_path))).taken_from["graphs"]["features"]["step"] == 4
    (tmp_path / "manifest.json").unlink()
    assert "holds weights only, and no graph" in refused(tagger(few, tmp_path / "model.safetensors"))
