"""A model folder: which files it must have, and which of them hold the weights. Reads JSON, never the weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lookahead_cli.errors import ModelError
from lookahead_cli.models.safety import PICKLE_SUFFIXES, refuse_pickle, refuse_remote_code

SAFETENSORS = "model.safetensors"
SAFETENSORS_INDEX = "model.safetensors.index.json"
PICKLE = "pytorch_model.bin"
PICKLE_INDEX = "pytorch_model.bin.index.json"

# Any one of these is enough for some tokenizer class of transformers.
_TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
    "vocab.json",
    "vocab.txt",
    "tekken.json",
)
_JSON_FILES = ("config.json", "generation_config.json", "tokenizer_config.json")


def check_folder(folder: Path, allow: frozenset[str], name: str = "") -> list[Path]:
    """Check that `folder` holds a whole model that is allowed to load, and return its weight files.

    `name` is what the user calls it, by default the folder's path. Raises ModelError naming the first thing wrong.
    """
    where = name or str(folder)
    try:
        return _checked(folder, allow, where)
    except OSError as error:
        raise ModelError(f"{where} cannot be read: {error.strerror}; check its permissions.") from error


def _checked(folder: Path, allow: frozenset[str], where: str) -> list[Path]:
    documents = {file: read_json(folder / file) for file in _JSON_FILES if (folder / file).is_file()}
    if "config.json" not in documents:
        raise ModelError(_without_config(folder, where))
    refuse_remote_code(where, documents, allow)
    weights = weight_files(folder, allow, where, documents["config.json"].get("transformers_weights"))
    if not any((folder / file).is_file() for file in _TOKENIZER_FILES) and not list(folder.glob("*.tiktoken")):
        raise ModelError(
            f"{where} has no tokenizer (no tokenizer.json or tokenizer.model); put the files of the model's own "
            "tokenizer there."
        )
    return weights


def weight_files(folder: Path, allow: frozenset[str], where: str, named: str | None = None) -> list[Path]:
    """The files that hold the weights, safetensors before pickle. Raises ModelError for none, missing or refused.

    `named` is the file that config.json names in place of the usual ones, if it does.
    """
    if named is not None:
        return _named_weights(folder, str(named), where)
    if (folder / SAFETENSORS).is_file():
        return [folder / SAFETENSORS]
    if (folder / SAFETENSORS_INDEX).is_file():
        return _shards(folder, SAFETENSORS_INDEX, where)
    names = [file.name for file in folder.iterdir() if file.is_file()]
    loose = sorted(name for name in names if name.endswith(".safetensors") and name != "adapter_model.safetensors")
    if loose:
        raise ModelError(
            f"{where} has {loose[0]} but neither {SAFETENSORS} nor {SAFETENSORS_INDEX}; complete the download, or "
            f"rename a single weights file to {SAFETENSORS}."
        )
    pickles = [name for name in names if name.endswith(PICKLE_SUFFIXES) and name != "training_args.bin"]
    if not pickles:
        raise ModelError(f"{where} has no weights: there is no {SAFETENSORS} in it; complete the download.")
    refuse_pickle(where, pickles, allow)
    if PICKLE in pickles:
        return [folder / PICKLE]
    if PICKLE_INDEX in names:
        return _shards(folder, PICKLE_INDEX, where)
    raise ModelError(
        f"{where} has its weights in {min(pickles)}, which transformers does not load; save the model as safetensors "
        "with its `save_pretrained`."
    )


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in the file at `path`. Raises ModelError when it is unreadable or something else."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}; check its permissions.") from error
    except json.JSONDecodeError as error:
        raise ModelError(
            f"{path} is not valid JSON (line {error.lineno}, column {error.colno}: {error.msg}); fetch it again."
        ) from error
    except (ValueError, RecursionError) as error:  # not UTF-8, a number of thousands of digits, too deep
        raise ModelError(f"{path} is not valid JSON; fetch it again.") from error
    if not isinstance(document, dict):
        raise ModelError(f"{path} does not hold a JSON object; fetch it again.")
    return document


def shard_names(index: Path) -> list[str]:
    """The names of the weight files that the index file lists. Raises ModelError for an index that is none."""
    weight_map = read_json(index).get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise ModelError(f"{index} lists no weights (weight_map is missing or empty); fetch it again.")
    return sorted({str(name) for name in weight_map.values()})


def _shards(folder: Path, index: str, where: str) -> list[Path]:
    shards = [folder / name for name in shard_names(folder / index)]
    for shard in shards:
        # transformers unpickles whatever is not named .safetensors, so an index must not smuggle such a file in.
        if index != PICKLE_INDEX and shard.suffix != ".safetensors":
            raise ModelError(f"{where} has an index {index} that names {shard.name}, which is no safetensors file.")
        if not shard.is_file():
            raise ModelError(f"{where} lacks {shard.name}, which {index} names; complete the download.")
    return shards


def _named_weights(folder: Path, named: str, where: str) -> list[Path]:
    if named.endswith(".safetensors.index.json") and (folder / named).is_file():
        return _shards(folder, named, where)
    if named.endswith(".safetensors") and (folder / named).is_file():
        return [folder / named]
    raise ModelError(
        f"{where} has a config.json that names {named} as its weights (transformers_weights), which is not a "
        "safetensors file in that folder; correct or delete that key."
    )


def _without_config(folder: Path, where: str) -> str:
    ggufs = sorted(folder.glob("*.gguf"))
    if ggufs:
        return f"{where} has no config.json but GGUF files; name one of the files itself, such as {ggufs[0]}."
    if (folder / "adapter_config.json").is_file():
        return f"{where} is an adapter, not a whole model; merge it into its base model and save that."
    return f"{where} is not a model folder: there is no config.json in it; name the folder that holds config.json."
