"""From a model folder to a transformers model and tokenizer in memory, without the network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookahead_cli.errors import LookaheadError, ModelError
from lookahead_cli.models.devices import free_memory
from lookahead_cli.models.failures import first_line, memory_failure
from lookahead_cli.models.folder import read_json
from lookahead_cli.models.safety import PICKLE_SUFFIXES

if TYPE_CHECKING:
    import torch
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerFast


def load_config(folder: Path, common: dict[str, Any]) -> PretrainedConfig:
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


def load_tokenizer(folder: Path, common: dict[str, Any]) -> PreTrainedTokenizerFast:
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


def load_model(
    folder: Path,
    config: PretrainedConfig,
    dtype: torch.dtype,
    places: Any,
    common: dict[str, Any],
    weights: list[Path],
) -> PreTrainedModel:
    from transformers import AutoModelForCausalLM

    model: PreTrainedModel
    model, report = AutoModelForCausalLM.from_pretrained(
        folder,
        config=config,
        dtype=dtype,
        device_map=places,
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


def stored_bytes(folder: Path) -> int:
    """Size of the weight files in `folder`."""
    kinds = (".safetensors", *PICKLE_SUFFIXES)
    return sum(file.stat().st_size for file in folder.iterdir() if file.suffix in kinds)


def positions_change_beyond(config: PretrainedConfig) -> int | None:
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


@contextmanager
def told_in_a_sentence(folder: Path, device: torch.device) -> Iterator[None]:
    """Say in one sentence what stopped the libraries from loading `folder`."""
    try:
        yield
    except LookaheadError:
        raise
    except Exception as error:
        lack = memory_failure(
            error,
            f"{folder} ({stored_bytes(folder) / 1e9:.1f} GB) cannot be loaded on {device}, where "
            f"{free_memory(device) / 1e9:.1f} GB is free",
            "choose a smaller model or a smaller dtype, or close other programs",
        )
        if lack is not None:
            raise lack from error
        if isinstance(error, ImportError):
            raise ModelError(f"{folder} needs a package that is missing ({first_line(error)}); install it.") from error
        raise ModelError(
            f"{folder} cannot be loaded ({first_line(error)}); check that it is a whole model of one piece."
        ) from error
