"""Settings: what can be set, what is allowed, and what a TOML profile says.

How profiles, the environment and flags are laid over each other is in `layers.py`.
"""

from __future__ import annotations

import difflib
import secrets
from collections.abc import Iterable
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import platformdirs
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from lookahead_cli.decoding.drafters.registry import DRAFTERS
from lookahead_cli.decoding.strategies import SPECULATIVE, STRATEGIES
from lookahead_cli.errors import ProfileError

DEFAULT_PROFILE = "default"
LARGEST_SEED = 2**63 - 1
RANDOM_SEEDS = 2**31
"""Seeds drawn for `seed = "random"`: short enough to be typed again."""
COOLEST = 0.01
"""Smallest temperature above 0: dividing logits by less overflows float32 and is greedy decoding anyway."""
HOTTEST = 100.0
MOST_GUESSES = 1024
MOST_THREADS = 1024


def setting(default: Any, meaning: str, allowed: str, **limits: Any) -> Any:
    """A setting with its default, what it does, and what may stand there, both in words for messages and docs."""
    return Field(default, description=meaning, json_schema_extra={"allowed": allowed}, validate_default=True, **limits)


def _temperature(value: float) -> float:
    if value and not COOLEST <= value <= HOTTEST:
        raise ValueError
    return value


def _strategy(value: str) -> str:
    if value not in STRATEGIES:
        raise ValueError
    return value


def _drafters(value: list[str]) -> list[str]:
    if not value or len(set(value)) < len(value) or not set(value) <= set(DRAFTERS):
        raise ValueError
    return value


def _names(value: Any) -> Any:
    return [name.strip() for name in value.split(",")] if isinstance(value, str) else value


def _one_or_many(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Positive = Annotated[int, Field(ge=1)]


class Section(BaseModel):
    """A table of a profile. Types are taken literally: "3" is not 3."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class ModelSettings(Section):
    source: str = setting(
        "smollm2-135m",
        "which model",
        'the packaged "smollm2-135m", a folder with safetensors and tokenizer, a .gguf file, or a hub id "owner/name"',
        min_length=1,
    )
    revision: str = setting("", "branch, tag or commit of a hub id; empty: the main branch", "text")
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = setting(
        "auto",
        "number format of the weights; auto: half precision where it is fast and tokens stay the same, else float32",
        '"auto", "float32", "bfloat16" or "float16"',
    )
    weights: Literal["auto", "stored", "full"] = setting(
        "auto",
        "stored: weights that have 4 bits are computed with as such, which is faster for one text at a time; full: all "
        "in dtype, faster for many; auto: full in a batch, else stored",
        '"auto", "stored" or "full"',
    )
    device: str = setting(
        "auto",
        "where it runs; auto: CUDA, then MPS, then CPU; spread: over all of them, for a model too large for one",
        '"auto", "cpu", "cuda", "cuda:N", "mps" or "spread"',
        pattern=r"^(auto|cpu|mps|cuda(:\d+)?|spread)$",
    )
    runner: Literal["auto", "lean", "transformers"] = setting(
        "auto",
        "what computes it; lean: our own forward pass, for the Llama family; auto: lean where it can",
        '"auto", "lean" or "transformers"',
    )
    threads: Literal["auto"] | Annotated[int, Field(ge=1, le=MOST_THREADS)] = setting(
        "auto", "CPU threads; auto: torch decides", f'"auto" or a whole number from 1 to {MOST_THREADS}'
    )
    context_length: Literal["auto"] | Annotated[int, Field(ge=2)] = setting(
        "auto",
        "most tokens of prompt and output together; auto: what the model was made for",
        '"auto" or a whole number from 2 to what the model was made for',
    )
    allow: list[Literal["pickle", "remote-code"]] = setting(
        [], "risks to take with this model: weights that can run code, code that comes with it",
        'a list of "pickle" and "remote-code"',
    )  # fmt: skip


class DraftSettings(Section):
    source: str = setting(
        "",
        "speculative: which model makes the guesses, a smaller one with the same tokenizer; empty: none",
        "as under [model], or nothing",
    )
    revision: str = setting("", "branch, tag or commit of a hub id; empty: the main branch", "text")


class DecodingSettings(Section):
    strategy: Annotated[str, AfterValidator(_strategy)] = setting(
        "lookahead", "where guesses come from", " or ".join(f'"{name}"' for name in STRATEGIES)
    )
    k: Literal["auto"] | Annotated[int, Field(ge=1, le=MOST_GUESSES)] = setting(
        "auto",
        "guesses per step; auto: as many as pay (jacobi: more while they are accepted, fewer when they break)",
        f'"auto" or a whole number from 1 to {MOST_GUESSES}',
    )
    drafters: Annotated[list[str], BeforeValidator(_names), AfterValidator(_drafters)] = setting(
        list(DRAFTERS),
        "lookahead: what guesses are made from",
        "a list, each at most once, of " + ", ".join(f'"{name}"' for name in DRAFTERS),
    )
    pool_entries: Annotated[int, Field(ge=1000)] = setting(
        100_000,
        "lookahead: most contexts each drafter remembers, at most 4 kB each all together",
        "a whole number from 1000",
    )
    across_prompts: bool = setting(
        True, "lookahead: what is learned from one prompt serves the next in the same process", "true or false"
    )
    rehearse: bool = setting(
        True,
        "lookahead: once, in the background, let the model talk to itself and keep what it tends to say",
        "true or false",
    )
    window: Annotated[int, Field(ge=0, le=MOST_GUESSES)] = setting(
        0,
        "lookahead: width of the paper's window branch, extra positions that only produce n-grams; 0: none",
        f"a whole number from 0 to {MOST_GUESSES}",
    )
    ngram_length: Annotated[int, Field(ge=2, le=16)] = setting(
        5, "lookahead: length of the n-grams a window branch produces", "a whole number from 2 to 16"
    )
    init: Literal["random", "copy-last", "model"] = setting(
        "copy-last", "what a fresh guess is, before it has been refined", '"random", "copy-last" or "model"'
    )
    refill: Literal["carry", "reinit"] = setting(
        "carry", "after a rejected guess: carry on with the refined ones, or start all afresh", '"carry" or "reinit"'
    )
    temperature: Annotated[float, AfterValidator(_temperature)] = setting(
        0.0, "0: always the likeliest token; higher: more varied", f"0 or a number from {COOLEST} to {HOTTEST:g}"
    )
    top_p: float = setting(
        1.0, "sample only from the likeliest tokens that together reach this probability; 1: from all",
        "a number above 0, at most 1", gt=0, le=1,
    )  # fmt: skip
    top_k: int = setting(0, "sample only from this many likeliest tokens; 0: from all", "a whole number from 0", ge=0)
    min_p: float = setting(
        0.0, "sample only from tokens at least this fraction as likely as the likeliest; 0: from all",
        "a number from 0, below 1", ge=0, lt=1,
    )  # fmt: skip
    repetition_penalty: Literal["auto"] | Annotated[float, Field(ge=0.1, le=10)] = setting(
        "auto",
        "above 1: tokens seen before become less likely; auto: what the model's own generation settings say, else 1",
        '"auto" or a number from 0.1 to 10',
    )
    seed: Literal["random"] | Annotated[int, Field(ge=0, le=LARGEST_SEED)] = setting(
        0, "same seed, same tokens; random: another one each time", '"random" or a whole number from 0 to 2^63 - 1'
    )
    max_new_tokens: Positive = setting(256, "most tokens to generate", "a whole number from 1")
    stop: Annotated[list[Annotated[str, Field(min_length=1)]], BeforeValidator(_one_or_many)] = setting(
        [], "texts that end the output; they are not part of it", "text or a list of texts, none of them empty"
    )


class PromptSettings(Section):
    system: str = setting("", "system text of the conversation; empty: none", "text")
    template: Literal["auto", "chat", "raw"] = setting(
        "auto",
        "chat: the model's chat template; raw: the prompt as it is; auto: chat if the model has a template",
        '"auto", "chat" or "raw"',
    )


class DisplaySettings(Section):
    color: Literal["auto", "always", "never"] = setting(
        "auto", "colours; auto: on a terminal, unless NO_COLOR is set", '"auto", "always" or "never"'
    )
    theme: Literal["default", "light", "colorblind", "mono"] = setting(
        "default",
        "how accepted guesses are marked; light: for a light background; colorblind: colours that any kind of colour "
        "vision tells apart; mono: no colours, but underlined, bold and the like",
        '"default", "light", "colorblind" or "mono"',
    )
    stats: bool = setting(True, "legend and summary after the text, on a terminal", "true or false")
    verbose: bool = setting(
        False, "where the model lies and how it is run; a line for each drafter in the summary", "true or false"
    )
    quiet: bool = setting(
        False, "nothing but the result: no notes, no progress, no legend and summary", "true or false"
    )


class ChatSettings(Section):
    history: bool = setting(
        True, "keep what is typed in a chat, readable for you only, for the arrow keys of later ones", "true or false"
    )  # fmt: skip


class Settings(Section):
    """Everything a run can be told, validated."""

    model: ModelSettings = ModelSettings()
    draft: DraftSettings = DraftSettings()
    decoding: DecodingSettings = DecodingSettings()
    prompt: PromptSettings = PromptSettings()
    display: DisplaySettings = DisplaySettings()
    chat: ChatSettings = ChatSettings()


SECTIONS: dict[str, type[Section]] = {
    name: field.annotation  # type: ignore[misc]
    for name, field in Settings.model_fields.items()
}


def require_draft_model(settings: Settings) -> None:
    """Raise ProfileError if the strategy needs a draft model and none is named."""
    if settings.decoding.strategy == SPECULATIVE and not settings.draft.source.strip():
        raise ProfileError(
            f'strategy: "{SPECULATIVE}" lets a draft model make the guesses, and none is named; give one with '
            "--draft-model, LOOKAHEAD_DRAFT_MODEL or source under [draft]"
        )


def draw_seed(decoding: DecodingSettings) -> int:
    """The seed, another one each time if it is "random"."""
    return secrets.randbelow(RANDOM_SEEDS) if decoding.seed == "random" else decoding.seed


def allowed(section: str, key: str) -> str:
    """What may stand at a key, in words."""
    extra = SECTIONS[section].model_fields[key].json_schema_extra
    assert isinstance(extra, dict)
    return str(extra["allowed"])


def choices(section: str, key: str) -> list[str]:
    """The words that may stand at a key, where it takes words from a list."""
    if (section, key) == ("decoding", "strategy"):
        return list(STRATEGIES)
    if (section, key) == ("decoding", "drafters"):
        return list(DRAFTERS)
    annotation = SECTIONS[section].model_fields[key].annotation
    members = [annotation, *get_args(annotation)]
    words = (word for member in members for word in get_args(member) or [member] if isinstance(word, str))
    return list(dict.fromkeys(words))


def profile_folders() -> list[Path]:
    """Where a profile is looked up by name, first match wins."""
    return [Path("configs"), user_profiles(), shipped_profiles()]


def user_profiles() -> Path:
    """The user's configuration folder."""
    return platformdirs.user_config_path("lookahead")


def shipped_profiles() -> Path:
    """The profiles that come with the program: inside the installed package, or beside it in a checkout."""
    package = Path(str(resources.files("lookahead_cli")))
    installed = package / "configs"
    return installed if installed.is_dir() else package.parent / "configs"


def profile_names() -> list[str]:
    """Names a profile can be found by."""
    names = set()
    for folder in profile_folders():
        with suppress(OSError):  # a folder that may not be read holds nothing for us
            names |= {path.stem for path in folder.glob("*.toml") if path.is_file()}
    return sorted(names)


def find_profile(name: str) -> Path:
    """The file of a profile given by path or by name.

    Raises:
        ProfileError: there is none.
    """
    try:
        path = Path(name).expanduser()
        if path.suffix == ".toml" or len(path.parts) > 1:
            if path.is_file():
                return path
            raise ProfileError(f"profile {path}: no such file")
        for folder in profile_folders():
            with suppress(PermissionError):
                if (folder / f"{name}.toml").is_file():
                    return folder / f"{name}.toml"
    except (OSError, RuntimeError, ValueError) as error:  # a name too long, a user that is not there, a NUL
        raise ProfileError(f'profile "{name}": {getattr(error, "strerror", None) or error}') from None
    raise ProfileError(
        f'profile "{name}": not found in {", ".join(str(folder) for folder in profile_folders())}'
        f"{nearest(name, profile_names())}; there are {', '.join(profile_names())}"
    )


def default_profile() -> Path:
    """The profile used when none is named. A `configs` folder that happens to be in the working folder is not asked."""
    own = user_profiles() / f"{DEFAULT_PROFILE}.toml"
    with suppress(OSError):
        if own.is_file():
            return own
    return shipped_profiles() / f"{DEFAULT_PROFILE}.toml"


def nearest(word: str, words: Iterable[str], least: float = 0.6) -> str:
    """`; did you mean "..."?` if some word is close, else nothing. `least` of 1 is how similar they must be."""
    close = difflib.get_close_matches(word, list(words), n=1, cutoff=least)
    return f'; did you mean "{close[0]}"?' if close else ""
