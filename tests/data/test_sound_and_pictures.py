"""Sounds and pictures: read as they were written, and scaled by the training split alone."""

import pytest
import torch

from composer.data import load_source
from composer.data.codecs.mel import log_mel, mel_filters, read_wave
from tests.support.data_files import refused, rows, tone


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("channels", [1, 2])
def test_pcm_of_every_width_is_the_sound_it_was(tmp_path, width, channels):
    samples = tone(tmp_path / "a.wav", width=width, channels=channels)
    found, rate = read_wave(tmp_path / "a.wav")
    assert rate == 8000
    torch.testing.assert_close(found, samples, atol=2.0 ** (2 - 8 * width) + 1e-6, rtol=0)


def test_a_tone_is_loudest_in_the_band_of_its_frequency():
    time = torch.arange(8000) / 8000
    for frequency in (300.0, 1000.0, 3000.0):
        frames = log_mel(torch.sin(2 * torch.pi * frequency * time), 8000, 40, 0.025, 0.01)
        mel = 2595 * torch.log10(torch.tensor(1 + frequency / 700))
        top = 2595 * torch.log10(torch.tensor(1 + 4000 / 700))
        assert frames.shape == (98, 40)  # 1 + (8000 - 200) // 80
        assert abs(int(frames.mean(0).argmax()) - (float(mel / top) * 41 - 1)) < 1
    filters = mel_filters(40, 129, 8000)
    assert bool((filters.sum(0)[5:-5] > 0).all())  # no frequency is left out


def test_audio_is_normalised_by_the_training_split_and_padding_stays_zero(tmp_path):
    for i in range(6):
        tone(tmp_path / ("high" if i % 2 else "low") / f"{i}.wav", 2000 if i % 2 else 300, seconds=0.2 + 0.1 * i)
    source = load_source({"type": "audio", "path": str(tmp_path), "valid": 0.2, "bands": 20})
    assert source.fields["target"].contents.tokens == ("high", "low")
    batch = source.batch("train", range(5))
    frames = batch["source"]
    real = torch.cat([row[:n] for row, n in zip(frames.values, frames.lengths, strict=True)])
    torch.testing.assert_close(real.mean(0), torch.zeros(20), atol=1e-4, rtol=0)
    torch.testing.assert_close(real.std(0, correction=0), torch.ones(20), atol=1e-3, rtol=0)
    assert bool((frames.values[~frames.mask] == 0).all())


def test_pictures_from_arrays_and_folders(tmp_path):
    import numpy

    pictures = numpy.arange(4 * 2 * 3, dtype="uint8").reshape(4, 2, 3)
    numpy.save(tmp_path / "x.npy", pictures)
    numpy.save(tmp_path / "y.npy", numpy.array([0, 1, 0, 1]))
    config = {"type": "images", "path": f"{tmp_path}/x.npy", "labels": f"{tmp_path}/y.npy", "valid": 0}
    whole = load_source(config)
    expected = torch.from_numpy(pictures).float() / 255
    torch.testing.assert_close(whole.batch("train", range(4))["source"].values, expected[:, None])
    assert (whole.fields["source"].channels, whole.fields["source"].height, whole.fields["source"].width) == (1, 2, 3)
    as_rows = load_source({**config, "form": "rows"})
    torch.testing.assert_close(as_rows.batch("train", range(4))["source"].values, expected)
    for i in range(4):
        folder = tmp_path / "folders" / f"class{i % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        numpy.save(folder / f"{i}.npy", pictures[i])
    folders = load_source({"type": "images", "path": f"{tmp_path}/folders", "valid": 0})
    assert rows(folders, "train", "target") == ["class0", "class0", "class1", "class1"]
    numpy.save(tmp_path / "folders" / "class1" / "odd.npy", numpy.zeros((5, 5), dtype="uint8"))
    assert "is a picture of (1, 5, 5)" in refused({"type": "images", "path": f"{tmp_path}/folders", "valid": 0})


def test_picture_files_are_read_with_pillow(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="picture files need pillow, of the extra 'data'")
    (tmp_path / "red").mkdir()
    image.new("RGB", (4, 2), (255, 0, 0)).save(tmp_path / "red" / "a.png")
    (tmp_path / "red" / "b.png").write_bytes(b"no picture")
    source = load_source({"type": "images", "path": f"{tmp_path}/red/a.png", "valid": 0})
    assert source.batch("train", [0])["source"].values[0, :, 0, 0].tolist() == [1, 0, 0]
    assert "b.png: cannot be read as a picture" in refused(
        {"type": "images", "path": f"{tmp_path}/red/b.png", "valid": 0}
    )
