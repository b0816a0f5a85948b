from composer.studies.report.outputs_section import EXAMPLES, LONGEST, outputs_of, pieces


def sample(source, found, wanted="ab", **more):
    return {"step": 5, "source": source, "wanted": wanted, "found": found, "right": found == wanted, **more}


def test_characters_that_differ_are_marked():
    assert pieces("1975-03-03", "1975-04-83") == [
        ["same", "1975-0"],
        ["wrong", "4"],
        ["same", "-"],
        ["wrong", "8"],
        ["same", "3"],
    ]


def test_what_is_missing_and_what_is_too_much_is_marked():
    assert pieces("abcd", "abd") == [["same", "ab"], ["missing", "c"], ["same", "d"]]
    assert pieces("abd", "abcd") == [["same", "ab"], ["wrong", "c"], ["same", "d"]]


def test_texts_of_words_are_compared_by_word():
    assert pieces("the old cat", "the odd cat") == [["same", "the "], ["wrong", "odd"], ["same", " cat"]]


def test_the_unmarked_and_wrong_pieces_are_the_output():
    for wanted, found in [("", "abc"), ("abc", ""), ("a b c", "c b a x"), ("kitten", "sitting")]:
        assert "".join(text for kind, text in pieces(wanted, found) if kind != "missing") == found


def test_the_same_inputs_come_together_with_disagreements_first():
    left = [sample("agreed", "ab"), sample("both wrong", "xx"), sample("disputed", "ab")]
    right = [sample("disputed", "xb"), sample("agreed", "ab"), sample("both wrong", "xx")]
    found = outputs_of([[("left", left), ("right", right)]])
    assert [each["inputs"]["source"] for each in found["examples"]] == ["disputed", "both wrong", "agreed"]
    assert [(each["arm"], each["right"]) for each in found["examples"][0]["outputs"]] == [
        ("left", True),
        ("right", False),
    ]


def test_an_example_of_one_arm_alone_is_shown_too():
    found = outputs_of([[("left", [sample("a", "ab")]), ("right", [sample("b", "ab")])]])
    assert sorted(each["inputs"]["source"] for each in found["examples"]) == ["a", "b"]


def test_a_language_models_texts_are_matched_by_place():
    texts = [[{"step": 1, "found": f"{arm} {i}", "right": None} for i in range(2)] for arm in ("left", "right")]
    found = outputs_of([[("left", texts[0]), ("right", texts[1])]])
    assert [[each["pieces"][0][1] for each in example["outputs"]] for example in found["examples"]] == [
        ["left 0", "right 0"],
        ["left 1", "right 1"],
    ]


def test_numbers_are_not_marked():
    found = outputs_of([[("a", [{"step": 1, "source": [1.0], "wanted": [2.0], "found": [2.1], "right": None}])]])
    assert found["examples"][0]["outputs"][0]["pieces"] == [["same", "[2.1]"]]


def test_long_texts_and_many_examples_are_cut():
    found = outputs_of([[("a", [sample(f"{i} {'x' * 900}", "ab") for i in range(40)])]])
    assert len(found["examples"]) == EXAMPLES
    assert found["left_out"] == 40 - EXAMPLES
    assert len(found["examples"][0]["inputs"]["source"]) == LONGEST


def test_without_samples_there_is_no_section():
    assert outputs_of([[("a", []), ("b", [])]]) is None
