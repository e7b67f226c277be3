"""The tokenizer without transformers says what the one of transformers says, or leaves the model to it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

from lookahead_cli.errors import ModelError
from lookahead_cli.models.sources import locate
from lookahead_cli.models.tokenizer import PlainTokenizer, load_tokenizer, plain_tokenizer
from tests.tiny_models import CHAT_TEMPLATE, TURN_END, TURN_START, tiny_tokenizer

NOTHING: frozenset[str] = frozenset()
TEXTS = [
    "", " ", "\n\n", "hello world", " hello", "the end. ", "def f(x):\n\treturn x  # 1.50\n", "日本語 ünï 😀 e\u0301",
    "<|im_start|>user\nhi<|im_end|>", "<|im_end|", "a<|endoftext|>b", "don't  stop\r\n", "\x00\x1b[31m", "x" * 300,
]  # fmt: skip
CONVERSATIONS: list[list[dict[str, str]]] = [
    [{"role": "user", "content": "hello"}],
    [{"role": "system", "content": "be\nbrief "}, {"role": "user", "content": " 日本 <|im_end|> {{ x }}"}],
    [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}],
]
TEMPLATES = {
    "plain": CHAT_TEMPLATE,
    "tokens": "{{ bos_token }}{% for m in messages %}{{ m.content | trim }}{{ eos_token }}{% endfor %}{{ pad_token }}",
    "blocks": "{% for message in messages %}\n  {% if loop.first %}\n    first\n  {% endif %}\n"
    "  {%- if message.role == 'system' %}{% continue %}{% endif %}\n{{ message['content'] }}\n{% endfor %}\n",
    "json": "{{ messages | tojson }}{{ messages | tojson(indent=2) }}{{ tools }}{{ documents }}{{ tools is defined }}",
    "unknown": "{{ nothing_of_that_name }}{% if enable_thinking is defined %}x{% endif %}{{ add_generation_prompt }}",
    "date": "{{ strftime_now('%Y') }}",
    "namespace": "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}",
}


def change_config(folder: Path, **changes: Any) -> None:
    """Set keys of tokenizer_config.json."""
    file = folder / "tokenizer_config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


def plain_in(folder: Path) -> PlainTokenizer:
    tokenizer = plain_tokenizer(folder)
    assert tokenizer is not None
    return tokenizer


def check_same(ours: PlainTokenizer, theirs: Any, texts: list[str] = TEXTS) -> None:
    for text in texts:
        for special in (True, False):
            ids = ours(text, add_special_tokens=special)["input_ids"]
            assert ids == theirs(text, add_special_tokens=special)["input_ids"], (text, special)
        assert ours(text) == {"input_ids": theirs(text)["input_ids"]}
    assert ours.chat_template == theirs.chat_template
    for conversation in CONVERSATIONS if theirs.chat_template else []:
        for ask in (True, False):
            rendered = ours.apply_chat_template(conversation, tokenize=False, add_generation_prompt=ask)
            assert rendered == theirs.apply_chat_template(conversation, tokenize=False, add_generation_prompt=ask)
    assert (ours.bos_token_id, ours.eos_token_id) == (theirs.bos_token_id, theirs.eos_token_id)
    assert set(ours.all_special_tokens) == set(theirs.all_special_tokens)
    assert ours.model_max_length == theirs.model_max_length
    vocabulary = theirs.backend_tokenizer.get_vocab(with_added_tokens=True)
    assert ours.backend_tokenizer.get_vocab(with_added_tokens=True) == vocabulary


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tiny_tokenizer().save_pretrained(tmp_path / "tokenizer")
    return tmp_path / "tokenizer"


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[PlainTokenizer, Any]:
    folder = tmp_path_factory.mktemp("tokenizers")
    tiny_tokenizer().save_pretrained(folder)
    return plain_in(folder), AutoTokenizer.from_pretrained(folder)


def test_it_is_that_of_transformers(both: tuple[PlainTokenizer, Any]) -> None:
    ours, theirs = both
    check_same(ours, theirs)
    assert (ours.bos_token_id, ours.eos_token_id) == (TURN_START, TURN_END)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(max_size=40))
def test_any_text_has_the_same_tokens(both: tuple[PlainTokenizer, Any], text: str) -> None:
    ours, theirs = both
    assert ours(text)["input_ids"] == theirs(text)["input_ids"]


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES)
@pytest.mark.parametrize("place", ["file", "key"])
def test_chat_templates_are_rendered_the_same(folder: Path, template: str, place: str) -> None:
    if place == "file":
        (folder / "chat_template.jinja").write_text(template)
    else:
        (folder / "chat_template.jinja").unlink()
        change_config(folder, chat_template=template)
    check_same(plain_in(folder), AutoTokenizer.from_pretrained(folder), TEXTS[:3])


def test_a_template_may_refuse_a_conversation_and_do_no_harm(folder: Path) -> None:
    from jinja2.exceptions import SecurityError, TemplateError

    for template, failure in (
        ("{{ raise_exception('no system role') }}", TemplateError),
        ("{{ messages.append(1) }}", SecurityError),
        ("{{ ''.__class__.__mro__ }}{{ ''.__class__.__mro__[1].__subclasses__() }}", SecurityError),
        ("{% if %}", TemplateError),
    ):
        (folder / "chat_template.jinja").write_text(template)
        with pytest.raises(failure):
            plain_in(folder).apply_chat_template(CONVERSATIONS[0], tokenize=False, add_generation_prompt=True)


def test_without_a_template_there_is_none(folder: Path) -> None:
    (folder / "chat_template.jinja").unlink()
    check_same(plain_in(folder), AutoTokenizer.from_pretrained(folder), TEXTS[:3])
    assert plain_in(folder).chat_template is None


def test_tokens_added_around_a_text_and_limits_on_its_length(folder: Path) -> None:
    """As a model that begins every text with a token has it; a stored limit on the length is not applied."""
    from tokenizers import Tokenizer, processors

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<|im_start|> $A", special_tokens=[("<|im_start|>", TURN_START)]
    )
    tokenizer.enable_truncation(5)
    tokenizer.enable_padding(length=8)
    tokenizer.save(str(folder / "tokenizer.json"))
    change_config(folder, model_max_length=6)
    ours, theirs = plain_in(folder), AutoTokenizer.from_pretrained(folder)
    check_same(ours, theirs)
    assert ours("hello the end")["input_ids"][0] == TURN_START
    assert len(ours("x" * 300)["input_ids"]) == 301


@pytest.mark.parametrize("changes", [{"eos_token": None}, {"bos_token": "<|endoftext|>", "unk_token": None}], ids=str)
def test_special_tokens_are_those_of_the_config(folder: Path, changes: dict[str, Any]) -> None:
    change_config(folder, **changes)
    check_same(plain_in(folder), AutoTokenizer.from_pretrained(folder), TEXTS[:4])


def name_templates(folder: Path) -> None:
    (folder / "chat_template.jinja").unlink()
    change_config(folder, chat_template=[{"name": "default", "template": CHAT_TEMPLATE}])


UNUSUAL: dict[str, Callable[[Path], object]] = {
    "class": lambda folder: change_config(folder, tokenizer_class="LlamaTokenizer"),
    "no class": lambda folder: change_config(folder, tokenizer_class=None),
    "unknown key": lambda folder: change_config(folder, add_bos_token=True),
    "own code": lambda folder: change_config(folder, auto_map={"AutoTokenizer": ["own.Tokenizer", None]}),
    "missing special token": lambda folder: change_config(folder, pad_token="<|pad|>"),
    "ordinary token made special": lambda folder: change_config(folder, pad_token="hello"),
    "special token of no text": lambda folder: change_config(folder, pad_token=5),
    "several templates": lambda folder: (folder / "additional_chat_templates").mkdir(),
    "named templates": name_templates,
    "template that marks what the assistant says": lambda folder: (folder / "chat_template.jinja").write_text(
        "{% generation %}x{% endgeneration %}"
    ),
    "template that is no text": lambda folder: (folder / "chat_template.jinja").write_bytes(b"\xff\xfe"),
    "special tokens elsewhere": lambda folder: (folder / "special_tokens_map.json").write_text("{}"),
    "added tokens elsewhere": lambda folder: (folder / "added_tokens.json").write_text("{}"),
    "no config": lambda folder: (folder / "tokenizer_config.json").unlink(),
    "no tokenizer.json": lambda folder: (folder / "tokenizer.json").unlink(),
}


@pytest.mark.parametrize("unusual", UNUSUAL.values(), ids=UNUSUAL)
def test_what_is_unusual_is_left_to_transformers(folder: Path, unusual: Callable[[Path], object]) -> None:
    unusual(folder)
    assert plain_tokenizer(folder) is None


def test_either_is_loaded_as_needed(folder: Path) -> None:
    assert isinstance(load_tokenizer(folder, NOTHING), PlainTokenizer)
    change_config(folder, pad_token="<|pad|>")
    loaded: Any = load_tokenizer(folder, NOTHING)
    assert type(loaded).__module__.startswith("transformers")
    assert loaded.pad_token == "<|pad|>"


def test_a_damaged_tokenizer_is_told(folder: Path) -> None:
    (folder / "tokenizer.json").write_text('{"version": "1.0"}')
    with pytest.raises(ModelError, match=r"The tokenizer in .* cannot be loaded \(.*tokenizer\.json") as failure:
        plain_tokenizer(folder)
    assert "\n" not in str(failure.value)


@pytest.mark.slow
def test_the_packaged_tokenizer_is_that_of_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOOKAHEAD_CACHE")  # where it is stored already
    folder = locate("smollm2-135m")
    prose = (
        "Once upon a time, in 1987, there weren't any   GPUs; 3.14159 + 2,000,000 = ?\n\n```python\nprint('x')\n```\n"
    )
    check_same(plain_in(folder), AutoTokenizer.from_pretrained(folder), [*TEXTS, prose * 20])
