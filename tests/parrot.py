"""A model that says a given text, whatever it is asked: for tests of what the screen shows."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import GPT2Config, GPT2LMHeadModel

from tests.tiny_models import TURN_END, tiny_tokenizer

ROOM_BEHIND = 40
PROMPT = "p"
"""One token, to be given with --raw: the text then starts at position 1."""


def save_parrot(folder: Path, text: str, *, ends: bool = True) -> Path:
    """Save a model that continues any one-token prompt with `text` and, if `ends`, its end-of-text token.

    A GPT-2 without attention and word embeddings: position p is one of the hidden units, and the output layer leads
    from it to the token to be said next. Nothing depends on the input, so that Jacobi guesses are right as soon as
    they have been through the model once. Behind the text there is room in the context for more.
    """
    tokenizer = tiny_tokenizer()
    script = tokenizer(text, add_special_tokens=False)["input_ids"] + ([TURN_END] if ends else [])
    positions = len(script) + ROOM_BEHIND
    config = GPT2Config(
        vocab_size=len(tokenizer), n_embd=positions, n_layer=1, n_head=1, n_positions=positions, n_inner=1,
        tie_word_embeddings=False, bos_token_id=0, eos_token_id=TURN_END, pad_token_id=0,
    )  # fmt: skip
    model = GPT2LMHeadModel(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        model.transformer.ln_f.weight.fill_(1.0)
        model.transformer.wpe.weight.copy_(torch.eye(positions))
        for position, token in enumerate(script):
            model.lm_head.weight[token, position] = 1.0
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
