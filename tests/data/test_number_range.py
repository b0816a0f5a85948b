"""Numbers that float32 cannot hold: too large ones are refused where they are read, and no digits are made up."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from composer.core.problems import UserError
from composer.data import load_source
from composer.data.codecs.number_codec import NumberCodec, typed_numbers


@pytest.mark.parametrize("cell", ["1e300", "-1e300", "3.5e38"])
@pytest.mark.parametrize(
    "section",
    [
        {"type": "labelled", "output": "value", "columns": ["a"], "label": "b"},
        {"type": "labelled", "input": "vector", "columns": ["b"], "label": "a"},
        {"type": "series", "length": 4, "horizon": 2},
        {"type": "table", "fields": {"source": {"type": "sequence", "column": "b"},
                                     "target": {"type": "class", "column": "a"}}},
    ],
)  # fmt: skip
def test_a_number_beyond_float32_is_a_fault_of_its_cell(tmp_path, cell, section):
    rows = [f"{i % 7},{cell if i == 40 else i / 7}" for i in range(60)]
    (tmp_path / "rows.csv").write_text("a,b\n" + "\n".join(rows))
    with pytest.raises(UserError, match=rf"rows\.csv:42: column 'b' holds '{cell}'"):
        load_source(section | {"path": str(tmp_path / "rows.csv")})


def test_a_typed_number_beyond_float32_is_refused():
    with pytest.raises(UserError, match=r"beyond 1e\+38"):
        typed_numbers("1,1e300", 2, sequence=False)


@given(
    st.floats(-1e6, 1e6).filter(lambda mean: mean == 0 or abs(mean) > 1e-6),
    st.sampled_from([1e-6, 1e-3, 1.0, 40.0, 1e5]),
    st.integers(0, 5),
)
def test_a_zero_is_still_zero_when_it_is_scaled_back(mean, deviation, seed):
    draw = torch.randn(30, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    rows = [[0.0], *([value] for value in (draw * deviation + mean).tolist())]
    codec = NumberCodec(1)
    codec.learn(lambda split: iter(rows))
    back = codec.unscaled(torch.cat(codec.encode(rows, str))).double()
    wanted = torch.tensor(rows, dtype=torch.float64)
    assert str(float(back[0])) == "0.0"  # neither 3.7e-09 nor -0
    assert ((back - wanted).abs() <= 3e-6 * torch.maximum(wanted.abs(), codec.mean.abs())).all()
