"""Transfer: a run begins with weights and vocabularies of another run; what does not fit is said before training."""

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
    "model.dim=8", "mixer.heads=2", "model.nodes.encoder.depth=1", "training.batch=8", "training.figures=false",
    "training.samples=0", "trainer.threads=1", "training.steps=6", "training.validate_every=6",
]  # fmt: skip
WORDS = ["good", "bad", "fine", "poor", "film", "story", "actor", "the", "a", "very", "not", "is", "was", "end"]


def sentences(path, count, order=1):
    """Rows of a text and a class. Another order gives another vocabulary, because words are numbered by frequency."""
    words = WORDS[::order]
    rows = [
        (" ".join(words[(i * j) % (1 + i % len(words))] for j in range(3 + i % 4)), "yes" if i % 3 else "no")
        for i in range(count)
    ]
    path.write_text("".join(f"{text}\t{label}\n" for text, label in rows))
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    return sentences(folder / "many.tsv", 60), sentences(folder / "few.tsv", 40, order=-1)


@pytest.fixture
def pretrained(shared):
    """A masked language model with an average of its weights."""

    def fill(folder):
        data = sentences(folder / "many.tsv", 60)
        processes.train_well([*PRETRAINING, f"data.path={data}", f"runs={folder}", "name=bert"])

    return shared.folder("pretrained_bert", fill) / "bert"


#: The name of some weight of the encoder.
FEED_FORWARD = "nodes.encoder.layers.0.ffn.call.block.rise.weight"

PRETRAINING = [
    *SMALL, "model=tagger", "objective=masked_token", "data=labelled", "data.tokeniser.type=words",
    "model.nodes.output.tied=embedding", "training.ema=0.9",
]  # fmt: skip


def classifier(data, run, *more):
    return [*SMALL, "model=seq2vec", "data=labelled", f"data.path={data}", f"init.from={run}", *more]


def start(overrides):
    plan = prepare(compose(overrides))
    return plan, materialise(plan).state_dict()


def refused(overrides):
    with pytest.raises(UserError) as caught:
        prepare(compose(overrides))
    return " ".join(str(caught.value).split())


def best(run):
    """The weights that a run's checkpoint stands for: their moving average."""
    return Model.load(run).graph.state_dict()


def test_nodes_begin_with_the_averaged_weights_of_the_other_run_and_others_at_random(pretrained, files):
    plan, weights = start(classifier(files[1], pretrained))
    theirs = best(pretrained)
    for name, tensor in weights.items():
        if name.startswith("nodes.encoder."):
            assert torch.equal(tensor, theirs[name]), name
    vocabulary = len(weights["nodes.embedding.embedding.weight"])
    tokens = theirs["nodes.embedding.embedding.weight"]
    assert len(tokens) == vocabulary + 1  # and [MASK], which the objective adds
    assert torch.equal(weights["nodes.embedding.embedding.weight"], tokens[:vocabulary])
    assert list(plan.taken_from["nodes"]) == ["embedding", "encoder"]  # the head predicts something else
    named = classifier(files[1], pretrained, "init.nodes=[embedding]")
    drawn = {seed: start([*named, f"seed={seed}"])[1] for seed in (1, 2)}
    assert not torch.equal(drawn[1][FEED_FORWARD], theirs[FEED_FORWARD])
    assert not torch.equal(drawn[1][FEED_FORWARD], drawn[2][FEED_FORWARD])


def test_a_token_has_the_same_number_in_both_runs(pretrained, files):
    plan, _ = start(classifier(files[1], pretrained))
    theirs = Model.load(pretrained).objective.source.fields["source"].contents.tokens
    assert plan.objective.fields["source"].contents.tokens == theirs
    alone = prepare(compose([*classifier(files[1], pretrained)[:-1]]))
    assert alone.objective.fields["source"].contents.tokens != theirs
    assert plan.objective.fields["target"].contents.tokens == ("no", "yes")  # its own


def test_a_head_comes_along_where_it_predicts_a_vocabulary_that_does(pretrained, files):
    again = [*PRETRAINING, f"data.path={files[1]}", f"init.from={pretrained}"]
    plan, weights = start(again)
    assert list(plan.taken_from["nodes"]) == ["embedding", "encoder", "output"]
    theirs = best(pretrained)
    assert all(torch.equal(tensor, theirs[name]) for name, tensor in weights.items())


def test_a_node_can_have_another_name_and_fill_several(pretrained, files):
    data = ["model=seq2seq", "data=pairs", f"data.path={files[1]}", "model.nodes.decoder.depth=1"]
    names = "init.nodes={embedding: source_embedding, encoder: [encoder, decoder]}"
    overrides = [*SMALL, *data, f"init.from={pretrained}", names]
    assert "there is no layers.0.cross" in refused(overrides)
    assert "init.partial=true" in refused(overrides)
    _, weights = start([*overrides, "init.partial=true"])
    theirs = best(pretrained)
    for ours in ("encoder", "decoder"):
        assert torch.equal(weights[FEED_FORWARD.replace("encoder", ours)], theirs[FEED_FORWARD])


@pytest.mark.parametrize("with_manifest", [True, False])
def test_weights_come_out_of_a_safetensors_file(pretrained, files, tmp_path, with_manifest):
    model = Model.load(pretrained)
    metadata = {"config": model.config, "step": model.step, "data": dict(model.vocabularies)}
    export(model.graph, tmp_path, "safetensors", metadata)
    if not with_manifest:
        (tmp_path / "manifest.json").unlink()
    source = tmp_path / "model.safetensors"
    plan, weights = start(classifier(files[1], source, "init.nodes=[encoder]"))
    assert torch.equal(weights[FEED_FORWARD], best(pretrained)[FEED_FORWARD])
    assert plan.taken_from["step"] == (6 if with_manifest else None)
    if not with_manifest:  # without the tokens' names, a matrix with one more row is another one
        assert "is (17, 8) here and (18, 8) there" in refused(classifier(files[1], source))
        assert "weights only, and no vocabulary" in refused(classifier(files[1], source, "init.fields=[source]"))
    else:
        plan, _ = start(classifier(files[1], tmp_path))
        assert plan.taken_from["fields"] == {"source": "source"}


#: Overrides, and sentences of the message.
REFUSED = [
    (
        ["init.nodes=[embeding]"],
        ["init.nodes command line: init.nodes=[embeding] the node 'embeding' does not exist in",
         "Did you mean 'embedding'?", "there is no node 'embeding' in this model"],
    ),
    (["init.nodes={encoder: decoder}"], ["no node 'decoder' in this", "(nodes: embedding, encoder, pool, output)"]),
    (["init.nodes={embedding: encoder, encoder: encoder}"], ["'encoder' would take the weights of several nodes"]),
    (["init.nodes=[]"], ["init.nodes", "is empty"]),
    (
        ["model.dim=16"],
        ["2 problems", "model.nodes.embedding", "is (17, 16) here and (18, 8) there", "model.nodes.encoder"],
    ),
    (["model.nodes.encoder.depth=2"], ["model.nodes.encoder", "no layers.1.", "There it has depth: 1, here 2"]),
    (["init.nodes=[embedding,output]"], ["model.nodes.output", "predicts 'target', of kind label, but in"]),
    (["init.fields=[]"], ["model.nodes.embedding", "reads 'source', whose token 3 is"]),
    (["init.fields=[text]"], ["init.fields", "has no vocabulary or scale of 'text'"]),
    (
        ["data.tokeniser.type=bpe"],
        ["data.tokeniser.type command line: data.tokeniser.type=bpe is 'bpe', but 'source' takes the vocabulary of"],
    ),
    (["data.tokeniser={lowercase: true}"], ["data.tokeniser.lowercase", "which has False"]),
    (
        ["data.tokeniser.type=words", "data.tokeniser.max_length=5", "init.freeze=[pool,decoder]"],
        ["2 problems", "the node 'pool' has no weights", "the node 'decoder' does not exist"],
    ),
    (
        ["init.freeze=[embedding]", "init.unfreeze_after.encoder=3"],
        ["init.unfreeze_after.encoder command line: init.unfreeze_after.encoder=3 'encoder' is not frozen"],
    ),
    (["init.freeze=[embedding,encoder,output]"], ["freezes every weight of the model"]),
    (["init.from=nowhere"], ["init.from command line: init.from=nowhere there is no run 'nowhere'."]),
    (["init.from=3"], ["init.from", "expected the folder of a run, a checkpoint or a safetensors file, found 3"]),
    (["init.from=null", "init.nodes=[encoder]"], ["init.nodes", "has no effect: init.from does not say"]),
    (["+init.form=run"], ["'init' has no parameter 'form'. Did you mean 'from'?", "takes: from, nodes"]),
    (["init.node=[encoder]"], ["'init' has no key 'node'. Did you mean 'nodes'?"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("overrides", "sentences"), REFUSED, ids=lambda value: " ".join(value) if "=" in value[0] else ""
)
def test_what_does_not_fit_is_said_with_its_place(pretrained, files, overrides, sentences):
    message = refused(classifier(files[1], pretrained, *overrides))
    for sentence in sentences:
        assert sentence in message, message


def test_a_file_that_could_run_code_is_refused(files, tmp_path):
    torch.save({"model": print}, tmp_path / "bad.pt")
    assert "which could run code" in refused(classifier(files[1], tmp_path / "bad.pt"))


def test_the_run_records_where_its_weights_came_from_and_resumes_without_it(pretrained, files, tmp_path):
    source = shutil.copytree(pretrained, tmp_path / "bert")
    overrides = classifier(files[1], source, f"runs={tmp_path}", "name=run", "schedule=constant")
    assert processes.run(processes.train, [*overrides, "training.steps=3"]).code == 0
    facts = json.loads((tmp_path / "run" / "run.json").read_text())["init"]
    assert facts["from"] == str(source / "checkpoints" / "best.safetensors")
    assert (facts["step"], facts["nodes"]) == (6, {"embedding": "embedding", "encoder": "encoder"})
    assert facts["digest"].startswith("sha256:")
    shutil.rmtree(source)
    assert processes.run(processes.train, [f"resume={tmp_path / 'run'}", "training.steps=6"]).code == 0
    resumed = checkpoint.load(tmp_path / "run" / "checkpoints" / "last.safetensors")
    assert resumed["init"] == facts
    straight = classifier(files[1], pretrained, f"runs={tmp_path}", "name=one", "schedule=constant")
    assert processes.run(processes.train, straight).code == 0
    whole = checkpoint.load(tmp_path / "one" / "checkpoints" / "last.safetensors")
    assert resumed["source"] == whole["source"]
    assert all(torch.equal(tensor, whole["model"][name]) for name, tensor in resumed["model"].items())
    assert Model.load(tmp_path / "run").objective.source.fields["source"].contents.tokens is not None
