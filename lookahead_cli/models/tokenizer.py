"""A model's tokenizer, loaded without transformers where its tokenizer.json says everything."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lookahead_cli.errors import ModelError
from lookahead_cli.models.folder import read_json
from lookahead_cli.models.safety import REMOTE_CODE

if TYPE_CHECKING:
    from tokenizers import Tokenizer

WHOLE_FILES = ("TokenizersBackend", "PreTrainedTokenizerFast")
"""Tokenizer classes of transformers that take tokenizer.json as it is; others change it in ways of their own."""
HARMLESS_KEYS = {
    "add_prefix_space",
    "added_tokens_decoder",
    "backend",
    "chat_template",
    "clean_up_tokenization_spaces",
    "is_local",
    "local_files_only",
    "model_input_names",
    "model_max_length",
    "name_or_path",
    "padding_side",
    "tokenizer_class",
    "truncation_side",
}
"""Keys of tokenizer_config.json that do not change how text becomes tokens, given such a class."""
SPECIAL_TOKENS = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
NO_LIMIT = 10**30


class ModelTokenizer(Protocol):
    """What is used of a tokenizer: a part of transformers' own interface."""

    chat_template: Any
    model_max_length: int

    @property
    def backend_tokenizer(self) -> Tokenizer:
        """The tokenizer proper."""

    @property
    def all_special_tokens(self) -> Sequence[str]:
        """Tokens that are no part of a text."""

    @property
    def bos_token_id(self) -> Any:
        """The token a text begins with, or None."""

    @property
    def eos_token_id(self) -> Any:
        """The token a text ends with, or None."""

    def __call__(self, text: str, add_special_tokens: bool = True) -> Any:
        """A mapping with the token ids of `text` under "input_ids"."""

    def apply_chat_template(self, conversation: Any, *, tokenize: bool, add_generation_prompt: bool) -> Any:
        """The conversation as text for the model to continue."""


def load_tokenizer(folder: Path, allow: frozenset[str]) -> ModelTokenizer:
    """The tokenizer in `folder`; transformers is imported only if it is needed for it.

    Raises:
        ModelError: it cannot be loaded.
    """
    plain = plain_tokenizer(folder)
    if plain is not None:
        return plain
    from lookahead_cli.models.hugging_face import offline, silence
    from lookahead_cli.models.transformers_loading import load_tokenizer as load_with_transformers

    silence()
    with offline():
        common = {"local_files_only": True, "trust_remote_code": REMOTE_CODE in allow}
        tokenizer: ModelTokenizer = load_with_transformers(folder, common)
        return tokenizer


def plain_tokenizer(folder: Path) -> PlainTokenizer | None:
    """The tokenizer if tokenizer.json says everything about it, else None."""
    file, settings = folder / "tokenizer.json", folder / "tokenizer_config.json"
    if not (file.is_file() and settings.is_file()):
        return None
    config = read_json(settings)
    template = config.get("chat_template")
    written = folder / "chat_template.jinja"
    if written.is_file():
        try:
            template = written.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            return None
    tokens = {name: config[name] for name in SPECIAL_TOKENS if config.get(name) is not None}
    tokens = {name: token.get("content") if isinstance(token, dict) else token for name, token in tokens.items()}
    simple = (
        config.get("tokenizer_class") in WHOLE_FILES
        and set(config) <= HARMLESS_KEYS | set(SPECIAL_TOKENS)
        and all(isinstance(token, str) for token in tokens.values())
        and (template is None or (isinstance(template, str) and "generation %}" not in template))
        and not (folder / "additional_chat_templates").exists()
        and not (folder / "special_tokens_map.json").exists()
        and not (folder / "added_tokens.json").exists()
    )
    if not simple:
        return None
    from tokenizers import Tokenizer

    try:
        backend = Tokenizer.from_file(str(file))
    except Exception as error:  # tokenizers raises nothing more special
        from lookahead_cli.models.failures import first_line

        raise ModelError(
            f"The tokenizer in {folder} cannot be loaded ({first_line(error)}); put the tokenizer.json of the model "
            "there again."
        ) from error
    special = {token.content for token in backend.get_added_tokens_decoder().values() if token.special}
    if not set(tokens.values()) <= special:
        return None  # transformers would add them
    backend.no_truncation()
    backend.no_padding()
    return PlainTokenizer(backend, tokens, template, config.get("model_max_length") or NO_LIMIT)


class PlainTokenizer:
    """A tokenizer.json with a chat template; behaves as transformers' own class does (see `ModelTokenizer`)."""

    def __init__(
        self, backend: Tokenizer, tokens: dict[str, str], chat_template: str | None, model_max_length: int
    ) -> None:
        self.backend_tokenizer = backend
        self.tokens = tokens
        self.chat_template = chat_template
        self.model_max_length = model_max_length

    @property
    def all_special_tokens(self) -> list[str]:
        return list(dict.fromkeys(self.tokens.values()))

    @property
    def bos_token_id(self) -> int | None:
        return self._id_of("bos_token")

    @property
    def eos_token_id(self) -> int | None:
        return self._id_of("eos_token")

    def _id_of(self, name: str) -> int | None:
        token = self.tokens.get(name)
        return None if token is None else self.backend_tokenizer.token_to_id(token)

    def __call__(self, text: str, add_special_tokens: bool = True) -> dict[str, list[int]]:
        return {"input_ids": self.backend_tokenizer.encode(text, add_special_tokens=add_special_tokens).ids}

    def apply_chat_template(self, conversation: Any, *, tokenize: bool, add_generation_prompt: bool) -> str:
        assert not tokenize, "the text is tokenised by the caller"
        rendered: str = self._compiled.render(
            messages=conversation,
            tools=None,
            documents=None,
            add_generation_prompt=add_generation_prompt,
            **self.tokens,
        )
        return rendered

    @cached_property
    def _compiled(self) -> Any:
        """The template in the surroundings that chat templates are written for.

        Raises:
            jinja2.TemplateError: it is not valid.
        """
        from jinja2.exceptions import TemplateError
        from jinja2.ext import loopcontrols
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        def refuse(message: str) -> None:
            raise TemplateError(message)

        def as_json(value: Any, ensure_ascii: bool = False, indent: Any = None, **more: Any) -> str:
            return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, **more)

        surroundings = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
        surroundings.filters["tojson"] = as_json
        surroundings.globals["raise_exception"] = refuse
        surroundings.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
        return surroundings.from_string(self.chat_template or "")
