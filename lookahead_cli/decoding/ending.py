"""Where a generation ends: exactly where plain decoding would, also in the middle of an accepted run."""

from __future__ import annotations

from lookahead_cli.decoding.events import FinishReason
from lookahead_cli.text.transcript import Transcript


class Ending:
    """Takes the emitted tokens one by one and says which of them is the last, and why."""

    def __init__(
        self,
        transcript: Transcript,
        *,
        eos_token_ids: frozenset[int],
        max_new_tokens: int,
        prompt_tokens: int,
        context_length: int,
    ) -> None:
        self.transcript = transcript
        self.eos_token_ids = eos_token_ids
        context_room = context_length - prompt_tokens
        self.remaining = min(max_new_tokens, context_room)
        self.limit_reason: FinishReason = "length" if max_new_tokens <= context_room else "context"

    def take(self, token: int) -> tuple[str, FinishReason | None]:
        """The text that became certain with this token, and the reason to end after it, if there is one."""
        self.remaining -= 1
        if token in self.eos_token_ids:
            return self._last_text("", "eos")
        text = self.transcript.add(token)
        if self.remaining == 0 and not self.transcript.stopped:
            return self._last_text(text, self.limit_reason)
        return text, "stop" if self.transcript.stopped else None

    def _last_text(self, text: str, reason: FinishReason) -> tuple[str, FinishReason]:
        """With what was held back, which may complete a stop string after all."""
        text += self.transcript.finish()
        return text, "stop" if self.transcript.stopped else reason
