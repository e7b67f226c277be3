"""What a model may not do unless its profile allows it: run code while its weights are read, or bring code along."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lookahead_cli.errors import ModelError

PICKLE = "pickle"
REMOTE_CODE = "remote-code"

PICKLE_SUFFIXES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")


def refuse_pickle(where: str, files: Iterable[str], allow: frozenset[str]) -> None:
    """Raise ModelError if pickle `files` are the only weights of the model at `where` and pickle is not allowed."""
    if PICKLE in allow:
        return
    first = min(files)
    raise ModelError(
        f"{where} has its weights only in pickle files ({first}), and unpickling can run code hidden in the file; "
        f'choose a model with safetensors, or write allow = ["{PICKLE}"] under [model] in the profile if you trust it.'
    )


def refuse_remote_code(where: str, documents: Mapping[str, Mapping[str, object]], allow: frozenset[str]) -> None:
    """Raise ModelError if the model at `where` cannot be run without code that it brings along.

    `documents` are its JSON files by name. Many models name code of their own (`auto_map`) though transformers has
    since learnt their architecture: then that code is not needed, and never run.
    """
    if REMOTE_CODE in allow:
        return
    for file, document in documents.items():
        if asked := _code_needed(file, document):
            raise ModelError(
                f"{where} wants to run Python code of its own ({asked} in {file}); choose a model that transformers "
                f'supports by itself, or write allow = ["{REMOTE_CODE}"] under [model] in the profile if you trust it.'
            )


def _code_needed(file: str, document: Mapping[str, object]) -> str:
    """The key that makes transformers import code from outside, or ""."""
    if file == "config.json" and document.get("auto_map"):
        from transformers import CONFIG_MAPPING

        if document.get("model_type") not in CONFIG_MAPPING:
            return "auto_map"
    # A slash names a repository of compiled kernels, fetched and imported when the model is built.
    for key in ("attn_implementation", "_attn_implementation"):
        if "/" in str(document.get(key, "")):
            return key
    return ""
