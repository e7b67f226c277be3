"""Text that is wrapped as it grows looks like text that is wrapped at once."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.style import Style

from lookahead_cli.render.wrapped import WrappedText
from lookahead_cli.text.visible import visible

CONSOLE = Console(file=io.StringIO(), width=200)
pieces = st.lists(st.text(alphabet="ab \n日😀-\t\x1b", max_size=8), max_size=30)
styles = (Style.null(), Style(color="green"))


@given(pieces, st.integers(4, 20))
def test_the_pieces_do_not_matter(texts: list[str], width: int) -> None:
    grown, whole = WrappedText(CONSOLE, width), WrappedText(CONSOLE, width)
    for place, text in enumerate(texts):
        grown.add(text, styles[place % 2])
        grown.tail(3)
    whole.add("".join(texts), Style.null())
    assert [line.plain for line in grown.lines] == [line.plain for line in whole.lines]
    assert all(cell_len(line.plain) <= width for line in grown.lines)
    everything = "".join(line.plain for line in grown.lines)
    assert "".join(everything.split()) == "".join(visible("".join(texts)).split())


@given(pieces, st.integers(1, 5))
def test_the_tail_is_the_end_filled_up(texts: list[str], rows: int) -> None:
    wrapped = WrappedText(CONSOLE, 10)
    wrapped.add("".join(texts), Style.null())
    tail = [line.plain for line in wrapped.tail(rows)]
    assert len(tail) == rows
    kept = [line.plain for line in wrapped.lines][-rows:]
    assert tail == kept + [""] * (rows - len(kept))


def test_each_piece_keeps_its_style() -> None:
    wrapped = WrappedText(CONSOLE, 40)
    wrapped.add("one ", Style.null())
    wrapped.add("two\nthree", Style(color="green"))
    first, second = wrapped.lines
    assert (first.plain, second.plain) == ("one two", "three")
    assert not first.get_style_at_offset(CONSOLE, 0).color
    assert first.get_style_at_offset(CONSOLE, 4) == second.get_style_at_offset(CONSOLE, 0) == Style(color="green")


def test_a_terminal_without_unicode_gets_signs_that_are_counted() -> None:
    console = Console(file=io.TextIOWrapper(io.BytesIO(), encoding="ascii"), width=200)
    wrapped = WrappedText(console, 10)
    wrapped.add("cafe\u0301 日本 \u200b\u200b\u200b\u200b", Style.null())
    lines = [line.plain for line in wrapped.lines]
    assert all(line.isascii() and len(line) <= 10 for line in lines)
    assert " ".join(lines).split() == ["cafe?", "??", "????"]
