"""Everything that can be said about a model without loading its weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any

from lookahead_cli.errors import ModelError
from lookahead_cli.knowledge.folder import knowledge_folder
from lookahead_cli.models.facts import Facts, config_facts, gguf_config, gguf_facts, stored_weights
from lookahead_cli.models.failures import first_line
from lookahead_cli.models.folder import check_folder, read_json
from lookahead_cli.models.generation_defaults import ignored_settings, own_repetition_penalty, suggested_sampling
from lookahead_cli.models.gguf import check_convertible, end_tokens
from lookahead_cli.models.gguf_header import GgufHeader, read_header
from lookahead_cli.models.hub import look_up, readable_folder
from lookahead_cli.models.loading import Wish, first_ids, read_lean
from lookahead_cli.models.needs import Needs, lean_facts, lean_needs, transformers_needs
from lookahead_cli.models.packaged import PACKAGED, installed_gguf
from lookahead_cli.models.plan import Plan, plan
from lookahead_cli.models.progress import Progress, silent
from lookahead_cli.models.safety import PICKLE, REMOTE_CODE, refuse_remote_code
from lookahead_cli.models.sources import Source, present_folder

_ANYTHING = frozenset({PICKLE, REMOTE_CODE})
"""To look at a model is no risk."""


@dataclass(frozen=True)
class EndToken:
    """A token that ends the output."""

    id: int
    text: str | None
    """None where the files do not say it."""


@dataclass(frozen=True)
class Generation:
    """What the model's own generation settings ask for, and what becomes of it."""

    repetition_penalty: float = 1.0
    """Honoured, as the end tokens are."""
    not_honoured: tuple[str, ...] = ()
    """Settings that would change tokens and are not known here."""
    sampling: Mapping[str, float] = field(default_factory=dict)
    """How its makers sample from it: only done if asked for."""


@dataclass(frozen=True)
class Report:
    """A model, described."""

    source: Source
    folder: Path | None
    """The folder that would be loaded, if it is here."""
    disk_bytes: int = 0
    """Of what is here: that folder, a part of it, or the GGUF file."""
    fetch_bytes: int = 0
    """What would have to be downloaded first."""
    facts: Facts | None = None
    """None where nothing is here to read them from."""
    chat_template: bool = False
    end_tokens: tuple[EndToken, ...] = ()
    generation: Generation = Generation()
    plan: Plan | None = None
    needs: Needs | None = None
    obstacle: str = ""
    """Why it cannot be run as things are; empty if nothing is known to be in the way."""


def report(source: Source, revision: str, wish: Wish, progress: Progress = silent) -> Report:
    """What can be said about `source`. Nothing large is fetched, nothing is converted.

    Raises ModelError for a model that is not there or damaged, ResourceError without the network if it is needed.
    """
    if source.kind == "hub":
        folder = readable_folder(source.name, revision)
    else:
        folder = present_folder(source, allow=_ANYTHING, progress=progress)
    if folder is not None:
        return _of_present(source, folder, wish)
    if source.kind == "gguf":
        return _of_gguf(source, source.path, wish)
    if source.kind == "hub":
        return _of_published(source, revision, wish, progress)
    model = PACKAGED[source.name]
    installed = installed_gguf(model, progress)
    if installed is not None:
        return _of_gguf(source, installed, wish)
    return Report(source, None, fetch_bytes=model.wheel_bytes)


def _of_present(source: Source, folder: Path, wish: Wish) -> Report:
    weights = check_folder(folder, _ANYTHING, source.name)
    told = _of_folder(source, folder, weights, stored_weights(weights), wish)
    told = replace(told, folder=folder, disk_bytes=_size(folder))
    if source.kind != "gguf":
        return told
    facts = gguf_facts(_header(source.path))
    return replace(told, facts=replace(told.facts or facts, parameters=facts.parameters, dtypes=facts.dtypes))


def _of_published(source: Source, revision: str, wish: Wish, progress: Progress) -> Report:
    """Of a hub model whose small files are fetched now."""
    published = look_up(source.name, revision, progress)
    weights = published.weights(source.name)
    told = _of_folder(source, published.folder, [PurePath(name) for name in weights], published.parameters, wish)
    missing = [size for name, size in weights.items() if not (published.folder / name).is_file()]
    return replace(told, disk_bytes=_size(published.folder), fetch_bytes=sum(missing))


def _of_gguf(source: Source, gguf: Path, wish: Wish) -> Report:
    """Of a GGUF file that has not been converted, by its header."""
    header = _header(gguf)
    config = gguf_config(header)
    told = Report(
        source, None, gguf.stat().st_size, 0, gguf_facts(header), "tokenizer.chat_template" in header.metadata,
        tuple(EndToken(end, None) for end in end_tokens(header)), plan=plan(config, (), wish, None),
    )  # fmt: skip
    try:
        check_convertible(gguf, header)
    except ModelError as error:
        return replace(told, plan=None, obstacle=str(error).rstrip("."))
    return _with_needs(told, config, wish, None)


def _of_folder(
    source: Source, folder: Path, weights: Sequence[PurePath], stored: Mapping[str, int], wish: Wish
) -> Report:
    """By the small files in `folder`. `weights` are the names of the files with the weights, wherever those are."""
    config = read_json(folder / "config.json")
    own = folder / "generation_config.json"
    generation = read_json(own) if own.is_file() else config
    knowledge = knowledge_folder(folder)
    told = Report(
        source, None, 0, 0, config_facts(config, stored), _has_chat_template(folder),
        _end_tokens(folder, generation, config),
        Generation(
            own_repetition_penalty(generation), tuple(ignored_settings(generation)), suggested_sampling(generation)
        ),
        plan(config, weights, wish, knowledge),
    )  # fmt: skip
    if PICKLE not in wish.allow and any(file.suffix != ".safetensors" for file in weights):
        told = replace(told, obstacle=f'its weights are pickle files, which need allow = ["{PICKLE}"] in the profile')
    if told.plan is not None and told.plan.runner == "transformers":
        try:
            config = _completed(folder, config, wish)
        except ModelError as error:
            return replace(told, plan=None, obstacle=told.obstacle or str(error).rstrip("."))
    return _with_needs(told, config, wish, knowledge)


def _completed(folder: Path, config: Mapping[str, Any], wish: Wish) -> dict[str, Any]:
    """The config with what transformers takes for granted. Raises ModelError for a model it does not run."""
    from lookahead_cli.models.hugging_face import offline, silence
    from lookahead_cli.models.transformers_loading import load_config

    refuse_remote_code(str(folder), {"config.json": config}, wish.allow)
    silence()
    try:
        with offline():  # never with code that the model brings along: this is only a look at it
            full = load_config(folder, {"local_files_only": True, "trust_remote_code": False})
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(f"transformers cannot read its config.json ({first_line(error)})") from error
    return {**full.to_dict(), **full.get_text_config(decoder=True).to_dict(), **config}


def _with_needs(told: Report, config: Mapping[str, Any], wish: Wish, knowledge: Path | None) -> Report:
    """With what it takes to run it."""
    assert told.facts is not None
    if told.plan is not None and told.plan.runner == "lean":
        architecture = read_lean(config, wish, ())
        return replace(
            told, facts=lean_facts(told.facts, architecture), needs=lean_needs(architecture, wish, knowledge)
        )
    stored = told.facts
    facts = replace(config_facts(config, {}), parameters=stored.parameters, dtypes=stored.dtypes)
    return replace(told, facts=facts, needs=transformers_needs(facts, config, wish))


def _header(gguf: Path) -> GgufHeader:
    try:
        return read_header(gguf)
    except OSError as error:
        raise ModelError(f"{gguf} cannot be read: {error.strerror}; check its permissions and its disk.") from error


def _has_chat_template(folder: Path) -> bool:
    if (folder / "chat_template.jinja").is_file() or (folder / "chat_template.json").is_file():
        return True
    settings = folder / "tokenizer_config.json"
    return settings.is_file() and bool(read_json(settings).get("chat_template"))


def _end_tokens(folder: Path, generation: Mapping[str, Any], config: Mapping[str, Any]) -> tuple[EndToken, ...]:
    """The tokens that end the output, as `loading` finds them."""
    texts = _added_tokens(folder)
    ids = first_ids(generation.get("eos_token_id"), config.get("eos_token_id"))
    if not ids and (folder / "tokenizer_config.json").is_file():
        named = read_json(folder / "tokenizer_config.json").get("eos_token")
        text = named.get("content") if isinstance(named, dict) else named
        ids = frozenset(end for end, added in texts.items() if added == text)
    return tuple(EndToken(end, texts.get(end)) for end in sorted(ids))


def _added_tokens(folder: Path) -> dict[int, str]:
    """Tokens beside the vocabulary proper, as the special ones are, by id."""
    file = folder / "tokenizer.json"
    added = read_json(file).get("added_tokens") if file.is_file() else None
    return {token["id"]: token["content"] for token in added or () if isinstance(token, dict)}


def _size(folder: Path) -> int:
    """Bytes of the files of a model folder, those that are links (as in the hub's cache) too."""
    total = 0
    for file in folder.rglob("*"):
        with suppress(OSError):
            total += file.stat().st_size if file.is_file() else 0
    return total
