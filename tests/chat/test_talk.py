"""A conversation gives the tokens of a fresh run over all of it, and the model reads only what is new."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from lookahead_cli.chat.conversation import Conversation
from lookahead_cli.chat.talk import Talk, carried_over, require_chat_template
from lookahead_cli.decoding.drafters.copies import Copies
from lookahead_cli.decoding.generation import Generation
from lookahead_cli.decoding.lookahead import Lookahead
from lookahead_cli.decoding.speculative import Speculative
from lookahead_cli.errors import ModelError, ProfileError, PromptError
from lookahead_cli.knowledge.store import rates_file, read_rates
from lookahead_cli.layers import load_settings
from lookahead_cli.session import Session, open_session
from tests.letters import letter_tokenizer, save_letters
from tests.oracle import greedy_tokens
from tests.parrot import save_parrot
from tests.tiny_architectures import REWINDABLE, RUNNING_STATE
from tests.tiny_models import save_tiny_llama

ANSWER = 12


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one_thread: None) -> None:
    monkeypatch.setenv("LOOKAHEAD_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def letters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_letters(tmp_path_factory.mktemp("letters"))


@pytest.fixture(scope="module")
def oracle(letters: Path) -> Any:
    return transformers.AutoModelForCausalLM.from_pretrained(letters, dtype=torch.float32).eval()


def talk_with(folder: Path, system: str = "", **settings: Any) -> Talk:
    wanted = {"source": str(folder), "dtype": "float32", "max_new_tokens": ANSWER, **settings}
    session = open_session(load_settings("default", **wanted))
    return Talk(session, Conversation(system))


def answered(talk: Talk, said: str) -> Generation:
    generation = talk.ask(said)
    list(generation)
    talk.keep()
    return generation


def fresh_answer(oracle: Any, session: Session, messages: list[dict[str, str]]) -> list[int]:
    """What transformers says to the whole conversation."""
    text = session.loaded.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    return greedy_tokens(oracle, session.loaded.tokenizer(text, add_special_tokens=False)["input_ids"], ANSWER)


@pytest.mark.parametrize("runner", ["lean", "transformers"])
@pytest.mark.parametrize("strategy", ["greedy", "lookahead", "jacobi"])
def test_every_turn_gives_the_tokens_of_a_fresh_run_and_reads_only_what_is_new(
    letters: Path, oracle: Any, runner: str, strategy: str
) -> None:
    talk = talk_with(letters, "be brief", runner=runner, strategy=strategy)
    before: list[int] = []
    messages = [{"role": "system", "content": "be brief"}]
    for said in ("hello", "and now?", "go on"):
        generation = answered(talk, said)
        messages.append({"role": "user", "content": said})
        assert generation.token_ids == fresh_answer(oracle, talk.session, messages)
        statistics = generation.statistics
        assert statistics.kept_tokens == max(len(before) - 1, 0), "all but the last token said lie in the cache"
        assert statistics.prefill_tokens == len(generation.prompt_ids) - 1 - statistics.kept_tokens
        before = generation.prompt_ids + generation.token_ids
        messages.append({"role": "assistant", "content": generation.text})
    assert statistics.prefill_tokens < 40 < statistics.kept_tokens


def test_what_was_said_is_exactly_what_the_model_is_shown_next(letters: Path) -> None:
    talk = talk_with(letters)
    first = answered(talk, "hello")
    second = talk.ask("more")
    assert second.prompt_ids[: len(first.prompt_ids) + ANSWER] == first.prompt_ids + first.token_ids


def test_tokens_the_tokenizer_would_not_have_chosen_are_not_read_again(tmp_path: Path) -> None:
    folder = save_tiny_llama(tmp_path / "llama", max_position_embeddings=512)
    oracle = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    talk = talk_with(folder)
    tokenizer = talk.session.loaded.tokenizer
    before: list[int] = []
    differed = False
    for said in ("hello world", "and ahead?", "go on"):
        generation = answered(talk, said)
        assert generation.token_ids == greedy_tokens(oracle, generation.prompt_ids, ANSWER)
        assert generation.prompt_ids[: len(before)] == before
        assert generation.statistics.kept_tokens == max(len(before) - 1, 0)
        differed |= tokenizer(generation.text, add_special_tokens=False)["input_ids"] != generation.token_ids
        before = generation.prompt_ids + generation.token_ids
    assert differed, "or there was nothing to test"


def test_a_draft_model_reads_only_what_is_new_too(
    letters: Path, oracle: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drafts = save_letters(tmp_path / "small", seed=1)
    talk = talk_with(letters, strategy="speculative", draft_model=str(drafts), k=3)
    answered(talk, "hello")
    strategy = talk.session.strategy
    assert isinstance(strategy, Speculative)
    read: list[int] = []
    prefill = strategy.runner.prefill

    def counted(tokens: list[int], *, kept: int) -> None:
        read.append(len(tokens) - kept)
        prefill(tokens, kept=kept)

    monkeypatch.setattr(strategy.runner, "prefill", counted)
    messages = [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": talk.conversation.turns[0].answer},
    ]
    for said in ("and now?", "go on"):
        generation = answered(talk, said)
        messages.append({"role": "user", "content": said})
        assert generation.token_ids == fresh_answer(oracle, talk.session, messages)
        messages.append({"role": "assistant", "content": generation.text})
    assert max(read) < 50 < len(generation.prompt_ids)


def test_an_answer_that_was_stopped_can_be_gone_on_from(letters: Path, oracle: Any) -> None:
    talk = talk_with(letters)
    generation = talk.ask("hello")
    events = iter(generation)
    for _ in range(4):
        next(events)
    talk.keep()
    events.close()  # type: ignore[attr-defined]
    said = generation.text
    assert 3 <= len(said) < ANSWER
    following = answered(talk, "go on")
    assert following.statistics.kept_tokens >= len(generation.prompt_ids) + len(said) - 1
    messages = [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": said},
        {"role": "user", "content": "go on"},
    ]  # fmt: skip
    assert following.token_ids == fresh_answer(oracle, talk.session, messages)


def test_a_question_that_got_no_answer_was_never_asked(letters: Path) -> None:
    talk = talk_with(letters)
    answered(talk, "hello")
    next(iter(talk.ask("never mind")))
    talk.keep()
    assert [turn.said for turn in talk.conversation.turns] == ["hello"]


def test_retry_reads_nothing_again_and_with_a_temperature_says_something_else(letters: Path) -> None:
    talk = talk_with(letters, temperature=1.0, seed=7)
    first = answered(talk, "hello")
    said = talk.take_back()
    talk.next_seed()
    second = answered(talk, said)
    assert second.prompt_ids == first.prompt_ids
    assert second.statistics.prefill_tokens == 0
    assert second.token_ids != first.token_ids
    assert second.token_ids == answered(talk_with(letters, temperature=1.0, seed=8), "hello").token_ids
    assert len(talk.conversation.turns) == 1


def test_there_is_nothing_to_retry_at_the_beginning(letters: Path) -> None:
    with pytest.raises(PromptError, match="nothing has been said yet"):
        talk_with(letters).take_back()


def test_a_full_context_drops_the_oldest_turns_and_keeps_the_system_text(letters: Path, oracle: Any) -> None:
    talk = talk_with(letters, "be brief", context_length=200)
    for number in range(8):
        generation = answered(talk, f"question {number}")
        assert len(generation.prompt_ids) + ANSWER <= 200
        assert generation.finish_reason == "length"
    dropped = talk.conversation.dropped
    assert 0 < dropped < 7
    assert len(talk.conversation.turns) == 8
    shown = [{"role": "system", "content": "be brief"}, *map(dict, talk.conversation.messages[:-1])]
    assert shown[1]["content"] == f"question {dropped}"
    assert generation.token_ids == fresh_answer(oracle, talk.session, shown)


def test_not_every_turn_drops_some_once_the_context_is_full(letters: Path) -> None:
    talk = talk_with(letters, context_length=200)
    read_again = []
    for number in range(12):
        generation = answered(talk, f"q{number}")
        read_again.append(generation.statistics.kept_tokens < 10 < generation.statistics.prefill_tokens)
    assert talk.conversation.dropped > 1
    assert 0 < sum(read_again) < 12 - read_again.index(True)


def test_a_message_longer_than_the_context_is_refused_and_the_conversation_stays(letters: Path) -> None:
    talk = talk_with(letters, context_length=100)
    answered(talk, "hello")
    with pytest.raises(PromptError, match="leaves no room in the context of 100"):
        talk.ask("x" * 100)
    assert [turn.said for turn in talk.conversation.turns] == ["hello"]
    answered(talk, "still there?")


def test_what_was_learned_stays_when_only_sampling_changes(letters: Path) -> None:
    talk = talk_with(letters)
    answered(talk, "hello")
    learned = talk.session.strategy
    assert isinstance(learned, Lookahead)
    talk.set_value("max_new_tokens", "5")
    assert talk.session.strategy is learned
    talk.set_value("temperature", "0.7")
    beside = talk.session.strategy
    assert isinstance(beside, Lookahead)
    assert beside is not learned
    assert beside.times is learned.times
    assert len(answered(talk, "more").token_ids) == 5
    talk.set_value("strategy", "greedy")
    assert answered(talk, "more").statistics.tokens_per_step == 1
    assert talk.session.settings.decoding.temperature == 0.7


def test_a_changed_setting_reads_nothing_again(letters: Path) -> None:
    talk = talk_with(letters)
    first = answered(talk, "hello")
    talk.set_value("strategy", "jacobi")
    second = answered(talk, "more")
    assert second.statistics.kept_tokens == len(first.prompt_ids) + ANSWER - 1


def test_a_setting_that_is_not_allowed_changes_nothing(letters: Path) -> None:
    talk = talk_with(letters)
    with pytest.raises(ProfileError, match='did you mean "temperature"'):
        talk.set_value("temprature", "1")
    with pytest.raises(ProfileError, match="/set temperature: -1 is not allowed"):
        talk.set_value("temperature", "-1")
    assert talk.session.settings.decoding.temperature == 0


def test_a_new_strategy_starts_afresh_where_more_than_sampling_changes(letters: Path) -> None:
    talk = talk_with(letters)
    answered(talk, "hello")
    old = talk.session
    assert carried_over(old, old.with_decoding(old.settings.decoding.model_copy(update={"k": 4}))) is None


def test_hit_rates_of_greedy_decoding_are_not_taken_for_those_of_sampling(letters: Path) -> None:
    talk = talk_with(letters)
    for said in ("hello", "more"):
        answered(talk, said)
    greedy = learned_rates(talk)
    talk.set_value("temperature", "1")
    sampled = learned_rates(talk)
    assert sampled != greedy, "what was learned"
    answered(talk, "go on")
    assert learned_rates(talk) != sampled
    talk.set_value("temperature", "0")
    assert set(learned_rates(talk)["weights"]) >= set(greedy["weights"]), "what the first answers have stored"
    folder = talk.session.knowledge
    stored = {kind: read_rates(rates_file(folder, sampled=kind == "sampled")) for kind in ("greedy", "sampled")}
    assert stored["greedy"] is not None
    assert stored["greedy"]["rates"] == greedy["rates"], "sampling has added nothing"
    assert stored["sampled"] is not None


def learned_rates(talk: Talk) -> dict[str, Any]:
    assert isinstance(talk.session.strategy, Lookahead)
    return talk.session.strategy.rates.export()


def test_what_a_retried_answer_said_can_still_be_copied(letters: Path) -> None:
    talk = talk_with(letters, temperature=1.0, seed=7)
    for _ in range(2):  # the first strategy of all is what later ones copy from
        answered(talk, "hello")
        talk.take_back()
        talk.next_seed()
    said = answered(talk, "hello").token_ids[: ANSWER // 2]  # nothing is learned from the last step
    talk.take_back()
    talk.next_seed()
    assert isinstance(talk.session.strategy, Lookahead)
    [copies] = [drafter for drafter in talk.session.strategy.drafters if isinstance(drafter, Copies)]
    assert copies.library is not None
    shelf = copies.library.shelf.tokens
    assert any(shelf[place : place + len(said)] == said for place in range(len(shelf)))


@pytest.mark.parametrize("name", ["mistral", "gemma3", "gpt2"])
def test_other_architectures_carry_on_too_as_far_as_their_caches_can(tmp_path: Path, name: str) -> None:
    check_turns(save_with_letters(tmp_path / "model", REWINDABLE[name]()), reads_all=False)


def test_a_running_state_reads_the_conversation_anew(tmp_path: Path) -> None:
    check_turns(save_with_letters(tmp_path / "model", RUNNING_STATE["mamba"]()), reads_all=True)


def save_with_letters(folder: Path, config: Any) -> Path:
    """A random model of that config with the tokenizer of single letters."""
    tokenizer = letter_tokenizer()
    config.vocab_size = len(tokenizer)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def check_turns(folder: Path, *, reads_all: bool) -> None:
    """Three turns with the tokens of fresh runs, reading all of the conversation each time or not."""
    oracle = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    talk = talk_with(folder, runner="transformers")
    messages: list[dict[str, str]] = []
    for said in ("hello", "more", "and now?"):
        generation = answered(talk, said)
        messages.append({"role": "user", "content": said})
        expected = fresh_answer(oracle, talk.session, messages)
        assert generation.token_ids == expected[: len(generation.token_ids)]
        messages.append({"role": "assistant", "content": generation.text})
    assert (generation.statistics.kept_tokens == 0) == reads_all


def test_the_reading_of_a_long_message_is_told_and_can_be_stopped(tmp_path: Path) -> None:
    talk = talk_with(save_letters(tmp_path / "long", context=4096))
    answered(talk, "hello")
    heard: list[float] = []

    def progress(activity: str, fraction: float | None = None) -> None:
        heard.append(fraction or 0.0)
        if len(heard) == 3:
            raise KeyboardInterrupt

    generation = talk.ask("x" * 2000, progress)
    with pytest.raises(KeyboardInterrupt):
        next(iter(generation))
    assert heard == sorted(heard)
    assert 0 < heard[-1] < 1
    talk.take_back()
    answered(talk, "more")
    assert len(talk.conversation.turns) == 2


@pytest.mark.parametrize(
    ("template", "error", "message"),
    [
        ("{% if false %}x{% endif %}", PromptError, "no tokens at all"),
        ("{{ raise_exception('no' * 10000) }}", ModelError, "the model's chat template fails"),
    ],
)
def test_a_template_that_shows_nothing_or_refuses_is_told_shortly(
    tmp_path: Path, template: str, error: type[Exception], message: str
) -> None:
    folder = save_letters(tmp_path / "letters")
    (folder / "chat_template.jinja").write_text(template)
    talk = talk_with(folder)
    with pytest.raises(error, match=message) as told:
        talk.ask("hello")
    assert len(str(told.value)) < 500
    assert not talk.conversation.turns


def test_models_without_a_chat_template_do_not_talk(tmp_path: Path) -> None:
    session = open_session(load_settings(source=str(save_parrot(tmp_path / "parrot", "x")), template="raw"))
    with pytest.raises(PromptError, match="needs the model's chat template"):
        require_chat_template(session)


@pytest.fixture
def two_talks(letters: Path) -> tuple[Talk, Talk]:
    talk = talk_with(letters)
    return talk, Talk(talk.session.with_decoding(talk.session.settings.decoding), Conversation())


def test_two_conversations_on_one_cache_do_not_spoil_each_other(two_talks: tuple[Talk, Talk], oracle: Any) -> None:
    one, other = two_talks
    first = answered(one, "hello")
    answered(other, "something else")
    second = answered(one, "go on")
    messages = [
        {"role": "user", "content": "hello"}, {"role": "assistant", "content": first.text},
        {"role": "user", "content": "go on"},
    ]  # fmt: skip
    assert second.token_ids == fresh_answer(oracle, one.session, messages)
