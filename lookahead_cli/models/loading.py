"""From a model folder to a model ready to run, without the network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Literal

from lookahead_cli.errors import ModelError
from lookahead_cli.models.failures import first_line
from lookahead_cli.models.folder import check_folder, read_json
from lookahead_cli.models.progress import Progress, silent
from lookahead_cli.models.safety import REMOTE_CODE

if TYPE_CHECKING:
    import torch

    from lookahead_cli.models.lean.architecture import Architecture
    from lookahead_cli.models.runner import Runner
    from lookahead_cli.models.tokenizer import ModelTokenizer

DTYPES = ("auto", "float32", "bfloat16", "float16")
SPREAD = "spread"
"""The device that means: over all there are, by accelerate."""
# The context of a model that sets no limit itself (no position table, no trained length in its config).
UNLIMITED_CONTEXT = 32_768
# Where the configs of different architectures keep the longest context, most common first.
CONTEXT_KEYS = (
    "max_position_embeddings",
    "n_positions",
    "max_sequence_length",
    "max_seq_len",
    "seq_length",
    "n_ctx",
)
_NO_LIMIT = 10**9  # tokenizers write an astronomically large number for "no limit"


@dataclass(frozen=True)
class LoadedModel:
    """A model ready to run."""

    runner: Runner
    runner_name: Literal["lean", "transformers"]
    tokenizer: ModelTokenizer
    folder: Path
    dtype: torch.dtype
    device: torch.device
    context_length: int
    eos_token_ids: frozenset[int]
    generation: Mapping[str, Any]
    """The model's own settings for generation, as generation_config.json has them."""
    parameters: int
    dependent_rows: str | None
    """Why rows of a pass may depend on the rows beside them, or None if each comes out the same bit for bit."""


@dataclass(frozen=True)
class Wish:
    """How a model is to be loaded; "auto" and None leave the choice to the machine and the model."""

    dtype: str = "auto"
    device: str = "auto"
    runner: str = "auto"
    context_length: int | None = None
    allow: frozenset[str] = frozenset()
    weights: str = "auto"
    """"full": all in `dtype`; otherwise weights of no more than 4 bits are run as such."""
    keep_in: Path | None = None
    """Folder for what takes long to find out about the model."""


def load(folder: Path, wish: Wish, progress: Progress = silent) -> LoadedModel:
    """Load the model in `folder` (see `sources.locate`); nothing here touches the network.

    Raises:
        ModelError: the model cannot be used as asked.
        ResourceError: memory runs out.
    """
    if wish.dtype not in DTYPES:
        raise ModelError(f"dtype is {wish.dtype!r}, which is not one of {', '.join(DTYPES)}.")
    weights = check_folder(folder, wish.allow)
    progress("loading the weights")
    architecture = lean_architecture(folder, wish, weights)
    if architecture is not None:
        return _load_lean(folder, wish, weights, architecture)
    return _load_with_transformers(folder, wish, weights)


def lean_architecture(folder: Path, wish: Wish, weights: list[Path]) -> Architecture | None:
    """What the lean runner computes of the model in `folder`; None if transformers is to run it.

    Raises:
        ModelError: the lean runner was asked for, and does not do this model.
    """
    from lookahead_cli.models.lean.architecture import NotLean

    if wish.runner == "transformers":
        return None
    try:
        return read_lean(read_json(folder / "config.json"), wish, weights)
    except NotLean as reason:
        if wish.runner == "lean":
            raise ModelError(
                f'the lean runner does not take {folder}: {reason}; leave runner at "auto" or set it to "transformers"'
            ) from None
        return None


def lean_dtype(architecture: Architecture, asked: str, device: torch.device) -> tuple[torch.dtype, str | None]:
    """The dtype in which the lean runner computes the model, and why rows depend on their neighbours in it, if they do.

    On a processor "auto" means one in which they do not.
    """
    import torch

    from lookahead_cli.models.devices import half_precision, named_dtype
    from lookahead_cli.models.lean.exactness import dependent_rows

    dtype = named_dtype(asked) or half_precision(device)
    reason = dependent_rows(architecture, dtype, device)
    if reason is not None and asked == "auto" and device.type == "cpu":
        dtype = torch.float32
        reason = dependent_rows(architecture, dtype, device)
    return dtype, reason


def read_lean(config: Mapping[str, Any], wish: Wish, weights: Sequence[PurePath]) -> Architecture:
    """What the lean runner computes of the model with this config.json and these weight files.

    Raises:
        NotLean: it does not, and why.
    """
    from lookahead_cli.models.lean.architecture import NotLean, read_architecture

    if wish.device == SPREAD:
        raise NotLean("it runs on one device, and the model is to be spread over several")
    if REMOTE_CODE in wish.allow:
        raise NotLean("it runs none of the code that the model may bring along")
    if any(file.suffix != ".safetensors" for file in weights):
        raise NotLean("it reads weights from safetensors only")
    return read_architecture(config)


def _load_lean(folder: Path, wish: Wish, weights: list[Path], architecture: Architecture) -> LoadedModel:
    from lookahead_cli.models.devices import choose_device, name_of, require_memory
    from lookahead_cli.models.lean.forward import LeanForward
    from lookahead_cli.models.lean.fourbit import FourBitWeights, can_run
    from lookahead_cli.models.lean.runner import LeanRunner
    from lookahead_cli.models.lean.weights import read_weights
    from lookahead_cli.models.tokenizer import load_tokenizer
    from lookahead_cli.models.transformers_loading import told_in_a_sentence

    device = choose_device(wish.device)
    with told_in_a_sentence(folder, device):
        tokenizer = load_tokenizer(folder, wish.allow)
        check_weights(weights)
        dtype, reason = lean_dtype(architecture, wish.dtype, device)
        require_memory(architecture.parameters * dtype.itemsize, device, f"{folder} in {name_of(dtype)}")
        few = FourBitWeights(wish.keep_in) if wish.weights != "full" and can_run(dtype, device) else None
        packed = read_weights(weights, architecture, dtype, device, few)
        runner = LeanRunner(LeanForward(architecture, packed, dtype, device))
    config = read_json(folder / "config.json")
    own = folder / "generation_config.json"
    generation = read_json(own) if own.is_file() else config
    return LoadedModel(
        runner=runner,
        runner_name="lean",
        tokenizer=tokenizer,
        folder=folder,
        dtype=dtype,
        device=device,
        context_length=settle_context(folder, architecture.context_length, tokenizer, wish.context_length),
        eos_token_ids=first_ids(generation.get("eos_token_id"), config.get("eos_token_id"), tokenizer.eos_token_id),
        generation=generation,
        parameters=architecture.parameters,
        dependent_rows=reason,
    )


def _load_with_transformers(folder: Path, wish: Wish, weights: list[Path]) -> LoadedModel:
    import torch

    from lookahead_cli.models import transformers_loading as loading
    from lookahead_cli.models.devices import choose_device, transformers_dtype
    from lookahead_cli.models.hugging_face import offline, silence
    from lookahead_cli.models.transformers_runner import TransformersRunner

    silence()
    device = choose_device("auto" if wish.device == SPREAD else wish.device)
    common: dict[str, Any] = {"local_files_only": True, "trust_remote_code": REMOTE_CODE in wish.allow}
    dtype = transformers_dtype(wish.dtype, device)
    with offline(), loading.told_in_a_sentence(folder, device):
        config = loading.load_config(folder, common)
        tokenizer = loading.load_tokenizer(folder, common)
        check_weights(weights)
        places: Any = "auto" if wish.device == SPREAD else {"": device}
        model = loading.load_model(folder, config, dtype, places, common, weights)
        text = config.get_text_config(decoder=True)
        told = (getattr(text, key, None) for key in CONTEXT_KEYS)
        generation = model.generation_config.to_dict() if model.generation_config is not None else {}
        return LoadedModel(
            runner=TransformersRunner(model),
            runner_name="transformers",
            tokenizer=tokenizer,
            folder=folder,
            dtype=dtype,
            device=device,
            context_length=settle_context(
                folder,
                next((size for size in told if isinstance(size, int) and size > 0), None),
                tokenizer,
                wish.context_length,
                unstable=loading.positions_change_beyond(text),
            ),
            eos_token_ids=first_ids(
                generation.get("eos_token_id"),
                getattr(model.config, "eos_token_id", None),
                getattr(text, "eos_token_id", None),
                tokenizer.eos_token_id,
            ),
            generation=generation,
            parameters=model.num_parameters(),
            dependent_rows=None if dtype == torch.float32 else "transformers computes a row together with others",
        )


def check_weights(weights: list[Path]) -> None:
    """Open every safetensors file, which checks its header against its size. Raises ModelError."""
    from safetensors import SafetensorError, safe_open

    for file in weights:
        if file.suffix != ".safetensors":
            continue
        try:
            with safe_open(file, framework="pt"):
                pass
        except (SafetensorError, OSError) as error:
            reason = first_line(error).rpartition("header: ")[2]
            raise ModelError(f"{file} is damaged or cut short ({reason}); fetch the file again.") from error


def settle_context(
    folder: Path, own: int | None, tokenizer: ModelTokenizer, asked: int | None, unstable: int | None = None
) -> int:
    """The longest sequence: what was `asked` for, else the model's `own` limit, `unstable` being one too.

    Raises:
        ModelError: the model does not take what was asked for.
    """
    if own is None and tokenizer.model_max_length < _NO_LIMIT:
        own = int(tokenizer.model_max_length)
    if unstable is not None:
        own = min(own or unstable, unstable)
    if asked is None:
        return own or UNLIMITED_CONTEXT
    if asked < 1:
        raise ModelError(f"context_length is {asked}, but at least 1 token is needed.")
    if own is not None and asked > own:
        raise ModelError(
            f"context_length is {asked}, but {folder} takes {own} tokens at most; set it to {own} or less."
        )
    return asked


def first_ids(*named: Any) -> frozenset[int]:
    """The ids that end the output, from the first place that names any.

    transformers' `generate` knows only the first of them; the others are for models that would never end there.
    """
    for ids in named:
        if ids is not None:
            return frozenset(ids if isinstance(ids, list | tuple) else [ids])
    return frozenset()
