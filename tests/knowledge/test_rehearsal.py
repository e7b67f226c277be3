"""A model that talks to itself: what it writes is what it would write alone, and the table says what it found."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from lookahead_cli.decoding.likely import certainty
from lookahead_cli.knowledge import rehearsal
from lookahead_cli.knowledge.background import ATTEMPTS, MOST_ATTEMPTS, MOST_PARAMETERS, count_attempt, start_rehearsal
from lookahead_cli.knowledge.rehearsal import CONVERSATIONS, Forward, find_opening, rehearse, write
from lookahead_cli.knowledge.table import TableBuilder, load_table, table_file
from lookahead_cli.models.loading import LoadedModel, Wish, load
from lookahead_cli.models.transformers_runner import TransformersRunner
from tests.oracle import greedy_tokens
from tests.tiny_models import save_tiny_llama

PATIENCE = 120


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_llama(tmp_path_factory.mktemp("models") / "llama")


@pytest.fixture(scope="module")
def loaded(folder: Path) -> LoadedModel:
    return load(folder, Wish(dtype="float32", device="cpu", runner="transformers"))


@pytest.fixture(scope="module")
def model(loaded: LoadedModel) -> Any:
    """The transformers model."""
    assert isinstance(loaded.runner, TransformersRunner)
    return loaded.runner.model


def test_many_prompts_at_once_are_continued_as_each_alone(model: Any) -> None:
    prompts = [[5, 6, 7], [11], [30, 40, 50, 60, 70, 80]]
    for prompt, text in zip(prompts, write(Forward(model), prompts, 12, frozenset()), strict=True):
        assert text.tokens == greedy_tokens(model, prompt, 12)
        assert [ids[0] for ids in text.likely.ids] == text.tokens


def test_sampled_text_differs_by_seed_and_ends_at_the_end_of_text(model: Any) -> None:
    forward = Forward(model)
    texts = {
        tuple(write(forward, [[5]], 10, frozenset(), torch.Generator().manual_seed(seed))[0].tokens)
        for seed in range(5)
    }
    assert len(texts) > 1
    first = greedy_tokens(model, [5], 1)[0]
    (ended,) = write(forward, [[5]], 10, frozenset({first}))
    assert ended.tokens == []
    assert len(ended.likely) == 1, "that it ends there is worth knowing too"


def test_a_conversation_opens_with_the_users_turn(loaded: LoadedModel) -> None:
    opening = find_opening(loaded.tokenizer)
    text = loaded.tokenizer.backend_tokenizer.decode(opening.before + opening.after, skip_special_tokens=False)
    assert text == "<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n"


def test_without_a_template_the_text_just_begins(loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loaded.tokenizer, "chat_template", None)
    opening = find_opening(loaded.tokenizer)
    assert opening.before == [loaded.tokenizer.bos_token_id]
    assert opening.after == []


def test_the_table_says_what_the_model_says(loaded: LoadedModel, model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "CONVERSATIONS", 2)
    monkeypatch.setattr(rehearsal, "AT_ONCE", 2)
    monkeypatch.setattr(rehearsal, "SINGLES_BETWEEN_SAVES", 100)
    vocab = loaded.runner.vocab
    builder = TableBuilder(vocab)
    assert list(rehearse(loaded, builder)) == [0, 0, 2]
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([[9]])).logits[0, -1]
    best = int(logits.argmax())
    assert next(iter(builder.singles[9].items())) == (best, certainty(float(torch.softmax(logits, -1)[best])))
    assert all(len(rows) > 10 for rows in builder.contexts)
    assert list(rehearse(loaded, builder)) == [], "what is done is not done again"


def test_the_background_process_makes_the_table_and_leaves(folder: Path, tmp_path: Path, loaded: LoadedModel) -> None:
    knowledge = tmp_path / "knowledge"
    vocab = loaded.runner.vocab
    assert start_rehearsal(folder, knowledge, vocab, parameters=1000)
    table = None
    for _ in range(PATIENCE):
        time.sleep(1)
        table = load_table(table_file(knowledge), vocab)
        if table is not None and table.conversations >= CONVERSATIONS:
            break
    assert table is not None
    assert table.conversations == CONVERSATIONS
    assert not start_rehearsal(folder, knowledge, vocab, parameters=1000), "there is nothing left to do"
    assert all(not file.name.startswith(".") for file in knowledge.iterdir())


def test_it_is_not_started_in_vain(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    monkeypatch.setattr("subprocess.Popen", lambda *arguments, **options: started.append(arguments))
    assert not start_rehearsal(folder, tmp_path, 10, parameters=MOST_PARAMETERS + 1)
    for _ in range(2 * MOST_ATTEMPTS):
        if start_rehearsal(folder, tmp_path, 10, parameters=1000):
            count_attempt(tmp_path)  # as the process does
    assert len(started) == MOST_ATTEMPTS, "one that never ends well is given up"
    (tmp_path / ATTEMPTS).write_text("Infinity")
    assert start_rehearsal(folder, tmp_path, 10, parameters=1000), "a damaged count is none"
    if os.geteuid():
        (tmp_path / "locked").mkdir(mode=0o500)
        assert not start_rehearsal(folder, tmp_path / "locked" / "x", 10, parameters=1000)
