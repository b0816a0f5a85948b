"""Drawings: whatever the graph, boxes stand apart, lines keep clear of them, and the text survives any name."""

from __future__ import annotations

import copy
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from composer.views.drawing import captions, mermaid, palette, svg
from composer.views.drawing.cards import cards
from composer.views.drawing.difference import differences
from composer.views.drawing.graph_layout import Box
from composer.views.drawing.panel import panel

SVG = "{http://www.w3.org/2000/svg}"


def make_node(name: str, sources: dict[str, list[str]], **facts: Any) -> dict[str, Any]:
    return {
        "name": name,
        "kind": "stack",
        "block": "stack",
        "contents": [],
        "from": sources,
        "predicts": None,
        "shares": [],
        "output": {"kind": "seq", "shape": ["B", "T", 128]},
        "parameters": 396800,
        "flops_per_token": 793600,
        "state_bytes": 0,
        "runs": "once",
        "causal": True,
        "settings": {"depth": 2},
    } | facts


def make_summary(inputs: list[str], nodes: list[dict[str, Any]]) -> dict[str, Any]:
    parameters = sum(node["parameters"] for node in nodes)
    return {
        "family": "Seq2Seq",
        "length": 128,
        "inputs": [{"name": name, "kind": "ids", "shape": ["B", "T"], "vocabulary": 61} for name in inputs],
        "nodes": nodes,
        "totals": {"parameters": parameters, "flops_per_token": 2 * parameters, "state_bytes": 4096},
    }


def seq2seq() -> dict[str, Any]:
    tied = {
        "predicts": "target",
        "shares": ["target_embedding"],
        "runs": "streams",
        "block": "categorical",
        "kind": "head",
    }
    summary = make_summary(
        ["source", "target"],
        [
            make_node("source_embedding", {"x": ["source"]}, kind="embedding", block="token", parameters=7808),
            make_node("encoder", {"x": ["source_embedding"]}, contents=["2 x attention + mlp"], causal=False),
            make_node("target_embedding", {"x": ["target"]}, kind="embedding", block="token", runs="streams"),
            make_node("decoder", {"x": ["target_embedding"], "memory": ["encoder"]}, runs="streams"),
            make_node("output", {"x": ["decoder"]}, **tied),
        ],
    )
    summary["inputs"][1]["generated"] = True
    return summary


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, Any]:
    """Random graphs: merges, skips, parallel edges, several heads, nodes without sources, shared weights anywhere."""
    names = draw(st.lists(st.text(min_size=1, max_size=30), min_size=1, max_size=16, unique=True))
    inputs = names[: draw(st.integers(0, min(3, len(names) - 1)))]
    nodes: list[dict[str, Any]] = []
    for name in names[len(inputs) :]:
        above = inputs + [node["name"] for node in nodes]
        some = st.lists(st.sampled_from(above), min_size=1, max_size=4) if above else st.just([])
        ports = {"x": draw(some)} | ({"memory": draw(some)} if draw(st.booleans()) else {})
        shares = draw(st.lists(st.sampled_from(above), max_size=2)) if above else []
        nodes.append(
            make_node(
                name,
                {port: sources for port, sources in ports.items() if sources},
                kind=draw(st.sampled_from(["stack", "merge", "head", "of my own"])),
                predicts=draw(st.sampled_from([None, None, "target"])),
                shares=[share for share in shares if share not in inputs],
                runs=draw(st.sampled_from(["once", "streams"])),
                contents=draw(st.lists(st.text(max_size=60), max_size=2)),
                settings=draw(st.dictionaries(st.text(max_size=8), st.text(max_size=8), max_size=3)),
            )
        )
    return make_summary(inputs, nodes)


def chain(length: int) -> dict[str, Any]:
    nodes = [make_node("node 0", {"x": ["text"]})]
    for i in range(1, length):
        skips = [f"node {max(0, i - 7)}"] if i % 5 == 0 else []
        nodes.append(make_node(f"node {i}", {"x": [f"node {i - 1}", *skips]}))
    return make_summary(["text"], nodes)


def names_of(summary: dict[str, Any]) -> list[str]:
    return [entry["name"] for entry in (*summary["inputs"], *summary["nodes"])]


def labels_of(graph: ET.Element) -> list[str]:
    return [text.text or "" for text in graph.iter(f"{SVG}text") if text.get("font-weight") == "700"]


def graphs_of(document: str) -> list[ET.Element]:
    return [group for group in ET.fromstring(document).iter(f"{SVG}g") if group.get("class") == "graph"]


def normal(text: str) -> str:
    """What XML leaves of a name: control characters are shown as replaced, line ends as one."""
    return (
        re.sub("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
        .replace("\r\n", "\n")
        .replace("\r", "\n")
    )


def check_geometry(summary: dict[str, Any]) -> None:
    layout = panel(summary, cards(summary)).layout
    boxes = list(layout.boxes.items())
    assert [name for name, _ in boxes] == names_of(summary)
    for i, (name, box) in enumerate(boxes):
        assert not any(box.overlaps(other) for _, other in boxes[i + 1 :]), name
        assert min(box.x, box.y) >= -1e-6
        assert box.right <= layout.width + 1e-6
        assert box.bottom <= layout.height + 1e-6
    for route in layout.routes:
        source, target = layout.boxes[route.link.source], layout.boxes[route.link.target]
        if not route.link.loose:
            assert source.bottom < target.y, "data flows down"
            assert route.curves[0][0][1] == pytest.approx(source.bottom)
            assert route.curves[-1][3][1] == pytest.approx(target.y)
            assert target.x < route.curves[-1][3][0] < target.right
        for x, y in route.samples(12):
            assert -1e-6 <= x <= layout.width + 1e-6
            assert -1e-6 <= y <= layout.height + 1e-6
            # Its ends, too: a line touches them, and never runs inside.
            assert not any(shrunk(box).holds((x, y)) for _, box in boxes), (route.link, x, y)
        for before, after in zip(route.curves, route.curves[1:], strict=False):
            assert before[3] == after[0], "a line without a break"


def shrunk(box: Box, by: float = 1e-6) -> Box:
    return Box(box.x + by, box.y + by, box.width - 2 * by, box.height - 2 * by)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(graphs())
def test_boxes_stand_apart_and_lines_keep_clear_of_them(summary: dict[str, Any]) -> None:
    check_geometry(summary)


@pytest.mark.parametrize("length", [1, 2, 60])
def test_long_chains_with_skips_keep_clear_too(length: int) -> None:
    check_geometry(chain(length))


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(graphs())
def test_every_name_is_shown_once_whatever_it_holds(summary: dict[str, Any]) -> None:
    document = svg(summary)
    (graph,) = graphs_of(document)
    assert sorted(labels_of(graph)) == sorted(normal(name) for name in names_of(summary))
    assert svg(copy.deepcopy(summary)) == document


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(graphs(), graphs())
def test_a_comparison_shows_both_graphs_whole(before: dict[str, Any], after: dict[str, Any]) -> None:
    left, right = graphs_of(svg(after, before))
    assert sorted(labels_of(left)) == sorted(normal(name) for name in names_of(before))
    assert sorted(labels_of(right)) == sorted(normal(name) for name in names_of(after))
    assert mermaid(after, before).count("subgraph ") == 3


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(graphs(), st.one_of(st.none(), graphs()))
def test_nothing_leaves_the_page(summary: dict[str, Any], against: dict[str, Any] | None) -> None:
    root = ET.fromstring(svg(summary, against))
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    for graph in (group for group in root.iter(f"{SVG}g") if group.get("class") == "graph"):
        dx, dy = map(float, graph.attrib["transform"].removeprefix("translate(").removesuffix(")").split())
        for rect in graph.iter(f"{SVG}rect"):
            x, y, w, h = (float(rect.attrib[key]) for key in ("x", "y", "width", "height"))
            assert 0 <= x + dx <= x + dx + w <= width + 0.2
            assert 0 <= y + dy <= y + dy + h <= height + 0.2
        for text in graph.iter(f"{SVG}text"):
            assert 0 <= float(text.attrib["x"]) + dx <= width
            assert 0 <= float(text.attrib["y"]) + dy <= height


def test_a_drawing_says_what_the_graph_is() -> None:
    root = ET.fromstring(svg(seq2seq()))
    texts = [element.text for element in root.iter(f"{SVG}text")]
    for expected in ("Seq2Seq", "memory", "shared weights", "predicts target", "(B, T, 128)", "2 x attention + mlp"):
        assert expected in texts
    assert "(B, T, 128) · 396.8k parameters" in texts
    assert texts.count("streams") == 3
    assert texts.count("generated") == 1
    assert "streams, step by step" in texts
    assert "runs once" in texts
    assert any(path.get("stroke-dasharray") for path in root.iter(f"{SVG}path") if path.get("class") == "shared")
    tooltips = [title.text or "" for title in root.iter(f"{SVG}title")]
    assert any("depth: 2" in tooltip for tooltip in tooltips)


def test_inputs_stand_at_the_top_and_heads_at_the_bottom() -> None:
    summary = seq2seq()
    summary["nodes"].append(make_node("early_exit", {"x": ["source_embedding"]}, predicts="language"))
    boxes = panel(summary, cards(summary)).layout.boxes
    assert boxes["source"].y == boxes["target"].y == min(box.y for box in boxes.values())
    lowest = max(box.y for box in boxes.values())
    assert boxes["output"].y == pytest.approx(lowest, abs=20)
    assert boxes["early_exit"].y == pytest.approx(lowest, abs=20)


def test_a_chain_is_straight_and_a_planar_graph_is_drawn_without_crossings() -> None:
    straight = make_summary(["text"], [make_node("a", {"x": ["text"]}), make_node("much_longer_name", {"x": ["a"]})])
    for route in panel(straight, cards(straight)).layout.routes:
        assert len({round(x, 3) for curve in route.curves for x, _ in curve}) == 1
    nodes = [
        make_node("c", {"x": ["a"]}),
        make_node("d", {"x": ["b"]}),
        make_node("e", {"x": ["c", "d"]}),
        make_node("f", {"x": ["e", "a"]}),  # its line must pass left of c
    ]
    planar = make_summary(["a", "b"], nodes)
    routes = panel(planar, cards(planar)).layout.routes
    ordered = {route.link: route.samples(32) for route in routes}
    skip, other = (
        ordered[next(r.link for r in routes if (r.link.source, r.link.target) == ends)]
        for ends in (("a", "f"), ("d", "e"))
    )
    assert not any(abs(x - u) < 4 and abs(y - v) < 4 for x, y in skip for u, v in other)


def test_a_box_grows_with_its_words() -> None:
    summary = make_summary(["text"], [make_node("name" * 40, {"x": ["text"]}, contents=["word " * 30])])
    text, node = cards(summary)
    assert node.width > 40 * 4 * 7
    assert len([line for line in node.lines if line.text.startswith("word")]) > 1
    assert text.width < node.width


def changed_seq2seq() -> dict[str, Any]:
    summary = seq2seq()
    encoder, decoder = summary["nodes"][1], summary["nodes"][3]
    encoder["settings"] = {"depth": 4, "mixer.type": "mingru"}
    encoder["parameters"] = 198400
    decoder["from"] = {"x": ["target_embedding"], "memory": ["bridge"]}
    summary["nodes"].insert(2, make_node("bridge", {"x": ["encoder"]}, parameters=0))
    summary["nodes"][-1]["shares"] = []
    summary["totals"] |= {"parameters": 800_000, "flops_per_token": 0}
    return summary


def test_differences_are_marked_in_words() -> None:
    before, after = seq2seq(), changed_seq2seq()
    before["totals"] |= {"parameters": 1_000_000, "flops_per_token": 0}
    document = svg(after, before)
    left, right = graphs_of(document)
    marks = {labels_of(node)[0]: node for node in right.iter(f"{SVG}g") if (node.get("class") or "").startswith("node")}
    classes = {name: (node.get("class") or "").split()[-1] for name, node in marks.items()}
    assert classes["bridge"] == "added"
    assert classes["encoder"] == classes["decoder"] == classes["output"] == "changed"
    assert classes["source_embedding"] == classes["source"] == "same"
    said = {name: [text.text for text in node.iter(f"{SVG}text")] for name, node in marks.items()}
    assert "+ added" in said["bridge"]
    assert {"depth: 2 → 4", "+ mixer.type: mingru", "parameters: 396,800 → 198,400"} <= set(said["encoder"])
    assert "from memory: encoder → bridge" in said["decoder"]
    assert "− shares: target_embedding" in said["output"]  # noqa: RUF001 (a minus sign)
    assert "unset" not in document
    assert "3 nodes differ, 1 added, parameters 1.0M → 800.0k (-20 %)" in document
    assert "depth: 2" in [text.text for text in left.iter(f"{SVG}text")]
    assert "1 removed" in svg(before, after)
    assert "− removed" in svg(before, after)  # noqa: RUF001 (a minus sign)


def test_equal_graphs_do_not_differ() -> None:
    document = svg(seq2seq(), seq2seq())
    assert "no differences" in document
    left, right = graphs_of(document)
    for each in (left, right):
        each.attrib.pop("transform")
    assert ET.tostring(left).strip() == ET.tostring(right).strip()


def test_ports_and_settings_may_have_the_names_of_facts() -> None:
    before = make_summary(["a"], [make_node("n", {"x": ["a"]}, settings={"block": 1, "shape": 2})])
    after = make_summary(["a"], [make_node("n", {"x": ["a"]}, settings={"block": 3, "shape": 2})])
    (change,) = differences(before, after).changed["n"]
    assert str(change) == "block: 1 → 3"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (950, "950"),
        (7808, "7.8k"),
        (396800, "396.8k"),
        (999_960, "1.0M"),
        (1_000_000, "1.0M"),
        (2.5e9, "2.5G"),
    ],
)
def test_counts_are_written_for_people(number: float, text: str) -> None:
    assert captions.count(number) == text


STATEMENT = re.compile(
    r"""flowchart\ TD|\ *(
        subgraph\ \w+\["[^"\n]*"\] | direction\ (TB|LR) | before\ ~~~\ after | end
        | [a-z]\d+(\["[^"\n]*"\]|\(\["[^"\n]*"\]\))
        | [a-z]\d+\ (-->|-\.-)\|"[^"\n]*"\|\ [a-z]\d+
        | classDef\ \w+\ [\w:#,\ -]+ | class\ [\w,]+\ \w+
    )""",
    re.VERBOSE,
)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(graphs(), st.one_of(st.none(), graphs()))
def test_mermaid_has_only_well_formed_statements(summary: dict[str, Any], against: dict[str, Any] | None) -> None:
    text = mermaid(summary, against)
    for line in text.rstrip("\n").split("\n"):
        assert STATEMENT.fullmatch(line), line
        plain = re.sub(r"</?[bi]>|<br/>|-->", "", line)
        assert not re.search(r"[<>`&]", plain), line
    assert text == mermaid(copy.deepcopy(summary), copy.deepcopy(against))


def test_mermaid_says_what_the_graph_is() -> None:
    text = mermaid(seq2seq())
    assert text.startswith("flowchart TD\n")
    assert '-->|"memory"|' in text
    assert '-.-|"shared weights"|' in text
    assert "classDef streams" in text
    assert "classDef once" in text
    compared = mermaid(changed_seq2seq(), seq2seq())
    assert "classDef added" in compared
    assert "classDef changed" in compared
    assert "depth#58; 2 → 4" in compared


def test_mermaid_keywords_are_no_ids() -> None:
    text = mermaid(make_summary(["end"], [make_node('a"]; end', {"x": ["end"]})]))
    assert "<b>end</b>" in text
    assert "<b>a#34;#93;#59; end</b>" in text


@pytest.mark.slow
def test_drawing_needs_the_standard_library_only() -> None:
    code = "import sys, composer.views.drawing; print({'torch', 'hydra', 'numpy', 'omegaconf'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def luminance(colour: str) -> float:
    """Of WCAG 2."""
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("dark", [False, True])
def test_all_words_can_be_read_on_every_background_of_a_drawing(dark: bool) -> None:
    shown = palette.DARK if dark else {}
    root = ET.fromstring(svg(changed_seq2seq(), seq2seq(), opened=True))
    words = {element.get("fill") or palette.INK for element in root.iter(f"{SVG}text")}
    for background in (palette.PAPER, palette.TINT):
        for colour in words:
            assert contrast(shown.get(colour, colour), shown.get(background, background)) > 4.5, colour
    accents = {path.attrib["fill"] for path in root.iter(f"{SVG}path") if path.get("fill")}
    for colour in {*palette.KINDS.values(), *palette.OTHERS} if dark else accents - {palette.HAIR, "none"}:
        assert contrast(shown.get(colour, colour), shown.get(palette.PAPER, palette.PAPER)) > (3 if dark else 1.4), (
            colour
        )


def test_the_style_sheet_changes_colours_on_dark_systems_alone() -> None:
    (style,) = ET.fromstring(svg(seq2seq())).iter(f"{SVG}style")
    text = str(style.text)
    assert text.startswith("@media (prefers-color-scheme:dark){")
    assert text.count("@media") == 1
    rules = text.removeprefix("@media (prefers-color-scheme:dark){").removesuffix("}")
    assert all(rule.startswith(".composer-graph [") for rule in rules.split("}") if rule)


def test_a_stack_opens_into_its_layers_and_a_comparison_has_the_titles_of_its_configs() -> None:
    summary = seq2seq()
    parts = [{"does": "layer norm → attention → +", "parameters": 66048}]
    summary["nodes"][1]["layers"] = [{"title": "layers 1 to 2, each", "parts": parts}]
    for draw in (svg, mermaid):
        assert "layers 1 to 2" not in draw(summary)
        assert "layers 1 to 2, each" in draw(summary, opened=True)
        assert "66.0k" in draw(summary, opened=True)
        assert "2 x attention" in draw(summary)
        titled = draw(changed_seq2seq(), seq2seq(), ["first", "second"])
        assert ("first" in titled, "second" in titled) == (True, True)
    assert "first → second" in svg(changed_seq2seq(), seq2seq(), ["first", "second"])


def test_keys_of_a_block_that_was_swapped_are_not_listed() -> None:
    one = {"mixer.type": "attention", "mixer.heads": 4, "mixer.dropout": 0.0, "ffn.expand": 4}
    other = {"mixer.type": "lstm", "mixer.dropout": 0.1, "ffn.bias": True}
    before, after = (make_summary(["a"], [make_node("n", {"x": ["a"]}, settings=each)]) for each in (one, other))
    said = [str(change) for change in differences(before, after).changed["n"]]
    assert said == ["mixer.type: attention → lstm", "mixer.dropout: 0.0 → 0.1", "+ ffn.bias: true", "− ffn.expand: 4"]  # noqa: RUF001
