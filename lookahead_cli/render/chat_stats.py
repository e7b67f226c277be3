"""What a chat says about itself: a line after each answer, and more when asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from lookahead_cli.render.summary import SEPARATOR, counted, counts, speeds

if TYPE_CHECKING:
    from lookahead_cli.chat.talk import Talk
    from lookahead_cli.decoding.generation import Generation
    from lookahead_cli.render import CutShort


def brief(generation: Generation, cut_short: CutShort | None) -> Text:
    """The line below an answer."""
    stats = generation.statistics
    parts = [
        counted(stats.tokens, "token"),
        f"{stats.tokens_per_step:.2f} tokens per step",
        f"{stats.tokens_per_second:.1f} tokens/s",
    ]
    return Text(SEPARATOR.join([cut_short, *parts] if cut_short else parts), style="dim")


def chat_stats(talk: Talk) -> list[str]:
    """Lines for `/stats`: of the latest answer, of the context, and of all answers."""
    lines = []
    if talk.latest is not None and talk.latest.statistics.steps:
        stats = talk.latest.statistics
        # The last token of the prompt is not read beforehand: it is part of the first step.
        lines.append(
            f"latest answer: {counted(len(talk.latest.prompt_ids), 'token')} of conversation, "
            f"{stats.prefill_tokens + 1:,} of them new, {stats.kept_tokens:,} read before"
        )
        lines += [SEPARATOR.join(counts(talk.latest)), SEPARATOR.join(speeds(talk.latest))]
    shown = len(talk.conversation.turns) - talk.conversation.dropped
    context = f"context: {talk.context_used:,} of {talk.session.loaded.context_length:,} tokens"
    gone = f", the oldest {talk.conversation.dropped} left out" if talk.conversation.dropped else ""
    lines.append(f"{context}{SEPARATOR}{counted(shown, 'turn')}{gone}")
    totals = talk.totals
    if totals.steps:
        lines.append(
            f"all answers: {totals.tokens:,} tokens{SEPARATOR}{totals.tokens_per_step:.2f} tokens per step{SEPARATOR}"
            f"{totals.tokens_per_second:.1f} tokens/s{SEPARATOR}{totals.prefill_tokens:,} tokens read, "
            f"{totals.kept_tokens:,} not read again"
        )
    return lines
