"""Which files beside a training file are its other splits, by their names."""

import pytest

from composer.data.survey.split_choice import divided

#: the training file, the validation and the test file that belong to it, and files that do not
FAMILIES = {
    "words between hyphens": ("german-train-medium", "german-dev", "german-test", ["german-covered-test", "irish-dev"]),
    "underscores": ("my_train.csv", "my_valid.csv", "my_test.csv", ["your_test.csv", "my_test.json"]),
    "dots": ("corpus.train.tok.txt", "corpus.val.tok.txt", "corpus.test.tok.txt", ["corpus.test.raw.txt"]),
    "split alone": ("train.tsv", "dev.tsv", "test.tsv", ["testimonials.tsv", "latest.tsv", "test_blind.tsv"]),
    "years": ("train.de", "val.de", "test_2016_flickr.de", ["test_2016_flickr.en", "notes.de"]),
    "a year in the word": ("train.en", "validation.en", "test2016.en", []),
    "sets": ("trainset.csv", "devset.csv", "testset_w_refs.csv", []),
    "universal dependencies": ("en_ewt-ud-train.conllu", "en_ewt-ud-dev.conllu", "en_ewt-ud-test.conllu", ["readme"]),
    "capitals and packed": ("Train.CSV.gz", "Valid.csv.gz", "TEST.csv.gz", []),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_the_splits_beside_a_training_file_are_found_by_their_names(tmp_path, family):
    train, valid, test, others = FAMILIES[family]
    for name in (train, valid, test, *others):
        (tmp_path / name).write_text("x\n")
    found = divided([tmp_path / train])
    assert {split: [file.name for file in files] for split, files in found.others.items()} == {
        "valid": [valid],
        "test": [test],
    }
    assert divided([tmp_path / test]) is None, "a test file alone is no training file"


def test_of_several_test_files_the_nearest_is_taken_and_the_others_are_named(tmp_path):
    for name in ("train.de", "test_2017_mscoco.de", "test_2016.de", "test_2018.de", "test_nolabels.de"):
        (tmp_path / name).write_text("x\n")
    found = divided([tmp_path / "train.de"])
    assert [file.name for file in found.others["test"]] == ["test_2016.de"]
    left = {file.name: reason for reason, files in found.left.items() for file in files}
    assert left == {
        "test_2017_mscoco.de": "another test file",
        "test_2018.de": "another test file",
        "test_nolabels.de": "without targets, by its name",
    }


def test_of_a_folder_the_largest_training_file_is_taken_and_shards_are_one_split(tmp_path):
    for name in ("fi-train-low", "fi-train-high", "fi-dev"):
        (tmp_path / name).write_text("x\n" * (3 if "high" in name else 1))
    found = divided(sorted(tmp_path.iterdir()))
    assert ([file.name for file in found.train], [file.name for file in found.others["valid"]]) == (
        ["fi-train-high"],
        ["fi-dev"],
    )
    assert "fi-train-low" in {file.name for files in found.left.values() for file in files}
    shards = [tmp_path / f"train-0000{i}-of-00002.parquet" for i in range(2)]
    test = tmp_path / "test-00000-of-00001.parquet"
    for file in (*shards, test):
        file.write_text("x")
    found = divided([test, *shards])
    assert (found.train, found.others) == (shards, {"test": [test]})


def test_files_whose_names_tell_no_split_are_one_whole(tmp_path):
    for name in ("Dutch.txt", "Irish.txt", "train.txt"):
        (tmp_path / name).write_text("x\n")
    assert divided(sorted(tmp_path.iterdir())) is None
    assert divided([tmp_path / "Dutch.txt"]) is None
    assert divided([tmp_path / "train.txt"]).others == {}
