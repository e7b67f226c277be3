"""Rehearsal: the model talks to itself, and what it finds likely on the way becomes its successor table.

A chat model given the opening of a user's turn writes the user's question itself, and then answers it (as in Magpie,
Xu et al. 2024, arXiv 2406.08464, where such talk is made to train on). A model without a chat template just writes.
The runs of tokens it is fond of are the same ones it will use when it is asked something real. Nothing of anyone's
prompts is in it.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from lookahead_cli.decoding.likely import LikelyTokens, likely_tokens
from lookahead_cli.knowledge.table import Row, TableBuilder, row_of
from lookahead_cli.models.transformers_forward import cache_argument
from lookahead_cli.models.transformers_runner import TransformersRunner

if TYPE_CHECKING:
    from lookahead_cli.models.loading import LoadedModel
    from lookahead_cli.models.tokenizer import ModelTokenizer

CONVERSATIONS = 384
"""Enough for most of the gain; twice as many add a few hundredths of a token per step."""
AT_ONCE = 32
"""Conversations per batch: a forward pass over 32 rows takes hardly twice as long as over one."""
QUESTION_TOKENS = 48
ANSWER_TOKENS = 128
SINGLES_AT_ONCE = 256
SINGLES_BETWEEN_SAVES = 16_384
PLACEHOLDER = "QUESTION"


@dataclass(frozen=True)
class Opening:
    """Token ids around the words of a user: `before` opens the user's turn, `after` closes it and opens the answer."""

    before: list[int]
    after: list[int]


def rehearse(loaded: LoadedModel, builder: TableBuilder) -> Iterator[int]:
    """Fill `builder`, going on where it stands; yields the number of conversations when there is something to save.

    The model has to be loaded with the transformers runner: it speaks several conversations at once.
    """
    assert isinstance(loaded.runner, TransformersRunner)
    model = Forward(loaded.runner.model)
    done = next((token for token, row in enumerate(builder.singles) if not row), len(builder.singles))
    for token, row in enumerate(after_single_tokens(model, done, len(builder.singles)), start=done):
        builder.add_single(token, row)
        if (token + 1) % SINGLES_BETWEEN_SAVES == 0:
            yield builder.conversations
    opening = find_opening(loaded.tokenizer)
    while builder.conversations < CONVERSATIONS:
        generator = torch.Generator().manual_seed(builder.conversations)
        before = [opening.before] * AT_ONCE
        room = loaded.context_length - len(opening.before) - len(opening.after)
        answer_tokens = min(ANSWER_TOKENS, room // 2)
        question_tokens = min(QUESTION_TOKENS, room - answer_tokens)
        questions = write(model, before, question_tokens, loaded.eos_token_ids, generator)
        prompts = [opening.before + text.tokens + opening.after for text in questions]
        for prompt, text in zip(prompts, write(model, prompts, answer_tokens, loaded.eos_token_ids), strict=True):
            whole = prompt + text.tokens
            for place, (ids, probabilities) in enumerate(zip(text.likely.ids, text.likely.probabilities, strict=True)):
                builder.add(whole[: len(prompt) + place], row_of(ids, probabilities))
        builder.conversations += AT_ONCE
        yield builder.conversations


class Forward:
    """A transformers model as a function of ids, positions, mask and cache."""

    def __init__(self, model: Any) -> None:
        self.model = model
        parameters = inspect.signature(model.forward).parameters
        self.cache_argument = cache_argument(parameters)
        self.known = set(parameters)

    def __call__(self, ids: Tensor, **options: Any) -> Tensor:
        """Logits (batch, vocab) float32 after the last of `ids` (batch, n)."""
        if "cache" in options:
            options[self.cache_argument] = options.pop("cache")
        options = {name: value for name, value in options.items() if name in self.known}
        output = self.model(input_ids=ids, **options)
        logits: Tensor = output.logits[:, -1].float()
        return logits


def find_opening(tokenizer: ModelTokenizer) -> Opening:
    """From the chat template; without one the text just begins."""
    begin = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
    plain = Opening([begin if begin is not None else 0], [])
    if not tokenizer.chat_template:
        return plain
    try:
        text = tokenizer.apply_chat_template(
            [{"role": "user", "content": PLACEHOLDER}], tokenize=False, add_generation_prompt=True
        )
    except Exception:  # a template may raise what it likes
        return plain
    before, found, after = text.partition(PLACEHOLDER)
    if not found or not before:
        return plain
    ids = [tokenizer(part, add_special_tokens=False)["input_ids"] for part in (before, after)]
    return Opening(*ids) if ids[0] else plain


@dataclass
class Written:
    """A continuation and what the model found likely at each of its tokens."""

    tokens: list[int]
    likely: LikelyTokens


def write(
    model: Forward,
    prompts: Sequence[Sequence[int]],
    count: int,
    eos_token_ids: frozenset[int],
    generator: torch.Generator | None = None,
) -> list[Written]:
    """Continue all prompts at once by up to `count` tokens: sampled with `generator`, without one the likeliest.

    The end-of-text token is not among the tokens, but its row is among the likely ones.
    """
    from transformers import DynamicCache

    longest = max(map(len, prompts))
    padding = torch.tensor([longest - len(prompt) for prompt in prompts])
    ids = torch.tensor([[0] * (longest - len(prompt)) + list(prompt) for prompt in prompts])
    cache = DynamicCache(config=model.model.config)
    texts = [Written([], LikelyTokens([], [])) for _ in prompts]
    ended = [False] * len(prompts)
    with torch.inference_mode():
        for length in range(longest, longest + count):
            places = torch.arange(length)
            positions = (places[-ids.shape[1] :] - padding[:, None]).clamp(min=0)
            logits = model(
                ids,
                attention_mask=(places >= padding[:, None]).long(),
                position_ids=positions,
                cache=cache,
                use_cache=True,
                logits_to_keep=1,
            )
            likely = likely_tokens(logits)
            chosen = choose(logits, generator)
            for index, text in enumerate(texts):
                if not ended[index]:
                    text.likely.extend(LikelyTokens([likely.ids[index]], [likely.probabilities[index]]))
                    ended[index] = chosen[index] in eos_token_ids
                    if not ended[index]:
                        text.tokens.append(chosen[index])
            if all(ended):
                break
            ids = torch.tensor(chosen)[:, None]
    return texts


def choose(logits: Tensor, generator: torch.Generator | None) -> list[int]:
    """A token for each row of `logits` (n, vocab)."""
    if generator is None:
        return logits.argmax(dim=-1).tolist()
    probabilities = torch.softmax(logits, dim=-1).cpu()
    return torch.multinomial(probabilities, 1, generator=generator)[:, 0].tolist()


def after_single_tokens(model: Forward, first: int, vocab: int) -> Iterator[Row]:
    """For every token id from `first` on what the model finds likely when it stands alone."""
    for start in range(first, vocab, SINGLES_AT_ONCE):
        with torch.inference_mode():
            ids = torch.arange(start, min(start + SINGLES_AT_ONCE, vocab))
            likely = likely_tokens(model(ids[:, None], use_cache=False))
        yield from map(row_of, likely.ids, likely.probabilities)
