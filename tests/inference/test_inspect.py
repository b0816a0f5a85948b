"""``inspect``: one page that holds its pictures."""

import html
import json
import re
import shutil

import pytest
import torch

from composer.core.signals import Contents, Field
from composer.inference.model_vectors import TokenVectors
from tests.support.trained import FAMILIES, TYPED


@pytest.mark.parametrize("family", FAMILIES)
def test_inspect_writes_one_page_that_holds_its_pictures(runs, ask, tmp_path, family):
    folder = tmp_path / "looked into"
    code, out, err = ask("inspect", runs(family), "-o", folder, "--examples", 1)
    assert (code, err) == (0, "")
    assert str(folder / "inspect.html") in out
    page = (folder / "inspect.html").read_text()
    pictures = list(folder.glob("*.png"))
    assert page.count("data:image/png;base64,") == len(pictures)
    assert {"learning_curves", "gradient_by_step"} <= {picture.stem for picture in pictures}
    assert any(picture.stem.startswith("states_") for picture in pictures)
    assert 'src="http' not in page
    sections = re.findall('<h2 id="([^"]+)">', page)
    assert sections[:1] == ["metrics"]
    assert re.findall('<a href="#([^"]+)">', page) == sections
    assert len({*sections}) == len(sections)
    classes = any(picture.stem.startswith("confusion_") for picture in pictures)
    assert ("classes" in sections) == classes
    assert ("The examples with the largest loss of" in page) == classes
    record = json.loads((runs(family) / "run.json").read_text())
    for name, value in record["result"].items():
        assert f"<td>{name.removeprefix('valid/')}</td>" in page.replace(' class="short"', ""), name
        assert value is None or f">{value:.4g}<" in page


def test_inspect_needs_no_data_and_lists_the_neighbours_asked_for(runs, ask, refused, tmp_path, monkeypatch):
    folder = runs("seq2seq")
    shutil.copy(folder / "checkpoints" / "best.safetensors", tmp_path / "alone.pt")
    monkeypatch.chdir(tmp_path)
    code, _, err = ask("inspect", tmp_path / "alone.pt", "--given", "red green", "--tokens", "a,e")
    assert (code, err) == (0, "")
    assert (tmp_path / "inspect" / "inspect.html").is_file()
    assert "there is no token 'zz'" in refused("inspect", tmp_path / "alone.pt", "--tokens", "zz")


def test_what_is_forecast_is_drawn(runs, ask, tmp_path):
    ask("inspect", runs("forecaster"), "-o", tmp_path, "--given", TYPED["forecaster"][0])
    assert (tmp_path / "forecast_1_output.png").is_file()


def test_channels_of_a_forecast_are_named():
    from composer.views.figures.forecast import forecast_figure

    steps = torch.zeros(5, 2)
    for names, expected in ((None, ["channel 1", "channel 2"]), (["CO(GT)", "wind"], ["CO(GT)", "wind"])):
        figure = forecast_figure("output", steps, [], None, steps, channels=names)
        assert [axes.get_ylabel() for axes in figure.axes] == expected


def test_the_legend_of_a_projection_names_what_it_lists():
    from composer.views.figures.projection import GROUPS, projection_figure

    groups = [f"word {i % (GROUPS + 3)}" for i in range(40)]
    points = torch.randn(40, 4, generator=torch.Generator().manual_seed(0))
    legend = projection_figure("States", points, groups=groups, legend="token read\nin 'words'").axes[0].get_legend()
    assert legend.get_title().get_text() == "token read\nin 'words'"
    assert legend.get_texts()[-1].get_text() == "3 others"


def test_a_page_escapes_whatever_a_token_is(tmp_path):
    from composer.views.html_page import HtmlTable, PageSection, Picture, html_page

    (tmp_path / "a.png").write_bytes(b"png")
    nasty = "<script>alert(1)</script>\"'&"
    section = PageSection(nasty, [nasty], [Picture("a.png", nasty)], [HtmlTable(nasty, [nasty], [[nasty]])], "", nasty)
    text = html_page(nasty, [section], tmp_path)
    assert "<script" not in text
    assert 'alt="&lt;script&gt;alert(1)&lt;/script&gt;&quot;' in text


def test_principal_components_are_those_of_torch():
    from composer.views.figures.projection import principal

    points = torch.randn(40, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found, shares = principal(points)
    _, sizes, directions = torch.pca_lowrank(points, q=6, niter=8)
    other = (points - points.mean(0)) @ directions[:, :2]
    torch.testing.assert_close(found.abs(), other.abs())
    torch.testing.assert_close(shares, (sizes.square() / sizes.square().sum())[:2])
    assert float(principal(points[:1])[0].abs().max()) == 0
    assert principal(points[:, :1])[0][:, 1].tolist() == [0] * 40


def test_neighbours_of_named_tokens_are_on_the_page_and_in_the_terminal(runs, ask, tmp_path):
    code, out, _ = ask("inspect", runs("seq2seq"), "-o", tmp_path, "--given", "red green", "--tokens", "a,e")
    assert code == 0
    tables = [line.split("  ")[0] for line in out.splitlines()[:-1]]
    assert tables.count("a") == tables.count("e") >= 1
    for line in out.splitlines()[:-1]:
        assert html.escape(line.split("  ")[1].split(", ")[0]) in (tmp_path / "inspect.html").read_text()


def test_analogies_are_answered_on_the_page_and_in_the_terminal(runs, ask, refused, tmp_path):
    folder = runs("seq2seq")
    code, out, _ = ask("inspect", folder, "-o", tmp_path, "--given", "red green", "--analogy", "a", "e", "g")
    assert code == 0
    assert out.startswith("a : e :: g : ?  ")
    assert "a : e :: g : ?" in (tmp_path / "inspect.html").read_text()
    assert "--analogy: there is no token 'zz'" in refused("inspect", folder, "--analogy", "a", "e", "zz")


def test_an_analogy_is_the_token_nearest_to_b_minus_a_plus_c():
    unit = torch.nn.functional.normalize(torch.randn(9, 4, generator=torch.Generator().manual_seed(1)), dim=1)
    stretched = unit * torch.arange(1, 10)[:, None]  # lengths do not matter
    wanted = torch.nn.functional.cosine_similarity(unit[5] - unit[2] + unit[7], unit, dim=1)
    best = [i for i in wanted.argsort(descending=True).tolist() if i not in (5, 2, 7, 0)]
    tokens = Field("ids", vocabulary=9, contents=Contents(tokens=tuple("abcdefghi")))
    found = TokenVectors("embedding", "text", tokens, stretched).analogous(*"cfh", 3, without=(0, None))
    assert [token for token, _ in found] == ["abcdefghi"[i] for i in best[:3]]
    assert [alike for _, alike in found] == pytest.approx(wanted[best[:3]].tolist(), abs=1e-6)
