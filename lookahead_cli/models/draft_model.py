"""Whether a model can draft for another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lookahead_cli.errors import ModelError

if TYPE_CHECKING:
    from lookahead_cli.models.loading import LoadedModel


def refuse_unfit(draft: LoadedModel, target: LoadedModel) -> None:
    """Raise ModelError if `draft` cannot guess tokens for `target`."""
    if draft.runner.rewind_obstacle is not None:
        raise ModelError(
            f"the draft model {draft.folder} cannot take back guesses that were wrong "
            f"({draft.runner.rewind_obstacle}); choose one without such layers"
        )
    difference = vocabulary_difference(vocabulary(target), vocabulary(draft))
    if difference is not None:
        raise ModelError(
            f"the draft model {draft.folder} has another tokenizer than {target.folder} ({difference}), and guesses "
            "are token ids; choose a smaller model of the same family"
        )


def vocabulary(model: LoadedModel) -> dict[str, int]:
    """Every token, added ones too, with its id."""
    return model.tokenizer.backend_tokenizer.get_vocab(with_added_tokens=True)


def vocabulary_difference(target: dict[str, int], draft: dict[str, int]) -> str | None:
    """What differs between two vocabularies, in words; None if nothing does."""
    differing = [token for token in target.keys() | draft.keys() if target.get(token) != draft.get(token)]
    if not differing:
        return None
    token = min(differing, key=lambda token: (target.get(token, draft.get(token, 0)), token))
    ids = ["none" if known is None else str(known) for known in (target.get(token), draft.get(token))]
    return f"{len(differing)} tokens differ: {token!r} is {ids[1]} there and {ids[0]} here"
