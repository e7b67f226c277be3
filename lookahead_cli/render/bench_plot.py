"""A contest as a picture: speed-up and tokens per step over k, acceptance by depth, and the curve of step times."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator, PercentFormatter, StrMethodFormatter

from lookahead_cli.errors import ResourceError
from lookahead_cli.models.whole_file import written_whole
from lookahead_cli.render.palette import INK, PLOT_COLORS
from lookahead_cli.text.visible import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lookahead_cli.bench.curves import Curve
    from lookahead_cli.bench.step_times import MeasuredSteps

SIZE = (9.6, 7.2)
"""Inches; at DOTS_PER_INCH as wide as a README is shown on a large screen, twice."""
DOTS_PER_INCH = 160
MARKERS = "osD^vPX"
MILLISECONDS = 1000
DOUBLINGS = tuple(2.0**power for power in range(-3, 11))
STYLE: dict[str, Any] = {
    "font.size": 10.5,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.7,
    "lines.linewidth": 1.8,
    "lines.markersize": 6,
    "legend.frameon": False,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "lookahead",  # the same numbers give the same file
}


def draw(file: Path, curves: Sequence[Curve], measured: MeasuredSteps | None, about: str) -> None:
    """Draw everything into `file`, in the format its ending names. Without step times their panel says so.

    Raises:
        ResourceError: the file cannot be written.
    """
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=SIZE, layout=ConstrainedLayoutEngine(wspace=0.06, hspace=0.06))
        axes = figure.subplots(2, 2)
        figure.suptitle(literal(about), x=0.01, ha="left", fontsize=10.5)
        draw_speed_up(axes[0, 0], curves)
        draw_tokens_per_step(axes[0, 1], curves)
        draw_acceptance(axes[1, 0], curves)
        draw_step_times(axes[1, 1], curves, measured)
        add_legend(figure, axes[0, 0])
        try:
            with written_whole(file) as unfinished, warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Glyph")  # a name in a script the font lacks is no news to anybody
                kind = file.suffix.lower().removeprefix(".")
                metadata = {"Date": None} if kind == "svg" else {}
                figure.savefig(unfinished, format=kind, dpi=DOTS_PER_INCH, metadata=metadata)
        except OSError as error:
            raise ResourceError(f"{file} could not be written: {error.strerror or error}") from None


def draw_speed_up(axes: Axes, curves: Sequence[Curve]) -> None:
    """Median over the prompts, the quartiles as whiskers."""
    axes.set_title("Speed-up, median and quartiles")
    axes.set_ylabel("times as fast as the reference")
    axes.axhline(1, color=INK, linewidth=1, linestyle=":")
    for number, curve in enumerate(curves):
        look = look_of(number)
        if curve.fixed:
            medians = [point.speed_up.median for point in curve.fixed]
            below = [point.speed_up.median - point.speed_up.low for point in curve.fixed]
            above = [point.speed_up.high - point.speed_up.median for point in curve.fixed]
            guesses = [point.guesses for point in curve.fixed]
            axes.errorbar(guesses, medians, yerr=[below, above], capsize=2.5, elinewidth=1, **look,
                          label=literal(curve.label))  # fmt: skip
        if curve.auto is not None:
            spread = curve.auto.speed_up
            axes.errorbar(
                [curve.auto.guesses], [spread.median], capsize=2.5, elinewidth=1, **auto_look(number),
                yerr=[[spread.median - spread.low], [spread.high - spread.median]],
                label=literal(f"{curve.label}, k = auto"),
            )  # fmt: skip
        if curve.level is not None:
            its_k = ", k = auto" if curve.fixed else ""
            axes.axhline(curve.level.speed_up.median, **level_look(number), label=literal(curve.label + its_k))
    over_guesses(axes, curves)


def draw_tokens_per_step(axes: Axes, curves: Sequence[Curve]) -> None:
    """Means over all steps."""
    axes.set_title("Tokens per step")
    axes.set_ylabel("tokens per step")
    axes.axhline(1, color=INK, linewidth=1, linestyle=":")
    for number, curve in enumerate(curves):
        points = curve.fixed
        axes.plot([point.guesses for point in points], [point.tokens_per_step for point in points], **look_of(number))
        if curve.auto is not None:
            axes.plot([curve.auto.guesses], [curve.auto.tokens_per_step], **auto_look(number))
        if curve.level is not None:
            axes.axhline(curve.level.tokens_per_step, **level_look(number))
    over_guesses(axes, curves)


def draw_acceptance(axes: Axes, curves: Sequence[Curve]) -> None:
    """Of each curve the contestant whose guesses reach deepest."""
    axes.set_title("Accepted, of the guesses tested at a depth")
    axes.set_xlabel("depth: guesses in a row")
    axes.set_ylabel("accepted")
    for number, curve in enumerate(curves):
        accepted = curve.most_telling.acceptance_by_depth
        axes.plot(range(1, len(accepted) + 1), accepted, **{**look_of(number), "markersize": 4})
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def draw_step_times(axes: Axes, curves: Sequence[Curve], measured: MeasuredSteps | None) -> None:
    """The median over the repeats, the quartiles as a band, and what contestants chose that choose k themselves."""
    axes.set_title("Time of a step")
    axes.set_xlabel("rows: 1 + guesses")
    axes.set_ylabel("milliseconds")
    if measured is None:
        axes.text(0.5, 0.5, "not measured", ha="center", transform=axes.transAxes)
        axes.set(xticks=[], yticks=[])
        return
    rows = list(measured.seconds)
    low, median, high = (
        [getattr(measured.spread(count), name) * MILLISECONDS for count in rows] for name in ("low", "median", "high")
    )
    axes.fill_between(rows, low, high, color=INK, alpha=0.15, linewidth=0)
    axes.plot(rows, median, color=INK, marker=".")
    axes.set_ylim(0, 1.1 * max(high))
    for number, curve in enumerate(curves):
        if curve.auto is not None:
            chosen = 1 + curve.auto.guesses
            axes.axvline(chosen, color=color_of(number), linewidth=1, linestyle="--")
            axes.plot([chosen], [interpolated(chosen, rows, median)], **auto_look(number))
    doubling(axes, rows)


def interpolated(count: float, rows: Sequence[int], times: Sequence[float]) -> float:
    """The time of a pass over `count` rows, between two that were measured."""
    for place in range(1, len(rows)):
        if count <= rows[place]:
            part = (count - rows[place - 1]) / (rows[place] - rows[place - 1])
            return times[place - 1] + part * (times[place] - times[place - 1])
    return times[-1]


def over_guesses(axes: Axes, curves: Sequence[Curve]) -> None:
    """The axis of guesses, a mark at every k that was measured."""
    axes.set_xlabel("guesses per step (k)")
    axes.set_ylim(bottom=0)
    fixed = [point.guesses for curve in curves for point in curve.fixed]
    chosen = [curve.auto.guesses for curve in curves if curve.auto is not None]
    powers = takewhile(lambda power: power < min(fixed, default=max(chosen)), DOUBLINGS) if chosen else []
    marks = [*(power for power in powers if 2 * power > min(chosen)), *fixed]
    if marks:
        doubling(axes, marks)


def doubling(axes: Axes, marks: Sequence[float]) -> None:
    """An axis on which as much room lies between 2 and 4 as between 4 and 8."""
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(sorted(set(marks))))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))


def add_legend(figure: Figure, axes: Axes) -> None:
    """One for all panels, below them."""
    handles, labels = axes.get_legend_handles_labels()
    if not labels:
        return
    longest = max(map(len, labels))
    figure.legend(handles, labels, loc="outside lower left", ncols=max(1, min(4, 110 // (longest + 8))), fontsize=10)


def color_of(number: int) -> str:
    return PLOT_COLORS[number % len(PLOT_COLORS)]


def look_of(number: int) -> dict[str, Any]:
    """Of a curve: neither colour nor marker alone has to tell it from the others."""
    return {"color": color_of(number), "marker": MARKERS[number % len(MARKERS)]}


def auto_look(number: int) -> dict[str, Any]:
    """Of the contestant that chooses k itself: a star without a line."""
    return {"color": color_of(number), "marker": "*", "markersize": 14, "linestyle": "none", "markeredgecolor": INK}


def level_look(number: int) -> dict[str, Any]:
    """Of a contestant that has no k."""
    return {"color": color_of(number), "linestyle": "--", "linewidth": 1.4}


def literal(text: str) -> str:
    """Nothing in `text` is taken for a formula, or for a control character, which would make an .svg no XML."""
    return visible(text).replace("$", r"\$")
