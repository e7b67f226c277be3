"""Who may take part in a contest, and which settings make a difference to whom."""

from __future__ import annotations

from lookahead_cli.decoding.strategies import PLAIN

BLOCKS = "nar"
TRANSFORMERS = "transformers"
TRANSFORMERS_LOOKUP = "transformers-prompt-lookup"
TRANSFORMERS_ASSISTED = "transformers-assisted"

ROUNDS = "rounds"
"""The one setting that no profile has: `nar` is for contrast only."""

CHOOSING = (
    "temperature", "top_p", "top_k", "min_p", "repetition_penalty", "seed", "max_new_tokens", "stop",
)  # fmt: skip
"""Settings that decide which tokens come out: contestants that agree in them are held against each other."""
GUESSING: dict[str, tuple[str, ...]] = {
    PLAIN: (),
    "jacobi": ("k", "init", "refill"),
    "prompt-lookup": ("k", "pool_entries", "across_prompts"),
    "lookahead": ("k", "drafters", "pool_entries", "across_prompts", "window", "ngram_length", "init"),
    "speculative": ("k", "across_prompts"),
    BLOCKS: ("k", "init", ROUNDS),
    TRANSFORMERS: (),
    TRANSFORMERS_LOOKUP: ("k",),
    TRANSFORMERS_ASSISTED: ("k",),
}
"""Everyone who may take part, and the settings that make a difference to their guesses."""
