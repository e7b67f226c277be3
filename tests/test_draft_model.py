"""A session with a draft model: loaded when it is needed and once, refused where it does not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from transformers import MambaConfig, MambaForCausalLM

import lookahead_cli as lookahead
from lookahead_cli import session as sessions
from lookahead_cli.errors import ModelError, ProfileError
from lookahead_cli.models.loading import LoadedModel, load
from lookahead_cli.profile import DecodingSettings
from tests.tiny_models import save_tiny_llama, tiny_tokenizer

COUNT = 40


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOKAHEAD_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny_llama(tmp_path_factory.mktemp("models") / "large"))


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders that are loaded, in order."""
    folders: list[Path] = []

    def noted(folder: Path, *more: Any) -> LoadedModel:
        folders.append(folder)
        return load(folder, *more)

    monkeypatch.setattr(sessions, "load", noted)
    return folders


def speculative(source: str, draft_model: str, **values: Any) -> lookahead.Session:
    values = {"strategy": "speculative", "template": "raw", "max_new_tokens": COUNT, "dtype": "float32", **values}
    return lookahead.open_session(lookahead.load_settings(source=source, draft_model=draft_model, **values))


def generated(session: lookahead.Session, prompt: str = "hello world") -> lookahead.Generation:
    generation = session.generate(prompt)
    list(generation)
    return generation


@pytest.mark.parametrize("runner", ["lean", "transformers"])
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_a_model_that_drafts_for_itself_is_always_right(large: str, runner: str, temperature: float) -> None:
    session = speculative(large, large, k=4, runner=runner, temperature=temperature)
    plain = session.with_decoding(session.settings.decoding.model_copy(update={"strategy": "greedy"}))
    expected = generated(plain)
    found = generated(session)
    assert found.token_ids == expected.token_ids
    assert found.statistics.acceptance_rate == 1.0
    assert found.statistics.steps == -(-len(found.token_ids) // 5)


def test_the_draft_model_is_loaded_once_and_only_when_it_is_needed(
    large: str, tmp_path: Path, loads: list[Path]
) -> None:
    small = save_tiny_llama(tmp_path / "small", seed=5, num_hidden_layers=1)
    session = speculative(large, str(small), strategy="lookahead")
    expected = generated(session).token_ids
    assert loads == [Path(large)]
    decoding = session.settings.decoding
    others = [
        session.with_decoding(decoding.model_copy(update={"strategy": "speculative", "k": k})) for k in (2, 5, "auto")
    ]
    assert loads == [Path(large)]
    for other in others:
        assert generated(other).token_ids == expected
    assert loads == [Path(large), small]
    assert len({id(other.strategy.runner) for other in others}) == 3  # type: ignore[union-attr]
    for other in others:
        assert generated(other).token_ids == expected
    loads.clear()
    speculative(large, str(small))
    assert loads == [Path(large), small], "told at once if something is wrong with it"


def test_it_is_loaded_by_the_wishes_for_the_model_but_with_its_own_context_and_no_risks(
    large: str, tmp_path: Path
) -> None:
    small = save_tiny_llama(tmp_path / "small", seed=5, max_position_embeddings=30)
    session = speculative(large, str(small), k=4, runner="transformers", context_length=100, max_new_tokens=60)
    draft = session.load_draft_model()
    assert (draft.runner_name, draft.context_length) == ("transformers", 30)
    generation = generated(session)
    assert len(generation.token_ids) == 60
    position = len(generation.prompt_ids)
    for step in generation.steps:
        assert position + step.drafted <= 30 or not step.drafted
        position += len(step.token_ids)
    pickled = tmp_path / "pickled"
    save_tiny_llama(pickled)
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    with pytest.raises(ModelError, match=r"^draft model: .*pickle"):
        speculative(large, str(pickled), allow=["pickle"])


def test_without_a_draft_model_the_strategy_is_refused_before_anything_is_loaded(large: str, loads: list[Path]) -> None:
    with pytest.raises(ProfileError, match=r'strategy: "speculative" .* none is named; give one with --draft-model'):
        speculative(large, "")
    assert loads == []
    session = speculative(large, "", strategy="greedy")
    with pytest.raises(ProfileError, match="--draft-model"):
        session.with_decoding(DecodingSettings(strategy="speculative"))


def test_another_tokenizer_is_refused(large: str, tmp_path: Path) -> None:
    other = save_tiny_llama(tmp_path / "other")
    tokenizer = tiny_tokenizer()
    tokenizer.add_tokens(["zebra"])
    tokenizer.save_pretrained(other)
    with pytest.raises(ModelError) as caught:
        speculative(large, str(other))
    message = str(caught.value)
    assert "\n" not in message
    for part in (str(other), large, "1 tokens differ", "'zebra'", "choose a smaller model of the same family"):
        assert part in message
    lazily = speculative(large, str(other), strategy="greedy")
    with pytest.raises(ModelError, match="has another tokenizer"):
        lazily.with_decoding(DecodingSettings(strategy="speculative", repetition_penalty=1.0)).generate("hello")


def test_a_draft_model_with_a_running_state_is_refused(large: str, tmp_path: Path) -> None:
    folder = tmp_path / "mamba"
    tokenizer = tiny_tokenizer()
    MambaForCausalLM(
        MambaConfig(vocab_size=len(tokenizer), hidden_size=32, state_size=8, num_hidden_layers=2)
    ).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    with pytest.raises(ModelError, match=r"the draft model .*mamba cannot take back guesses .*running state"):
        speculative(large, str(folder))
    with_a_running_state = speculative(str(folder), large)
    assert with_a_running_state.settings.decoding.strategy == "greedy"
    assert "decoding greedily" in with_a_running_state.notices[0]


def test_embeddings_padded_differently_are_no_obstacle(large: str, tmp_path: Path) -> None:
    padded = save_tiny_llama(tmp_path / "padded", seed=5, vocab_size=len(tiny_tokenizer()) + 40)
    for one, other in ((large, str(padded)), (str(padded), large)):
        session = speculative(one, other, k=3, temperature=1.5)
        plain = session.with_decoding(session.settings.decoding.model_copy(update={"strategy": "greedy"}))
        assert generated(session).token_ids == generated(plain).token_ids
