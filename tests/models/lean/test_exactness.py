"""A row comes out bit for bit the same whatever shares its pass, and where it does not this is found out."""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import torch
from torch.nn import functional

from lookahead_cli.models.lean import exactness
from lookahead_cli.models.lean import runner as running
from lookahead_cli.models.lean.architecture import read_architecture
from lookahead_cli.models.lean.attention import mix
from lookahead_cli.models.lean.exactness import dependent_rows, find_dependent_rows
from lookahead_cli.models.lean.forward import FEWEST_ROWS
from lookahead_cli.models.lean.runner import LeanRunner
from lookahead_cli.models.lean.slots import LONG_PAGES, SHORT_PAGES
from lookahead_cli.models.lean.weights import _plain
from lookahead_cli.models.loading import Wish, load
from lookahead_cli.models.sources import locate
from tests.lean_models import CPU, FAMILY, architecture_of, lean_runner, random_tokens
from tests.models.lean.conftest import MakeFolder, require_exactness

DTYPES = [torch.float32, torch.bfloat16]
STARTS = {torch.float32: [1, 117, 249], torch.bfloat16: [1, 117, 505]}
"""Prompt lengths: at the beginning, in the middle and before the end of a page."""
SMOLLM2 = dataclasses.replace(
    read_architecture(FAMILY["llama"]().to_dict()),
    hidden=576, intermediate=1536, heads=9, key_value_heads=3, head_width=64,
)  # fmt: skip
"""Shapes of a real model: on tiny ones kernels take the same way whatever they are given."""
COUNT = 30
"""Tokens generated one by one."""
WIDTHS = (1, 2, 3, 7, 8, 15, 31)


class Greedy:
    """What a runner says to a prompt token by token, in steps without guesses."""

    def __init__(self, runner: LeanRunner, prompt: list[int], count: int = COUNT) -> None:
        self.prompt = prompt
        self.tokens: list[int] = []
        self.logits: list[torch.Tensor] = []
        """After the prompt, and after each of the tokens."""
        runner.prefill(prompt[:-1])
        pending = prompt[-1]
        for _ in range(count):
            self.logits.append(runner.step(pending, [], [])[0])
            runner.commit([])
            pending = int(self.logits[-1].argmax())
            self.tokens.append(pending)

    def pending(self, done: int) -> int:
        return self.tokens[done - 1] if done else self.prompt[-1]


def check(row: torch.Tensor, expected: torch.Tensor) -> None:
    assert torch.equal(row, expected), f"off by {float((row - expected).abs().max())}"


def check_chains(runner: LeanRunner, greedy: Greedy) -> None:
    """Chains of right guesses give the rows of one token at a time, whatever their length."""
    for width in WIDTHS:
        runner.prefill(greedy.prompt[:-1])
        done = 0
        while done + width < len(greedy.tokens):
            guesses = greedy.tokens[done : done + width]
            rows = runner.step(greedy.pending(done), guesses, range(-1, width - 1))
            for node in range(width + 1):
                check(rows[node], greedy.logits[done + node])
            runner.commit(range(width))
            done += width + 1


def random_tree(runner: LeanRunner, future: list[int], chance: random.Random) -> tuple[list[int], list[int], list[int]]:
    """Tokens, parents and the path of right guesses of a tree that holds the beginning of `future` somewhere."""
    seats = runner.seats()
    tokens: list[int] = []
    parents: list[int] = []
    path: list[int] = []
    for _ in range(chance.choice([2, 6, 12, 24, 40])):
        last = path[-1] if path else -1
        right = chance.random() < 0.4 and len(path) < len(future)
        parent = last if right else chance.randrange(-1, len(tokens))
        token = future[len(path)] if right else chance.randrange(runner.vocab)
        twin = any((parent, token) == edge for edge in zip(parents, tokens, strict=True))
        if twin or not seats.fits(parent):
            continue
        if parent == last and len(path) < len(future) and token == future[len(path)]:
            path.append(len(tokens))
        seats.take(parent)
        tokens.append(token)
        parents.append(parent)
    return tokens, parents, path


def check_trees(runner: LeanRunner, greedy: Greedy, seed: int) -> None:
    """Trees step after step: each works on what the ones before it have left in the cache."""
    chance = random.Random(seed)
    runner.prefill(greedy.prompt[:-1])
    done = 0
    while done < len(greedy.tokens) - 8:
        tokens, parents, path = random_tree(runner, greedy.tokens[done : done + 7], chance)
        rows = runner.step(greedy.pending(done), tokens, parents)
        for depth, node in enumerate([-1, *path]):
            check(rows[1 + node], greedy.logits[done + depth])
        runner.commit(path)
        done += 1 + len(path)


def check_wrong_branches(runner: LeanRunner, greedy: Greedy, seed: int) -> None:
    """Every row of a tree, not only those of right guesses, is that of its path taken one token at a time."""
    tokens, parents, _ = random_tree(runner_after(runner, greedy.prompt), greedy.tokens[:7], random.Random(seed))
    rows = runner.step(greedy.prompt[-1], tokens, parents)
    for node in range(0, len(tokens), max(len(tokens) // 6, 1)):
        path = [node]
        while parents[path[-1]] >= 0:
            path.append(parents[path[-1]])
        runner_after(runner, greedy.prompt)
        pending = greedy.prompt[-1]
        for step in path[::-1]:
            runner.step(pending, [], [])
            runner.commit([])
            pending = tokens[step]
        check(rows[1 + node], runner.step(pending, [], [])[0])


def runner_after(runner: LeanRunner, prompt: list[int]) -> LeanRunner:
    runner.prefill(prompt[:-1])
    return runner


@pytest.fixture(params=DTYPES, ids=lambda dtype: str(dtype).removeprefix("torch."))
def runner(request: pytest.FixtureRequest, saved: MakeFolder) -> LeanRunner:
    dtype: torch.dtype = request.param
    folder = saved("llama-real-heads")  # on smaller ones kernels take the same way whatever they are given
    require_exactness(folder, dtype)
    return lean_runner(folder, dtype)


def test_chains_give_the_bits_of_single_tokens(runner: LeanRunner) -> None:
    for start in STARTS[runner.dtype]:
        check_chains(runner, Greedy(runner, random_tokens(start, seed=start)))


def test_trees_give_the_bits_of_single_tokens(runner: LeanRunner) -> None:
    for start in STARTS[runner.dtype]:
        greedy = Greedy(runner, random_tokens(start, seed=start))
        for seed in range(4):
            check_trees(runner, greedy, seed)


def test_wrong_branches_do_too(runner: LeanRunner) -> None:
    for start in STARTS[runner.dtype]:
        greedy = Greedy(runner, random_tokens(start, seed=start), count=8)
        for seed in range(2):
            check_wrong_branches(runner, greedy, seed)


@pytest.mark.parametrize("name", ["mistral-window", "qwen2-window", "qwen3", "llama-biases", "llama-all-heads"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_so_it_is_with_other_architectures(saved: MakeFolder, name: str, dtype: torch.dtype) -> None:
    require_exactness(saved(name), dtype)
    runner = lean_runner(saved(name), dtype)
    greedy = Greedy(runner, random_tokens(STARTS[dtype][1]))
    check_chains(runner, greedy)
    for seed in range(2):
        check_trees(runner, greedy, seed)


def test_how_a_prompt_is_cut_into_passes_changes_no_bit(runner: LeanRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    prompt = random_tokens(300)

    def rows() -> torch.Tensor:
        parts: list[torch.Tensor] = []
        runner.prefill(prompt[:-1], parts.append)
        return torch.cat([*parts, runner.step(prompt[-1], [], [])])

    expected = rows()
    assert len(expected) == len(prompt)
    for chunk in (7, 64, 100, 512):
        monkeypatch.setattr(running, "PREFILL_CHUNK", chunk)
        check(rows(), expected)


def test_a_prompt_gives_the_bits_of_its_tokens_one_by_one(runner: LeanRunner) -> None:
    prompt = random_tokens(60)
    parts: list[torch.Tensor] = []
    runner.prefill(prompt, parts.append)
    runner.prefill([])
    for token, expected in zip(prompt, torch.cat(parts), strict=True):
        check(runner.step(token, [], [])[0], expected)
        runner.commit([])


def test_a_cache_that_has_grown_changes_no_bit(runner: LeanRunner) -> None:
    """The unused end of the cache is summed too, as zeros."""
    greedy = Greedy(runner, random_tokens(20))
    runner.prefill(greedy.prompt[:-1])
    runner._make_room(3 * runner.pages.slots)
    for done, expected in enumerate(greedy.logits):
        check(runner.step(greedy.pending(done), [], [])[0], expected)
        runner.commit([])


def test_pages_are_summed_one_after_the_other() -> None:
    generator = torch.Generator().manual_seed(0)
    weights = torch.rand((2, 5, 3 * SHORT_PAGES.slots), generator=generator)
    values = torch.randn((2, 3 * SHORT_PAGES.slots, 8), generator=generator)
    torch.testing.assert_close(mix(weights, values, 3), weights @ values, rtol=1e-4, atol=1e-4)
    assert torch.equal(mix(weights, values, 1), weights @ values)


# What keeps the bits is found out by trying, so the trial has to fail where a rule is broken. Which rules matter where
# differs by processor: a test is skipped if breaking its rule changes nothing here.


def test_a_page_that_is_too_long_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    if find_dependent_rows(SMOLLM2, torch.float32, CPU) is not None or not long_sums_change():
        pytest.skip("sums over long pages are nothing special on this machine")
    monkeypatch.setattr(exactness, "pages_for", lambda _: LONG_PAGES)
    assert find_dependent_rows(SMOLLM2, torch.float32, CPU) == "sums over keys give other bits for other drafts"


def long_sums_change() -> bool:
    """Whether a sum over a long page of float32 comes out differently for a draft's slots."""
    generator = torch.Generator().manual_seed(0)
    values, weights = torch.randn((3, 240, 64), generator=generator), torch.rand((3, 240), generator=generator)
    values[:, 120:] = -values[:, :120]
    weights[:, 120:] = weights[:, :120]

    def summed(slots: list[int], queries: int) -> torch.Tensor:
        return exactness._placed(values, weights, slots, LONG_PAGES.slots, queries)[:, 0]

    alone = summed(list(range(240)), 24)
    return any(
        not torch.equal(summed([*range(first), *range(first + gap, 240 + gap)], queries), alone)
        for first in range(100, 240, 4)
        for gap in (32, 64, 96)
        for queries in (24, 75, 105)
    )


def test_too_few_rows_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A linear layer as torch has it takes another way for a few rows."""
    generator = torch.Generator().manual_seed(0)
    weight, rows = torch.randn((576, 576), generator=generator), torch.randn((64, 576), generator=generator)
    whole = functional.linear(rows, weight)
    if all(torch.equal(functional.linear(rows[:count], weight), whole[:count]) for count in range(1, 8)):
        pytest.skip("a few rows are nothing special on this machine")
    monkeypatch.setattr(exactness, "packer", lambda *_: _plain)
    monkeypatch.setitem(FEWEST_ROWS, torch.float32, 1)
    found = find_dependent_rows(SMOLLM2, torch.float32, CPU)
    assert found is not None
    assert re.fullmatch(r"a linear layer of \d+ inputs gives other bits for other numbers of rows", found)


def test_kernels_that_look_at_how_many_rows_there_are_are_found_out(
    saved: MakeFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On any machine: one whose kernels change at so many rows."""
    architecture = architecture_of(saved("llama"))
    multiply = torch.bmm

    def by_rows(left: torch.Tensor, right: torch.Tensor, most: int) -> torch.Tensor:
        product = multiply(left, right)
        return product * (1 + 2**-20) if left.shape[1] > most else product

    for most in (20, 100):
        with monkeypatch.context() as patch:
            patch.setattr(torch, "bmm", partial(by_rows, most=most))
            assert find_dependent_rows(architecture, torch.float32, CPU) == (
                "sums over keys give other bits for other drafts"
            )

    def packer(*_: object) -> object:
        def pack(weight: torch.Tensor, bias: object, activation: str) -> object:
            return lambda rows: (rows @ weight.T) * (1 + 2**-20 * (len(rows) > 30))

        return pack

    monkeypatch.setattr(exactness, "packer", packer)
    found = find_dependent_rows(architecture, torch.float32, CPU)
    assert found == "a linear layer of 32 inputs gives other bits for other numbers of rows"


def test_what_was_found_out_is_remembered_by_shape_and_dtype(
    saved: MakeFolder, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    tried: list[torch.dtype] = []
    answers: Iterator[str | None] = iter([None, "the reason", None])

    def find(architecture: object, dtype: torch.dtype, device: torch.device) -> str | None:
        tried.append(dtype)
        return next(answers)

    monkeypatch.setattr(exactness, "find_dependent_rows", find)
    llama, qwen = architecture_of(saved("llama")), architecture_of(saved("llama-wide-heads"))
    for _ in range(2):
        assert dependent_rows(llama, torch.float32, CPU) is None
        assert dependent_rows(llama, torch.bfloat16, CPU) == "the reason"
        assert dependent_rows(qwen, torch.float32, CPU) is None
    assert tried == [torch.float32, torch.bfloat16, torch.float32]
    assert (cache / "exactness.json").is_file()


def test_the_number_of_threads_is_part_of_what_is_remembered() -> None:
    before, threads = exactness._machine(CPU), torch.get_num_threads()
    try:
        torch.set_num_threads(threads + 1)
        assert exactness._machine(CPU) != before
    finally:
        torch.set_num_threads(threads)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "weights"),
    [(torch.float32, "auto"), (torch.bfloat16, "auto"), (torch.bfloat16, "full")],
    ids=["float32", "4 bits", "bfloat16"],
)
def test_the_packaged_model_keeps_its_bits(dtype: torch.dtype, weights: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOOKAHEAD_CACHE")  # where it is stored already
    folder = locate("smollm2-135m")
    require_exactness(folder, dtype)
    loaded = load(folder, Wish(dtype=str(dtype).removeprefix("torch."), device="cpu", runner="lean", weights=weights))
    runner = loaded.runner
    assert isinstance(runner, LeanRunner)
    text = "Once upon a time there was a little girl who lived in a small house near the woods. " * 40
    ids = loaded.tokenizer(text)["input_ids"]
    for start in STARTS[dtype]:
        greedy = Greedy(runner, ids[:start])
        check_chains(runner, greedy)
        for seed in range(3):
            check_trees(runner, greedy, seed)
        check_wrong_branches(runner, greedy, 0)
