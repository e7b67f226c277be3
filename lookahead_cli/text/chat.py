"""Prompt to token ids: through the model's chat template, or as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


Message = Mapping[str, str]
"""`role` and `content` of a turn in a conversation."""


def encode(tokenizer: ModelTokenizer, prompt: str | Sequence[Message], system: str, template: Template) -> list[int]:
    """Token ids of the whole prompt, special tokens included; a conversation may stand in its place.

    Raises:
        ModelError: the model's chat template refuses the conversation.
        PromptError: nothing is left after tokenising, or a conversation does not go with the template or the `system`
            text.
    """
    if template == "chat":
        messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
        ids = tokenizer(render(tokenizer, messages, system), add_special_tokens=False)["input_ids"]
    elif isinstance(prompt, str):
        ids = tokenizer(prompt)["input_ids"]
    else:
        raise PromptError("messages need a chat template: give a prompt instead")
    if not ids:
        raise PromptError("the prompt has no tokens: write something the model's tokenizer knows")
    return [int(token) for token in ids]


def render(tokenizer: ModelTokenizer, conversation: Sequence[Message], system: str) -> str:
    """The text, special tokens included, with which a model goes on with a conversation.

    Raises:
        ModelError: the model's chat template refuses the conversation.
        PromptError: there is a `system` text and a message for it too.
    """
    messages = [dict(each) for each in conversation]
    if system and messages[0]["role"] == "system":
        raise PromptError("there is a system text beside a system message: leave one of them out")
    if system:
        messages.insert(0, {"role": "system", "content": system})
    try:
        text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    except Exception as error:  # a template is a program of somebody else's
        raise ModelError(
            f"the model's chat template fails on this conversation ({first_line(error)}): use --raw, or another model"
        ) from None
    return str(text)
