"""The pages of the documentation: what they link to is there, what they show can be typed, and the example of a drafter
works as it stands."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from rich.style import Style

from lookahead_cli.decoding.draft import Draft
from lookahead_cli.decoding.drafters.registry import DRAFTERS
from lookahead_cli.models.transformers_runner import TransformersRunner
from lookahead_cli.profile import DecodingSettings
from lookahead_cli.render import palette
from tests.commands.test_help import arguments_of, understood
from tests.decoding.decoded import made, run
from tests.decoding.test_drafters import outcome
from tests.oracle import greedy_tokens
from tests.tiny_architectures import REWINDABLE, tiny_model

ROOT = Path(__file__).parent.parent
README, CHINESE = ROOT / "README.md", ROOT / "README.zh-CN.md"
CONTRIBUTING = ROOT / ".github" / "CONTRIBUTING.md"
ADD_A_DRAFTER = ROOT / ".docs" / "add-a-drafter.md"
PAGES = [README, CHINESE, *sorted((ROOT / ".docs").glob("*.md")), CONTRIBUTING]
LINES_OF_A_PAGE = 60


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def without_code(text: str) -> str:
    """The text without blocks and pieces of code, in which brackets are no links."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))


def links(page: Path) -> list[str]:
    """Where the links and pictures of a page lead to, but for other sites."""
    found = re.findall(r"\]\(([^)\s]+)\)", without_code(text_of(page)))
    return [target for target in found if not re.match(r"[a-z]+:", target)]


def anchors(page: Path) -> set[str]:
    """The names by which headings can be linked to: in lower case, hyphens for blanks, no other signs."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text_of(page), flags=re.MULTILINE | re.DOTALL), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_pictures_lead_somewhere(page: Path) -> None:
    assert links(page)
    for target in links(page):
        path, _, anchor = target.partition("#")
        there = page.parent / path if path else page
        assert there.exists(), f"{page.name}: {target}"
        assert not anchor or anchor in anchors(there), f"{page.name}: {target}"


def test_contributing_fits_a_page() -> None:
    assert len(text_of(CONTRIBUTING).splitlines()) <= LINES_OF_A_PAGE


def code_of(page: Path, language: str) -> list[str]:
    """The blocks of code of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text_of(page), flags=re.MULTILINE | re.DOTALL)


def command_lines(page: Path) -> list[str]:
    """What is to be typed, without comments."""
    lines = "".join(code_of(page, "bash")).replace("\\\n", " ").splitlines()
    return [re.sub(r"\s+#.*", "", line) for line in lines]


def test_both_readmes_show_the_same_commands() -> None:
    english, chinese = (command_lines(page) for page in (README, CHINESE))
    assert sum("lookahead " in line for line in english) > 40
    assert chinese == english
    for language in ("toml", "python"):
        assert code_of(CHINESE, language) == code_of(README, language)


def test_both_readmes_have_the_same_sections_and_pictures() -> None:
    def outline(page: Path) -> list[str]:
        return re.findall(r"^#+(?= )|^\|---.*|^!\[.*\]\((.*)\)", before_the_reference(page), flags=re.MULTILINE)

    def before_the_reference(page: Path) -> str:
        return re.split(r"^## (?:Reference|参考)$", text_of(page), flags=re.MULTILINE)[0]

    assert len(outline(README)) > 20
    assert outline(CHINESE) == outline(README)
    for page, other in ((README, CHINESE), (CHINESE, README)):
        assert f"({other.name})" in "".join(text_of(page).splitlines()[:4]), "the other language is linked at the top"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_line_can_be_typed(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for profile in code_of(README, "toml"):
        name = profile.splitlines()[0].removeprefix("# ")
        (tmp_path / name).write_text(profile, encoding="utf-8")
        (tmp_path / "configs").mkdir()
        (tmp_path / "configs" / name).write_text(profile, encoding="utf-8")  # `profiles new` makes it
    monkeypatch.setitem(DRAFTERS, "skips", DRAFTERS["copies"])  # as a page makes it
    for line in command_lines(page):
        if re.search(r"\blookahead [a-z]", line):
            understood(arguments_of(line))


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names of the page's example, as if its file, its entry in the registry and its test were there."""
    file, maker, entry, test = code_of(ADD_A_DRAFTER, "python")
    module = ModuleType("lookahead_cli.decoding.drafters.skips")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(file, "skips.py", "exec"), module.__dict__)
    names: dict[str, Any] = {**module.__dict__, "outcome": outcome, "Draft": Draft}
    exec(compile(f"from __future__ import annotations\n{maker}\n{test}\nentries = {{{entry}}}", "page", "exec"), names)
    for name, make in names["entries"].items():
        monkeypatch.setitem(DRAFTERS, name, make)
    return names


def test_the_drafter_of_the_page_changes_no_token(example: dict[str, Any]) -> None:
    model = tiny_model(REWINDABLE["llama"]())
    runner, prompt = TransformersRunner(model), [5, 6, 7]
    expected = greedy_tokens(model, prompt, 60)
    for settings in ({"drafters": ["skips"], "k": 8}, {"drafters": ["copies", "skips"], "k": "auto"}):
        drafts = made(DecodingSettings(repetition_penalty=1.0, **settings), runner.vocab)
        first, second = (run(runner, prompt, drafts=drafts, max_new_tokens=60) for _ in range(2))
        assert first.tokens == second.tokens == expected
        if settings["k"] == 8:
            assert second.statistics.drafters["skips"].accepted > 0, "it has seen this text"


def test_the_test_of_the_page_holds(example: dict[str, Any]) -> None:
    example["test_skips_are_what_stood_two_places_after_the_token"]()


def test_the_page_has_a_new_look_for_every_list_of_the_palette() -> None:
    looks = dict(re.findall(r'^\| `(\w+)` \| `"(.+)"` \|$', text_of(ADD_A_DRAFTER), flags=re.MULTILINE))
    lists = [styles for pair in palette.THEMES.values() for styles in pair]
    assert set(looks) == {name for name, value in vars(palette).items() if any(value is styles for styles in lists)}
    for name, look in looks.items():
        taken = [Style.parse(style) for style in vars(palette)[name].values()]
        assert Style.parse(look) not in taken
