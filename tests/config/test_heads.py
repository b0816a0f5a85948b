"""The head of a template that predicts a declared field, where nobody has chosen one."""

import pytest

from composer.config.composition import compose

DECLARED = {
    "class": ("{type:class,column:b}", "categorical"),
    "classes": ("{type:classes,column:b}", "bernoulli"),
    "number": ("{type:number,column:b}", "gaussian"),
    "vector": ("{type:vector,columns:[b,c]}", "gaussian"),
}


def head(kind, *overrides):
    fields = f"data.fields={{source:{{type:text,column:a}},target:{DECLARED[kind][0]}}}"
    composed = compose(["model=seq2vec", "data=table", "data.path=a.csv", fields, *overrides])
    return composed.values["model"]["nodes"]["output"]


@pytest.mark.parametrize("kind", DECLARED)
def test_the_type_of_the_predicted_field_chooses_the_default_head(kind):
    found = head(kind)
    assert found["type"] == DECLARED[kind][1]
    chosen = head(kind, f"head={DECLARED[kind][1]}")
    assert found == chosen, "the keys of the head's own file, and no others"


@pytest.mark.parametrize(
    "override",
    [
        "head=negative_sampling",
        "head@model.nodes.output=negative_sampling",
        "model.nodes.output.type=negative_sampling",
    ],
)
def test_a_head_that_is_named_stays(override):
    assert head("classes", override)["type"] == "negative_sampling"


def test_knobs_of_the_default_head_reach_the_one_that_fits():
    assert head("classes", "head.bias=false") == {**head("classes"), "bias": False}
    assert head("classes", "model.nodes.output.bias=false") == {**head("classes"), "bias": False}
