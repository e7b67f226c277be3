"""From a model folder to a model and tokenizer in memory, without the network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookahead_cli.errors import LookaheadError, ModelError
from lookahead_cli.models.failures import first_line, memory_failure
from lookahead_cli.models.folder import check_folder, read_json
from lookahead_cli.models.progress import Progress, silent
from lookahead_cli.models.safety import REMOTE_CODE

if TYPE_CHECKING:
    import torch
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerFast

DTYPES = ("auto", "float32", "bfloat16", "float16")
# The context of a model that sets no limit itself (no position table, no trained length in its config).
UNLIMITED_CONTEXT = 32_768
# Where the configs of different architectures keep the longest context, most common first.
_CONTEXT_KEYS = (
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
    """A model ready to run: in eval mode, its parameters without gradients, all on `device`."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast
    folder: Path
    dtype: torch.dtype
    device: torch.device
    context_length: int
    eos_token_ids: frozenset[int]


def load(
    folder: Path,
    *,
    dtype: str,
    device: str,
    context_length: int | None,
    allow: frozenset[str],
    progress: Progress = silent,
) -> LoadedModel:
    """Load the model in `folder` (see `sources.locate`); nothing here touches the network.

    `dtype` is "auto", "float32", "bfloat16" or "float16"; `device` is "auto", "cpu", "cuda", "cuda:N" or "mps";
    `context_length` None means the model's own. Raises ModelError for a model that cannot be used as asked,
    ResourceError when memory runs out.
    """
    weights = check_folder(folder, allow)
    progress(f"loading {folder.name}")
    from lookahead_cli.models.devices import choose_device
    from lookahead_cli.models.hugging_face import offline, silence

    silence()
    chosen_dtype, chosen_device = choose_dtype(dtype), choose_device(device)
    common: dict[str, Any] = {"local_files_only": True, "trust_remote_code": REMOTE_CODE in allow}
    with offline(), _told(folder, chosen_device):
        config = _load_config(folder, common)
        tokenizer = _load_tokenizer(folder, common)
        _check_weights(weights)
        model = _load_model(folder, config, chosen_dtype, chosen_device, common, weights)
        return LoadedModel(
            model=model,
            tokenizer=tokenizer,
            folder=folder,
            dtype=chosen_dtype,
            device=chosen_device,
            context_length=_context_length(folder, config, tokenizer, context_length),
            eos_token_ids=_eos_token_ids(model, tokenizer),
        )


def choose_dtype(dtype: str) -> torch.dtype:
    """The torch dtype of that name. "auto" is float32: only there are the tokens those of transformers, bit by bit."""
    import torch

    if dtype not in DTYPES:
        raise ModelError(f"dtype is {dtype!r}, which is not one of {', '.join(DTYPES)}.")
    chosen: torch.dtype = getattr(torch, "float32" if dtype == "auto" else dtype)
    return chosen


def _load_config(folder: Path, common: dict[str, Any]) -> PretrainedConfig:
    import transformers
    from transformers import CONFIG_MAPPING, AutoConfig

    written = read_json(folder / "config.json")
    kind = written.get("model_type")
    if not isinstance(kind, str):
        raise ModelError(f"{folder / 'config.json'} names no model_type; fetch the model's own config.json again.")
    has_own_code = common["trust_remote_code"] and "auto_map" in written
    if kind not in CONFIG_MAPPING and not has_own_code:
        raise ModelError(
            f"{folder} has the architecture {kind}, which transformers {transformers.__version__} does not know; "
            "update transformers or choose another model."
        )
    config: PretrainedConfig = AutoConfig.from_pretrained(folder, **common)
    if not (_is_causal(config) or has_own_code):
        raise ModelError(
            f"{folder} is no causal language model (its architecture {kind} does not continue text token by token); "
            "choose a text generation model with a decoder only."
        )
    return config


def _is_causal(config: PretrainedConfig) -> bool:
    from transformers import MODEL_FOR_CAUSAL_LM_MAPPING, MODEL_FOR_MASKED_LM_MAPPING

    # Encoders such as BERT have a causal class too, for use as a decoder. What tells them from models that leave
    # is_decoder at its default, GPT-NeoX among them, is that they also fill in masks.
    encodes = getattr(config, "is_decoder", None) is False and type(config) in MODEL_FOR_MASKED_LM_MAPPING
    whole = not getattr(config, "is_encoder_decoder", False)
    return whole and not encodes and type(config) in MODEL_FOR_CAUSAL_LM_MAPPING


def _load_tokenizer(folder: Path, common: dict[str, Any]) -> PreTrainedTokenizerFast:
    from transformers import AutoTokenizer

    advice = "put the tokenizer.json of the model there again"
    try:
        tokenizer: PreTrainedTokenizerFast = AutoTokenizer.from_pretrained(folder, **common)
    except Exception as error:
        if memory_failure(error, "", "") is not None:
            raise
        raise ModelError(f"The tokenizer in {folder} cannot be loaded ({first_line(error)}); {advice}.") from error
    if not hasattr(tokenizer, "backend_tokenizer"):
        raise ModelError(f"{folder} has only a slow tokenizer ({type(tokenizer).__name__}); {advice}.")
    return tokenizer


def _check_weights(weights: list[Path]) -> None:
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


def _load_model(
    folder: Path,
    config: PretrainedConfig,
    dtype: torch.dtype,
    device: torch.device,
    common: dict[str, Any],
    weights: list[Path],
) -> PreTrainedModel:
    from transformers import AutoModelForCausalLM

    model: PreTrainedModel
    model, report = AutoModelForCausalLM.from_pretrained(
        folder,
        config=config,
        dtype=dtype,
        device_map={"": device},
        use_safetensors=weights[0].suffix == ".safetensors",
        output_loading_info=True,
        ignore_mismatched_sizes=True,  # reported below, in our words
        **common,
    )
    wrong = sorted(report["mismatched_keys"])
    if wrong:
        weight, stored, expected = wrong[0]
        raise ModelError(
            f"{folder} stores {weight} in the shape {tuple(stored)}, but its config.json asks for {tuple(expected)}; "
            "the two do not belong together, so fetch both again."
        )
    missing = sorted(report["missing_keys"])
    if missing:  # transformers would leave these at random values
        raise ModelError(
            f"{folder} lacks {len(missing)} of the model's weights, {missing[0]} among them; its config.json and its "
            "weights do not belong together, so fetch both again."
        )
    model.requires_grad_(False)
    return model.eval()


def _context_length(
    folder: Path, config: PretrainedConfig, tokenizer: PreTrainedTokenizerFast, asked: int | None
) -> int:
    text = config.get_text_config(decoder=True)
    unstable = _changes_positions_beyond(text)
    found = (getattr(text, key, None) for key in _CONTEXT_KEYS)
    own = next((length for length in found if isinstance(length, int) and length > 0), None)
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


def _changes_positions_beyond(config: PretrainedConfig) -> int | None:
    """The length up to which positions are encoded in one way; None if that is so for all lengths.

    Two kinds of rotary scaling look at the longest position of a forward pass and then encode all of them anew: beyond
    that length a token's logits would depend on what else is in the pass, and on how the text was cut into passes.
    """
    parameters = getattr(config, "rope_parameters", None) or {}
    kinds = [kind for kind in (parameters, *parameters.values()) if isinstance(kind, dict)]
    if not any(kind.get("rope_type") in ("longrope", "dynamic") for kind in kinds):
        return None
    lengths = [kind.get("original_max_position_embeddings") for kind in kinds]
    lengths.append(getattr(config, "original_max_position_embeddings", None))
    return next((length for length in lengths if isinstance(length, int)), None)


def _eos_token_ids(model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> frozenset[int]:
    """The ids that end the output, from the first place that names any.

    transformers' `generate` knows only the first of them; the others are for models that would never end there.
    """
    generation = getattr(model, "generation_config", None)
    text = model.config.get_text_config(decoder=True)
    for named in (
        getattr(generation, "eos_token_id", None),
        getattr(model.config, "eos_token_id", None),
        getattr(text, "eos_token_id", None),
        tokenizer.eos_token_id,
    ):
        if named is not None:
            return frozenset(named if isinstance(named, list | tuple) else [named])
    return frozenset()


@contextmanager
def _told(folder: Path, device: torch.device) -> Iterator[None]:
    """Say in one sentence what stopped the libraries from loading `folder`."""
    try:
        yield
    except LookaheadError:
        raise
    except Exception as error:
        lack = memory_failure(
            error,
            f"{folder} cannot be loaded on {device}",
            "choose a smaller model or a smaller dtype, or close other programs",
        )
        if lack is not None:
            raise lack from error
        if isinstance(error, ImportError):
            raise ModelError(f"{folder} needs a package that is missing ({first_line(error)}); install it.") from error
        raise ModelError(
            f"{folder} cannot be loaded ({first_line(error)}); check that it is a whole model of one piece."
        ) from error
