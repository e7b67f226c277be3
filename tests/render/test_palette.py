"""Themes: who made a guess can be told by its look, on every terminal and with every kind of colour vision."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from rich.color import Color, ColorSystem
from rich.console import COLOR_SYSTEMS
from rich.style import Style

from lookahead_cli.decoding import speculative, window_branch
from lookahead_cli.decoding.drafters.registry import DRAFTERS
from lookahead_cli.decoding.events import MODEL
from lookahead_cli.profile import choices
from lookahead_cli.render.palette import MONO, NO_SOURCES, OTHER, THEMES, style_of
from tests.render.themed import themed

DEPTHS = ("standard", "256", "truecolor")

# How colours look to people without one kind of cones: Machado, Oliveira, Fernandes 2009, in linear RGB.
VISIONS = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
JUST_SEEN = 15.0
"""Distance in CIELAB that is seen at a glance; 2.3 is the least that is seen at all."""


def linear(color: Color) -> np.ndarray:
    """Linear RGB of a colour, (3,)."""
    assert color.triplet is not None
    values = np.array(color.triplet) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIELAB of a colour in linear RGB, (3,)."""
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x, y, z = np.cbrt(np.clip(to_xyz @ rgb / np.array([0.9505, 1.0, 1.089]), 1e-4, None))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def luminance(color: Color) -> float:
    return float(linear(color) @ np.array([0.2126, 0.7152, 0.0722]))


def sources(theme: str) -> list[str]:
    return [MODEL, *(key for key in THEMES[theme][0] if key not in NO_SOURCES)]


def test_themes_are_those_that_a_profile_may_name() -> None:
    assert list(THEMES) == choices("display", "theme")


@pytest.mark.parametrize("theme", THEMES)
def test_every_source_of_guesses_has_a_look_and_the_model_has_none(theme: str) -> None:
    for styles in THEMES[theme]:
        assert set(styles) == set(THEMES["default"][0])
        assert {*DRAFTERS, window_branch.NAME, speculative.NAME} <= set(styles)
    console = themed(theme)
    assert not style_of(console, MODEL)
    assert style_of(console, "something new") == style_of(console, OTHER) != style_of(console, "copies")


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("theme", THEMES)
def test_no_two_sources_look_alike_on_any_terminal(theme: str, depth: str) -> None:
    console = themed(theme, depth)
    seen = {source: look(style_of(console, source), COLOR_SYSTEMS[depth]) for source in sources(theme)}
    for one, other in itertools.combinations(seen, 2):
        assert seen[one] != seen[other], f"{one} and {other} look alike"


def look(style: Style, depth: ColorSystem) -> tuple[str, ...]:
    """The codes a terminal gets; `Style.render` would give those it gave first."""
    color = () if style.color is None else style.color.downgrade(depth).get_ansi_codes()
    return (str(style.without_color), *color)


def test_mono_has_no_colours_and_underlines_every_guess() -> None:
    console = themed(MONO)
    assert console.no_color
    for source in sources(MONO)[1:]:
        style = style_of(console, source)
        assert style.color is style.bgcolor is None
        assert style.underline


@pytest.mark.parametrize("vision", VISIONS)
def test_colorblind_readers_can_tell_the_usual_drafters_apart(vision: str) -> None:
    def closest(theme: str) -> float:
        seen = [lab(np.array(VISIONS[vision]) @ linear(color_of(theme, drafter))) for drafter in DRAFTERS]
        return min(float(np.linalg.norm(one - other)) for one, other in itertools.combinations(seen, 2))

    assert closest("colorblind") > JUST_SEEN


def color_of(theme: str, source: str) -> Color:
    style = Style.parse(THEMES[theme][0][source])
    assert style.color is not None
    return style.color


def test_light_can_be_read_on_white() -> None:
    for source in sources("light")[1:]:
        contrast = 1.05 / (luminance(color_of("light", source)) + 0.05)
        assert contrast >= 4.5, f"{source}: {contrast:.1f}"
