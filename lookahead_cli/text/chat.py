"""Prompt to token ids: through the model's chat template, or as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from lookahead_cli.errors import ModelError, PromptError
from lookahead_cli.models.failures import first_line

if TYPE_CHECKING:
    from lookahead_cli.models.tokenizer import ModelTokenizer

Template = Literal["chat", "raw"]


def choose_template(tokenizer: ModelTokenizer | None, wanted: str, system: str) -> Template:
    """How prompts are put to this model; without a `tokenizer`, to a model that has no template.

    Raises:
        PromptError: the settings ask for a conversation and the model has no template for one.
    """
    has_template = bool(getattr(tokenizer, "chat_template", None))
    if wanted == "chat" and not has_template:
        raise PromptError('the model has no chat template: use template = "raw" (--raw)')
    template: Template = "chat" if has_template and wanted != "raw" else "raw"
    if system and template == "raw":
        raise PromptError("a system text needs a chat template: leave it out, or put it into the prompt")
    return template


def encode(tokenizer: ModelTokenizer, prompt: str, system: str, template: Template) -> list[int]:
    """Token ids of the whole prompt, special tokens included.

    Raises:
        ModelError: the model's chat template refuses the conversation.
        PromptError: nothing is left after tokenising.
    """
    if template == "chat":
        messages = [{"role": "system", "content": system}] if system else []
        messages.append({"role": "user", "content": prompt})
        ids = tokenizer(_render(tokenizer, messages), add_special_tokens=False)["input_ids"]
    else:
        ids = tokenizer(prompt)["input_ids"]
    if not ids:
        raise PromptError("the prompt has no tokens: write something the model's tokenizer knows")
    return [int(token) for token in ids]


def _render(tokenizer: ModelTokenizer, messages: list[dict[str, str]]) -> str:
    try:
        text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    except Exception as error:  # a template is a program of somebody else's
        raise ModelError(
            f"the model's chat template fails on this conversation ({first_line(error)}): use --raw, or another model"
        ) from None
    return str(text)
