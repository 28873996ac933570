"""The experiment with faces, on small made-up ones; and on the real ones, where they are."""

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.io

from rankfill.data.olivetti import olivetti
from rankfill.experiments.faces import PUBLISHED, Holes, fill, make_faces, methods
from rankfill.experiments.faces_pictures import errors, side_by_side


@pytest.fixture(scope="module")
def holes():
    return Holes.at_random(make_faces(8, 40), 0.25, seed=0)


@pytest.fixture(scope="module")
def results(holes):
    return [fill(name, model, holes) for name, model in methods(rank=4, passes=30, nmf_passes=120).items()]


def test_ratios_are_those_of_their_definition(holes):
    Y, black = holes.pictures.astype(float), holes.blacken().astype(float)
    whole, missing = holes.snr(holes.blacken())
    assert whole == pytest.approx(10 * np.log10((Y**2).sum() / ((Y - black) ** 2).sum()), rel=1e-5)
    assert missing == pytest.approx(0, abs=1e-6)
    assert 0.2 < (~holes.known).mean() < 0.3


def test_three_methods_fill_in_what_they_have_not_seen(holes, results):
    assert [result.name for result in results] == ["Broyden", "NMF", "SGMF"]
    assert set(PUBLISHED) == {"missing pixels", "Broyden", "NMF"}
    by_name = {result.name: result.last for result in results}
    assert by_name["Broyden"].missing > 20
    assert by_name["Broyden"].missing > by_name["SGMF"].missing > 5
    assert by_name["NMF"].missing > 15


def test_curves_tell_time_samples_and_error(holes, results):
    for result in results:
        assert result.curve[0].samples == 40
        assert result.last.samples == 40 * result.passes
        seconds = [point.seconds for point in result.curve]
        assert seconds == sorted(seconds)
        difference = holes.pictures - result.pictures
        assert result.last.error == pytest.approx(np.sqrt(np.mean(difference**2)), rel=1e-5)
        assert holes.snr(result.pictures) == (result.last.whole, result.last.missing)


def test_pictures_are_drawn(holes, results, tmp_path):
    figure = side_by_side(holes, results, tmp_path / "faces.png")
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == ["with holes", "Broyden", "NMF", "SGMF", "as they are"]
    shown = figure.axes[-1].images[0].get_array()
    np.testing.assert_array_equal(shown[:8, :8], holes.pictures[:, 0].reshape(8, 8))
    panels = errors(results, tmp_path / "errors.png").axes
    assert [axes.get_xlabel() for axes in panels] == ["seconds of learning", "columns read"]
    assert (tmp_path / "faces.png").stat().st_size > 1000
    assert (tmp_path / "errors.png").stat().st_size > 1000


def test_faces_are_read_upright(tmp_path, monkeypatch):
    upright = np.arange(64 * 64).reshape(64, 64) % 251
    scipy.io.savemat(tmp_path / "olivettifaces.mat", {"faces": upright.T.reshape(-1, 1).astype(np.uint8)})
    for path in (tmp_path, tmp_path / "olivettifaces.mat"):
        faces = olivetti(path)
        assert faces.dtype == np.float32
        np.testing.assert_allclose(faces[:, 0].reshape(64, 64), upright / 255, rtol=1e-6)
    (tmp_path / "olivetti").mkdir()
    (tmp_path / "olivettifaces.mat").rename(tmp_path / "olivetti" / "olivettifaces.mat")
    monkeypatch.setenv("RANKFILL_DATA", str(tmp_path))
    assert olivetti().shape == (4096, 1)


def test_missing_and_wrong_files_are_told_in_words(tmp_path, monkeypatch):
    monkeypatch.delenv("RANKFILL_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=r"no olivettifaces.mat; say where it is, or set RANKFILL_DATA"):
        olivetti()
    with pytest.raises(FileNotFoundError, match=f"no olivettifaces.mat in {tmp_path}"):
        olivetti(tmp_path)
    scipy.io.savemat(tmp_path / "olivettifaces.mat", {"faces": np.zeros((10, 3))})
    with pytest.raises(ValueError, match=r"should hold pictures of 64 x 64 pixels, found \(10, 3\)"):
        olivetti(tmp_path)
    (tmp_path / "olivettifaces.mat").write_bytes(b"not a file of that kind")
    with pytest.raises(ValueError, match="is not the file of the Olivetti faces"):
        olivetti(tmp_path)
    with pytest.raises(ValueError, match="must be between 0 and 1, found 0"):
        Holes.at_random(make_faces(8, 40), 0.0, 0)


@pytest.mark.data
@pytest.mark.skipif(
    not (Path(os.environ.get("RANKFILL_DATA", "")) / "olivetti" / "olivettifaces.mat").is_file(),
    reason="the Olivetti faces are not in RANKFILL_DATA",
)
def test_broyden_updates_reach_their_ratio_on_the_real_faces():
    """17.5 and 17.0 dB after 30 passes; ten are enough."""
    holes = Holes.at_random(olivetti(), 0.25, seed=0)
    last = fill("Broyden", methods(passes=10)["Broyden"], holes).last
    assert last.whole > 17.5
    assert last.missing > 17.0
