"""A contest as a picture."""

from __future__ import annotations

from pathlib import Path

import pytest

from lookahead_cli.bench.curves import Curve, Point
from lookahead_cli.bench.quartiles import Quartiles
from lookahead_cli.bench.step_times import MeasuredSteps
from lookahead_cli.errors import ResourceError
from lookahead_cli.render.bench_plot import draw, interpolated

MEASURED = MeasuredSteps(256, {1: [0.01, 0.012], 2: [0.011, 0.012], 4: [0.02, 0.02]})


def point(guesses: float) -> Point:
    return Point(guesses, Quartiles(1.0, 1.0 + guesses / 10, 2.0 + guesses / 10), 1.0 + guesses / 8, [0.8, 0.5, 0.25])


CURVES = [
    Curve("lookahead:stop=$x$", [point(4), point(8), point(16)], auto=point(2.7)),
    Curve("jacobi", auto=point(0.3)),
    Curve("transformers", level=point(0)),
]


def test_an_svg_holds_its_words_as_text_and_is_the_same_each_time(tmp_path: Path) -> None:
    for name in ("a.svg", "b.SVG"):
        draw(tmp_path / name, CURVES, MEASURED, "tiny · 2 threads")
    text = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert (tmp_path / "b.SVG").read_text(encoding="utf-8") == text
    for words in ("tiny · 2 threads", "Speed-up", "Tokens per step", "Accepted", "Time of a step", "transformers",
                  "lookahead:stop=$x$, k = auto", "jacobi, k = auto"):  # fmt: skip
        assert words in text


@pytest.mark.parametrize(("curves", "measured"), [(CURVES, None), ([], None), ([], MEASURED), (CURVES[1:2], MEASURED)])
def test_whatever_there_is_can_be_drawn(tmp_path: Path, curves: list[Curve], measured: MeasuredSteps | None) -> None:
    draw(tmp_path / "a.png", curves, measured, "tiny")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert [file.name for file in tmp_path.iterdir()] == ["a.png"]


def test_a_file_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.svg").mkdir()
    with pytest.raises(ResourceError, match=r"a\.svg could not be written"):
        draw(tmp_path / "a.svg", CURVES, MEASURED, "tiny")


def test_between_two_widths_time_grows_evenly() -> None:
    assert interpolated(3, [1, 2, 4], [10, 12, 20]) == 16
    assert interpolated(1, [1, 2, 4], [10, 12, 20]) == 10
    assert interpolated(9, [1, 2, 4], [10, 12, 20]) == 20
    assert interpolated(1.5, [1], [10]) == 10


def test_names_may_hold_anything(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    draw(tmp_path / "a.svg", [Curve("lookahead:stop=\x01", [point(4)])], None, "模型 \x1b")
    text = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert "模型 ␛" in text
    assert "stop=␁" in text
    assert not [warning for warning in recwarn if "Glyph" in str(warning.message)]
