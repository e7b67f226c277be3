"""A model that talks in single letters: what it says is tokenised again to the very tokens it said."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaForCausalLM

from tests.tiny_models import CHAT_TEMPLATE, SPECIAL_TOKENS, TURN_END, tiny_llama_config

CONTEXT = 512


def letter_tokenizer() -> Any:
    """A tokenizer with a token for each printable ASCII character."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = [*(string.digits + string.ascii_letters + string.punctuation), "Ġ", "Ċ"]
    vocabulary = {token: place for place, token in enumerate([*SPECIAL_TOKENS, *letters])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIAL_TOKENS])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=SPECIAL_TOKENS[TURN_END], chat_template=CHAT_TEMPLATE
    )


def save_letters(folder: Path, seed: int = 0, context: int = CONTEXT) -> Path:
    """Save a random Llama that says letters and never ends of itself."""
    tokenizer = letter_tokenizer()
    config = tiny_llama_config(vocab_size=len(tokenizer), max_position_embeddings=context, tie_word_embeddings=False)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config)
    with torch.no_grad():
        model.lm_head.weight[: len(SPECIAL_TOKENS)] = 0.0  # some letter is always likelier
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
