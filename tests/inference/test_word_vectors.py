"""Token vectors written as text are those of the model, and ``embedding=pretrained`` reads them back."""

import pytest
import torch

from composer.inference.model import Model
from tests.support.twins import make

pytestmark = pytest.mark.slow

WORDS = [
    "experiment=word2vec", "data=text", "data.path=words.txt", "data.length=8", "data.tokeniser.min_count=null",
    "objective.subsample=null", "model.dim=6",
    "training.epochs=null", "training.steps=4", "training.batch=16", "training.figures=false",
]  # fmt: skip


@pytest.fixture(scope="module")
def words(shared):
    from composer.config.composition import compose
    from composer.training.run.train import train

    folder = shared.folder(
        "text of words", lambda folder: (folder / "words.txt").write_text("The king, and the Queen. A sword! " * 30)
    )
    overrides = [value.replace("words.txt", str(folder / "words.txt")) for value in WORDS]
    return shared.run(lambda overrides: train(compose(overrides)), overrides)


def test_exported_vectors_are_read_back_by_the_pretrained_embedding(words, ask, tmp_path):
    code, out, err = ask("export", words, "--format", "vectors", "-o", tmp_path)
    assert (code, err) == (0, "")
    path = tmp_path / "embedding.txt"
    assert str(path) in out
    tokens, weight = Model.load(words).token_vectors()
    plain = [row for row, token in enumerate(tokens) if not token.startswith("<")]
    assert path.read_text().splitlines()[0] == f"{len(plain)} 6"
    block = make("embedding", "pretrained", len(tokens), tokens, path=str(path), dim=None)
    torch.testing.assert_close(block.weight[plain].float(), weight[plain], rtol=1e-5, atol=1e-7)


def test_tokens_that_the_format_cannot_hold_are_refused(runs, refused, tmp_path):
    said = refused("export", runs("language_model"), "--format", "vectors", "-o", tmp_path / "none")
    assert "spaces or line breaks" in said
    assert not (tmp_path / "none").exists()


def test_the_python_interface_answers_an_analogy(words):
    model = Model.load(words)
    found = model.analogy("king", "queen", "the", 3)
    assert len(found) == 3
    assert not {"king", "queen", "the"} & {token for token, _ in found}
