"""`lookahead generate` in a pipe: what comes out, and what is said about bad input."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from inspect import signature
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer, BloomConfig, BloomForCausalLM, GPT2LMHeadModel

from lookahead_cli.decoding.drafters.registry import DRAFTERS
from lookahead_cli.decoding.loop import decode
from lookahead_cli.errors import ResourceError
from lookahead_cli.profile import SECTIONS
from tests.commands.conftest import TEXT, Lookahead
from tests.oracle import greedy_tokens
from tests.parrot import PROMPT, save_parrot
from tests.tiny_models import save_tiny_llama, tiny_tokenizer, write_tiny_gguf


def test_a_pipe_gets_the_text_byte_for_byte_and_nothing_else(parrot: Lookahead) -> None:
    outcome = parrot()
    assert outcome.code == 0
    assert outcome.stdout == TEXT.encode()
    assert outcome.stderr == ""


@pytest.mark.parametrize("runner", ["lean", "transformers"])
@pytest.mark.parametrize("strategy", ["greedy", "jacobi", "lookahead"])
def test_text_is_that_of_transformers(lookahead: Lookahead, llama_folder: str, strategy: str, runner: str) -> None:
    tokenizer = AutoTokenizer.from_pretrained(llama_folder)
    model = AutoModelForCausalLM.from_pretrained(llama_folder)
    messages = [{"role": "system", "content": "be"}, {"role": "user", "content": "hello"}]
    ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True)["input_ids"]
    expected = greedy_tokens(model, ids, 30)
    arguments = ["generate", "-m", llama_folder, "-p", "hello", "-s", "be", "-n", "30", "--strategy", strategy]
    arguments += ["--dtype", "float32", "--runner", runner]
    assert lookahead(*arguments).text == tokenizer.decode(expected, skip_special_tokens=True)
    result = json.loads(lookahead(*arguments, "--json").stdout)
    assert result["token_ids"] == expected
    assert result["prompt_tokens"] == len(ids)
    assert result["settings"]["model"]["runner"] == runner


def test_a_model_that_the_lean_runner_does_not_know_is_refused_in_one_sentence(
    parrot: Lookahead, llama_folder: str
) -> None:
    outcome = parrot("--runner", "lean")
    assert outcome.code == 2
    assert outcome.stdout == b""
    assert "the lean runner does not take" in sentence(outcome.stderr)
    assert "this one is gpt2" in sentence(outcome.stderr)
    assert 'leave runner at "auto"' in sentence(outcome.stderr)
    assert json.loads(parrot("--json").stdout)["settings"]["model"]["runner"] == "transformers"


def test_json_is_one_object_whose_parts_agree(parrot: Lookahead) -> None:
    outcome = parrot("--json", "-k", "6", "--seed", "3")
    result = json.loads(outcome.stdout)
    assert outcome.stdout.count(b"\n") == 1
    assert set(result) == {"text", "token_ids", "prompt_tokens", "finish_reason", "stats", "steps", "settings"}
    assert result["text"] == TEXT
    assert result["finish_reason"] == "eos"
    stats, steps = result["stats"], result["steps"]
    assert set(stats) == {
        "tokens", "steps", "tokens_per_step", "drafted", "accepted", "acceptance_rate", "prefill_seconds",
        "decode_seconds", "tokens_per_second", "time_to_first_token", "drafters",
        "forward_seconds", "draft_seconds", "select_seconds", "acceptance_by_depth",
    }  # fmt: skip
    keys = {"token_ids", "provenance", "drafted", "drafted_by", "seconds", "forward_seconds", "draft_seconds"}
    assert all(set(step) == {*keys, "select_seconds"} for step in steps)
    assert [token for step in steps for token in step["token_ids"]] == result["token_ids"]
    assert stats["tokens"] == len(result["token_ids"])
    assert stats["steps"] == len(steps)
    assert stats["tokens_per_step"] == stats["tokens"] / stats["steps"] > 3
    assert stats["drafted"] == sum(step["drafted"] for step in steps)
    assert stats["accepted"] == sum(name != "model" for step in steps for name in step["provenance"])
    for name, counts in stats["drafters"].items():
        assert counts["drafted"] == sum(step["drafted_by"].get(name, 0) for step in steps)
        assert counts["accepted"] == sum(source == name for step in steps for source in step["provenance"])
    assert stats["drafted"] == sum(counts["drafted"] for counts in stats["drafters"].values())
    assert stats["acceptance_rate"] == stats["accepted"] / stats["drafted"]
    assert stats["decode_seconds"] == pytest.approx(sum(step["seconds"] for step in steps))
    assert {section: set(keys) for section, keys in result["settings"].items()} == {
        name: set(section.model_fields) for name, section in SECTIONS.items()
    }
    assert result["settings"]["decoding"]["k"] == 6
    assert result["settings"]["decoding"]["seed"] == 3
    assert result["settings"]["model"]["dtype"] == "float32"
    assert result["settings"]["model"]["threads"] == torch.get_num_threads()
    assert result["settings"]["prompt"]["template"] == "raw"


def test_a_random_seed_is_reported_and_gives_the_same_text_again(lookahead: Lookahead, llama_folder: str) -> None:
    arguments = ["generate", "-m", llama_folder, "-p", "x", "-t", "1", "-n", "20", "--json", "--seed"]
    first = json.loads(lookahead(*arguments, "random").stdout)
    seed = first["settings"]["decoding"]["seed"]
    assert json.loads(lookahead(*arguments, str(seed)).stdout)["token_ids"] == first["token_ids"]
    assert json.loads(lookahead(*arguments, "random").stdout)["settings"]["decoding"]["seed"] != seed


@pytest.mark.parametrize(("stop", "left"), [("world!", "Hello 😀 "), ("日本", "Hello 😀 world! "), ("nowhere", TEXT)])
def test_output_ends_before_a_stop_string(parrot: Lookahead, stop: str, left: str) -> None:
    greedy, jacobi = (
        json.loads(parrot("--stop", stop, "--strategy", strategy, "-k", "16", "--json").stdout)
        for strategy in ("greedy", "jacobi")
    )
    assert greedy["text"] == jacobi["text"] == left
    assert greedy["token_ids"] == jacobi["token_ids"]
    assert greedy["finish_reason"] == jacobi["finish_reason"] == ("eos" if left == TEXT else "stop")


def test_several_stop_strings_and_one_from_a_variable(parrot: Lookahead, monkeypatch: pytest.MonkeyPatch) -> None:
    assert parrot("--stop", "zzz", "--stop", " world").text == "Hello 😀"
    monkeypatch.setenv("LOOKAHEAD_STOP", "! ")
    assert parrot().text == "Hello 😀 world"


def test_max_new_tokens_ends_the_output(parrot: Lookahead) -> None:
    result = json.loads(parrot("-n", "5", "--json").stdout)
    assert (len(result["token_ids"]), result["finish_reason"]) == (5, "length")


def test_context_ends_the_output(lookahead: Lookahead, llama_folder: str, tmp_path: Path) -> None:
    profile = tmp_path / "short.toml"
    profile.write_text("[model]\ncontext_length = 20\n")
    outcome = lookahead(
        "generate", "-m", llama_folder, "--profile", str(profile), "--raw", "-p", "abcde", "-n", "90", "--json"
    )
    result = json.loads(outcome.stdout)
    assert result["finish_reason"] == "context"
    assert result["prompt_tokens"] + len(result["token_ids"]) == 20


def test_standard_input_file_and_prompt_are_joined_by_blank_lines(
    lookahead: Lookahead, llama_folder: str, tmp_path: Path
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(llama_folder)
    (tmp_path / "part.txt").write_text("file\n")
    arguments = ["generate", "-m", llama_folder, "--raw", "-n", "1", "--json"]

    def prompt_tokens(*more: str, stdin: bytes | None = None) -> int:
        return int(json.loads(lookahead(*arguments, *more, stdin=stdin).stdout)["prompt_tokens"])

    def length(text: str) -> int:
        return len(tokenizer(text)["input_ids"])

    assert prompt_tokens(stdin=b"content\n") == length("content")
    assert prompt_tokens("-p", "ask", stdin=b"content\n") == length("content\n\nask")
    assert prompt_tokens("-p", "ask", "--prompt-file", "part.txt") == length("file\n\nask")
    assert prompt_tokens("-p", "ask", "--prompt-file", "part.txt", stdin=b"in") == length("in\n\nfile\n\nask")
    assert prompt_tokens("-p", "ask", stdin=b"") == length("ask")


def test_color_always_colours_a_pipe_and_hides_control_characters(parrot: Lookahead, tmp_path: Path) -> None:
    (tmp_path / "colored.toml").write_text('[display]\ncolor = "always"\n')
    outcome = parrot("--profile", "./colored.toml", "--strategy", "jacobi")
    assert "\x1b[36m" in outcome.text
    assert "\x1b[31m" not in outcome.text
    assert "␛[31m" in re.sub(r"\x1b\[[0-9;]*m", "", outcome.text)
    assert re.search(r"accepted guesses: \x1b\[36m■\x1b\[0m jacobi", outcome.stderr)


def test_half_precision_says_that_ties_may_fall_differently(lookahead: Lookahead, llama_folder: str) -> None:
    asked = ["generate", "-m", llama_folder, "-p", "x", "-n", "3", "--dtype", "bfloat16", "--runner", "transformers"]
    outcome = lookahead(*asked)
    assert outcome.code == 0
    assert "bfloat16" in outcome.stderr
    assert "float32 is safer" in outcome.stderr
    assert lookahead(*asked, "--strategy", "greedy").stderr == ""


def test_half_precision_says_nothing_where_rows_do_not_depend_on_each_other(
    lookahead: Lookahead, llama_folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ["generate", "-m", llama_folder, "-p", "x", "-n", "3", "--dtype", "bfloat16", "--runner", "lean"]
    for reason in (None, "as was found out"):
        monkeypatch.setattr("lookahead_cli.models.lean.exactness.dependent_rows", lambda *_, reason=reason: reason)
        outcome = lookahead(*asked)
        assert outcome.code == 0
        assert outcome.stderr == "" if reason is None else "(as was found out); float32 is safer" in outcome.stderr


def test_interrupted_json_is_still_one_object(parrot: Lookahead, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted_decode(*arguments: Any) -> Iterator[Any]:
        yield from islice(decode(*arguments), 1 + 3)
        raise KeyboardInterrupt

    monkeypatch.setattr("lookahead_cli.session.decode", interrupted_decode)
    outcome = parrot("--json", "-k", "4")
    result = json.loads(outcome.stdout)
    assert outcome.code == 130
    assert result["finish_reason"] == "interrupted"
    assert len(result["steps"]) == 3
    assert TEXT.startswith(result["text"])
    assert parrot("-k", "4").text == result["text"], "in a pipe the text so far is there"


def sentence(outcome_stderr: str) -> str:
    """The one line that is there, without the program's name."""
    assert outcome_stderr.startswith("lookahead: "), outcome_stderr
    assert outcome_stderr.count("\n") == 1, outcome_stderr
    assert "Traceback" not in outcome_stderr
    return outcome_stderr.removeprefix("lookahead: ").strip()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], ["no prompt", "--prompt"]),
        (["-p", ""], ["prompt is empty"]),
        (["-p", " \n"], ["prompt is empty"]),
        (["--prompt-file", "nowhere.txt"], ["nowhere.txt", "No such file"]),
        (["--prompt-file", "."], ["prompt file", "directory"]),
        (["-p", "x" * 500], ["tokens", "context of 128", "shorten"]),
        (["-p", "x", "-k", "0"], ["option -k", "0 is not allowed", "from 1"]),
        (["-p", "x", "-k", "-3"], ["option -k", "-3 is not allowed", "from 1"]),
        (["-p", "x", "-k", "x"], ["option -k", '"x" is not allowed', '"auto"']),
        (["-p", "x", "-k", "2.5"], ["option -k", "2.5 is not allowed"]),
        (["-p", "x", "--temperature", "-1"], ["option --temperature", "-1 is not allowed", "from 0.01"]),
        (["-p", "x", "-t", "nan"], ["option --temperature", "nan is not allowed"]),
        (["-p", "x", "-t", "warm"], ["option --temperature", '"warm" is not allowed']),
        (["-p", "x", "--top-p", "1.5"], ["option --top-p", "1.5 is not allowed", "at most 1"]),
        (["-p", "x", "--top-p", "0"], ["option --top-p", "0 is not allowed"]),
        (["-p", "x", "--top-k", "-1"], ["option --top-k"]),
        (["-p", "x", "--min-p", "1"], ["option --min-p"]),
        (["-p", "x", "--seed", "-1"], ["option --seed"]),
        (["-p", "x", "-n", "0"], ["option --max-new-tokens"]),
        (["-p", "x", "--stop", ""], ["option --stop"]),
        (["-p", "x", "--threads", "0"], ["option --threads"]),
        (["-p", "x", "--device", "tpu"], ["option --device", '"tpu" is not allowed']),
        (["-p", "x", "--strategy", "jacoby"], ["option --strategy", 'did you mean "jacobi"']),
        (["-p", "x", "--init", "copylast"], ["option --init", 'did you mean "copy-last"']),
        (["-p", "x", "--dtype", "float23"], ["option --dtype", 'did you mean "float32"']),
        (["-p", "x", "--profile", ""], ['profile ""']),
        (["-p", "x", "--profile", "cat"], ['profile "cat"', 'did you mean "chat"']),
        (["-p", "x", "--profile", "./none.toml"], ["none.toml", "no such file"]),
        (["-p", "x", "--nonsense"], ["--nonsense"]),
        (["-p", "x", "-m", "./nowhere"], ["./nowhere", "no such file or folder"]),
        (["-p", "x", "-s", "be", "--raw"], ["system text", "chat template"]),
        (["-p", "x", "-s", "be", "--raw", "-m", "owner/not-even-looked-for"], ["system text", "chat template"]),
        (["-p", "x", "--stop", "<|im_end|>"], ["<|im_end|>", "special token"]),
    ],
    ids=lambda value: " ".join(value)[:30] if value and value[0].startswith("-") else None,
)  # fmt: skip
def test_bad_input_gets_one_sentence_and_exit_code_2(
    lookahead: Lookahead, llama_folder: str, arguments: list[str], said: list[str]
) -> None:
    if "-m" not in arguments:
        arguments = ["-m", llama_folder, *arguments]
    outcome = lookahead("generate", *arguments)
    assert outcome.code == 2
    assert outcome.stdout == b""
    for part in said:
        assert part in sentence(outcome.stderr)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (bytes(range(256)), "not UTF-8"),
        (b"PK\x03\x04\x00\x00", "binary file"),
        ("hé".encode("utf-16"), "not UTF-8"),
        (b"  \n\n", "prompt is empty"),
    ],
)
def test_a_binary_or_empty_prompt_is_refused(
    lookahead: Lookahead, llama_folder: str, tmp_path: Path, content: bytes, said: str
) -> None:
    (tmp_path / "prompt").write_bytes(content)
    from_file = lookahead("generate", "-m", llama_folder, "--prompt-file", "prompt")
    from_pipe = lookahead("generate", "-m", llama_folder, stdin=content)
    for outcome in (from_file, from_pipe):
        assert outcome.code == 2
        assert said in sentence(outcome.stderr)


def test_arguments_that_are_not_text_are_refused(lookahead: Lookahead, llama_folder: str) -> None:
    smuggled = b"\xff".decode("utf-8", "surrogateescape")
    for arguments in (["-p", smuggled], ["-p", "x", "-s", smuggled], ["-p", "x", "--stop", smuggled]):
        outcome = lookahead("generate", "-m", llama_folder, *arguments)
        assert outcome.code == 2
        assert "not UTF-8 text" in sentence(outcome.stderr)


def test_a_tokenizer_of_another_model_is_refused(lookahead: Lookahead, llama_folder: str, tmp_path: Path) -> None:
    small = save_tiny_llama(tmp_path / "small", vocab_size=40)
    outcome = lookahead("generate", "-m", str(small), "-p", "hello")
    assert outcome.code == 2
    assert "do not belong together" in sentence(outcome.stderr)


def test_a_models_own_repetition_penalty_counts_unless_another_is_given(lookahead: Lookahead, tmp_path: Path) -> None:
    folder = save_tiny_llama(tmp_path / "penal")
    settings = json.loads((folder / "generation_config.json").read_text())
    settings |= {"repetition_penalty": 1.4, "no_repeat_ngram_size": 2}
    (folder / "generation_config.json").write_text(json.dumps(settings))
    model = AutoModelForCausalLM.from_pretrained(folder)
    ids = AutoTokenizer.from_pretrained(folder)("hello")["input_ids"]
    arguments = ["generate", "-m", str(folder), "--raw", "-p", "hello", "-n", "30", "--json", "--dtype", "float32"]
    outcome = lookahead(*arguments)
    assert "own generation settings no_repeat_ngram_size are not honoured" in outcome.stderr
    result = json.loads(outcome.stdout)
    model.generation_config.no_repeat_ngram_size = None
    assert result["token_ids"] == greedy_tokens(model, ids, 30)
    assert result["settings"]["decoding"]["repetition_penalty"] == 1.4
    model.generation_config.repetition_penalty = None
    without = json.loads(lookahead(*arguments, "--repetition-penalty", "1").stdout)["token_ids"]
    assert without == greedy_tokens(model, ids, 30) != result["token_ids"]


def test_what_was_said_before_memory_ran_out_is_not_lost(parrot: Lookahead, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing_decode(*arguments: Any) -> Iterator[Any]:
        yield from islice(decode(*arguments), 1 + 3)
        raise ResourceError("the memory is gone")

    monkeypatch.setattr("lookahead_cli.session.decode", failing_decode)
    outcome = parrot("--json", "-k", "4")
    result = json.loads(outcome.stdout)
    assert outcome.code == 1
    assert result["finish_reason"] == "failed"
    assert len(result["steps"]) == 3
    assert "memory is gone" in sentence(outcome.stderr)
    assert parrot("-k", "4").text == result["text"]


@pytest.mark.parametrize("variables", [{"FORCE_COLOR": "1"}, {"TTY_COMPATIBLE": "1"}, {"CLICOLOR_FORCE": "1"}])
def test_no_variable_makes_a_pipe_a_terminal(
    parrot: Lookahead, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    outcome = parrot()
    assert outcome.stdout == TEXT.encode()
    assert outcome.stderr == ""


@pytest.mark.parametrize(
    "template",
    ["{{ 1/0 }}", "{{ 'a' + 1 }}", "{% if %}", "{{ raise_exception('no system role') }}", "{% include 'x' %}"],
)
def test_a_chat_template_that_fails_is_one_sentence(
    lookahead: Lookahead, llama_folder: str, tmp_path: Path, template: str
) -> None:
    folder = tmp_path / "broken"
    shutil.copytree(llama_folder, folder)
    (folder / "chat_template.jinja").write_text(template)
    outcome = lookahead("generate", "-m", str(folder), "-p", "hello")
    assert outcome.code == 2
    assert "chat template fails" in sentence(outcome.stderr)


def test_damaged_weights_are_told_and_the_text_so_far_is_kept(lookahead: Lookahead, tmp_path: Path) -> None:
    folder = save_parrot(tmp_path / "damaged", "some text")
    weights = load_file(folder / "model.safetensors")
    weights["transformer.wpe.weight"][4] = float("nan")
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    outcome = lookahead("generate", "-m", str(folder), "--raw", "-p", PROMPT, "--strategy", "greedy")
    assert outcome.code == 2
    assert outcome.text == "some"
    assert "not finite" in sentence(outcome.stderr)


def test_what_nobody_has_thought_of_is_one_sentence_too(parrot: Lookahead, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: Any) -> Iterator[Any]:
        raise KeyError("surprise")

    monkeypatch.setattr("lookahead_cli.session.decode", broken)
    outcome = parrot()
    assert outcome.code == 1
    assert "should not have happened (KeyError: 'surprise'); set LOOKAHEAD_DEBUG=1" in sentence(outcome.stderr)
    monkeypatch.setenv("LOOKAHEAD_DEBUG", "1")
    with pytest.raises(KeyError):
        parrot()


@pytest.mark.parametrize(
    "said",
    ["[enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate memory", "could not create a primitive"],
)
def test_memory_that_runs_out_while_decoding_is_one_sentence(
    parrot: Lookahead, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    def fail(*arguments: Any, **options: Any) -> None:
        raise RuntimeError(said)

    vars(fail)["__signature__"] = signature(GPT2LMHeadModel.forward)  # the runner asks which arguments there are
    monkeypatch.setattr(GPT2LMHeadModel, "forward", fail)
    outcome = parrot()
    assert outcome.code == 1
    assert "not enough memory" in sentence(outcome.stderr)


def test_a_folder_without_weights_and_a_cut_gguf_are_refused(
    lookahead: Lookahead, llama_folder: str, tmp_path: Path
) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (bare / name).write_bytes((Path(llama_folder) / name).read_bytes())
    outcome = lookahead("generate", "-m", str(bare), "-p", "x")
    assert outcome.code == 2
    assert "weights" in sentence(outcome.stderr)
    cut = tmp_path / "cut.gguf"
    whole = write_tiny_gguf(tmp_path / "whole.gguf").read_bytes()
    for size in (2, 60, 3000, len(whole) - 1000):
        cut.write_bytes(whole[:size])
        outcome = lookahead("generate", "-m", str(cut), "-p", "x")
        assert outcome.code == 2
        assert "cut.gguf" in sentence(outcome.stderr)


def test_a_model_without_chat_template_continues_the_prompt(
    lookahead: Lookahead, parrot_folder: str, tmp_path: Path
) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    for file in Path(parrot_folder).iterdir():
        if file.name != "chat_template.jinja":
            (bare / file.name).write_bytes(file.read_bytes())
    assert lookahead("generate", "-m", str(bare), "-p", PROMPT, "-n", "2000").text == TEXT
    outcome = lookahead("generate", "-m", str(bare), "-p", PROMPT, "-s", "be brief")
    assert outcome.code == 2
    assert "chat template" in sentence(outcome.stderr)


def test_a_model_that_cannot_take_guesses_back_runs_greedily_with_one_warning(
    lookahead: Lookahead, tmp_path: Path
) -> None:
    from tests.tiny_architectures import RUNNING_STATE, tiny_model
    from tests.tiny_models import tiny_tokenizer

    tokenizer = tiny_tokenizer()
    config = RUNNING_STATE["qwen3-next"]()
    config.vocab_size = len(tokenizer)
    model = tiny_model(config)
    model.save_pretrained(tmp_path / "hybrid")
    tokenizer.save_pretrained(tmp_path / "hybrid")
    outcome = lookahead("generate", "-m", str(tmp_path / "hybrid"), "--raw", "-p", "abc", "-n", "10", "--json")
    assert outcome.code == 0
    assert outcome.stderr.count("\n") == 1
    assert "decoding greedily: layer 0 (LinearAttention" in outcome.stderr
    result = json.loads(outcome.stdout)
    assert result["settings"]["decoding"]["strategy"] == "greedy"
    assert result["token_ids"] == greedy_tokens(model, tokenizer("abc")["input_ids"], 10)


def test_verbose_adds_a_line_for_each_drafter(parrot: Lookahead, tmp_path: Path) -> None:
    (tmp_path / "shown.toml").write_text('[display]\ncolor = "always"\n')
    asked = ["--profile", "./shown.toml", "-k", "8"]
    said = re.sub(r"\x1b\[\d*m", "", parrot(*asked, "--verbose").stderr)
    total = re.search(r"(\d+) of (\d+) guesses accepted", said)
    lines = re.findall(r"([a-z-]+) · (\d+) guess(?:es)? · (\d+) accepted \(\d+.\d%\) · \d+.\d% of the tokens", said)
    assert total
    assert len(lines) > 1
    assert {name for name, _, _ in lines} <= set(DRAFTERS)
    assert sum(int(accepted) for _, _, accepted in lines) == int(total[1])
    assert sum(int(drafted) for _, drafted, _ in lines) == int(total[2])
    assert "% of the tokens" not in parrot(*asked).stderr


def test_a_model_that_takes_no_trees_gets_chains_and_says_so(lookahead: Lookahead, tmp_path: Path) -> None:
    tokenizer = tiny_tokenizer()
    config = BloomConfig(
        vocab_size=len(tokenizer), hidden_size=32, n_layer=2, n_head=4, initializer_range=0.2, eos_token_id=None
    )
    BloomForCausalLM(config).save_pretrained(tmp_path / "bloom")
    tokenizer.save_pretrained(tmp_path / "bloom")
    asked = ["generate", "-m", "./bloom", "--raw", "-p", "hello", "-n", "30"]
    outcome = lookahead(*asked, "-k", "8")
    assert outcome.code == 0
    assert outcome.stderr.startswith("note: guesses cannot branch with this model, so they form a chain")
    assert outcome.stdout == lookahead(*asked, "--strategy", "greedy").stdout


def test_a_rehearsal_is_started_once_the_text_is_there_and_announced(
    lookahead: Lookahead, llama_folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr("subprocess.Popen", lambda command, **options: started.append(command))
    asked = ["generate", "-m", llama_folder, "-p", "x", "-n", "3"]
    assert lookahead(*asked).stderr == ""
    assert not started
    monkeypatch.setenv("LOOKAHEAD_REHEARSE", "true")
    assert "rehearse = false" in lookahead(*asked).stderr
    assert started[0][2] == "lookahead_cli.knowledge"
    lookahead(*asked, "--strategy", "greedy")
    assert len(started) == 1, "only a strategy that learns something from it"
