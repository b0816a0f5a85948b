"""docs/blocks.md is what the registry says today, and what it says is measured."""

import pytest

from composer.cli.documentation import DIM, blocks_markdown, measure
from composer.core import registry
from composer.core.block import Signature
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "blocks.md"


@pytest.fixture(scope="module")
def page():
    return blocks_markdown()


def test_the_page_is_current(page):
    assert PAGE.read_text(encoding="utf-8") == page, "run: python -m composer.cli.documentation > docs/blocks.md"


def test_the_page_names_every_block_and_every_parameter(page):
    for kind in registry.kinds():
        for name, block in registry.blocks(kind).items():
            section = page.partition(f"\n### {kind} {name}\n")[2].partition("\n### ")[0]
            assert section, f"{kind} {name}"
            for knob in Signature.of(block).knobs:
                assert f"| `{knob}` |" in section, f"{kind} {name}: {knob}"


def test_costs_are_those_of_the_formula():
    mlp = measure("ffn", "mlp", 128)
    assert mlp["parameters"] == 2 * DIM * 4 * DIM + 5 * DIM
    assert mlp["flops"] == 2 * 2 * DIM * 4 * DIM
    assert mlp["state"] is None
    attention = measure("mixer", "attention", 128)
    assert attention["flops"] == 2 * 4 * DIM * DIM + 2 * 2 * 128 * DIM
    lstm = measure("mixer", "lstm", 512)
    assert lstm["state"] == 2 * DIM * 4


def test_experts_that_are_not_active_cost_nothing():
    dense, sparse = measure("ffn", "mlp", 128), measure("ffn", "mixture_of_experts", 128)
    routing = 2 * DIM * 4
    assert sparse["flops"] == 2 * dense["flops"] + routing


def test_every_section_says_what_the_block_is_and_when_it_is_from(page):
    assert "\n\n    y_t" in page  # equations are code
    assert page.count("\n### ") == sum(len(registry.blocks(kind)) for kind in registry.kinds())
