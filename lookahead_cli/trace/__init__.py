"""A trace: the steps of one generation in a file, all that is needed to show it again without the model.

A JSON object a line (JSON Lines, UTF-8), each written when it happens, so that a trace that breaks off is good up to
there. Version 1:

`begin`, the first line:
    `trace` version of the format; `lookahead` version of the program; `model` as it was named; `prompt` its text;
    `prompt_tokens` how many tokens it is with the chat template, `prompt_token_ids` which; `pending` what the last of
    them reads as by itself; `settings` as `generate --json` gives them.
`prefill`, the second:
    `tokens` of the prompt that were run through the model, all but the last; `seconds` that took.
`step`, one for each forward pass:
    `token_ids` emitted; `provenance` of each, a drafter or "model"; `texts`, the text that became certain with each
    (empty while a character is incomplete); `labels`, what each token reads as by itself;
    `draft` the guesses, a tree: in parallel `tokens`, `parents` (the guess that each follows, by its place in these
    lists; -1: the last token before the step), `provenance` and `labels`;
    `path` the guesses that were accepted and emitted, by their place in the draft, in order; what `token_ids` has
    beyond them, at most one token, is the model's own;
    `seconds` of wall time, of which `forward_seconds` inside the model, `draft_seconds` guessing and `select_seconds`
    choosing tokens; `finish_reason` null, but in the last step.
`end`, the last line:
    `finish_reason`: eos, stop, length or context as in the last step; interrupted, or failed.

Readers skip keys they do not know. A label has the text of a token as it is; bytes that are no whole character are
written like ⟨F09F⟩, and a token without text like ⟨#7⟩.
"""

from typing import Final

VERSION: Final = 1
