"""From a record to a text, and the seeds of records."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lookahead_cli.batch.records import Record
from lookahead_cli.batch.requests import seed_of, settings_of
from lookahead_cli.profile import LARGEST_SEED, DecodingSettings

SEEDS = st.integers(0, LARGEST_SEED)


@given(seed=SEEDS, id=st.text())
def test_a_seed_depends_on_the_run_and_the_id_alone(seed: int, id: str) -> None:
    found = seed_of(seed, id)
    assert found == seed_of(seed, id)
    assert 0 <= found <= LARGEST_SEED
    assert found != seed_of(seed, f"{id}x")
    assert found != seed_of((seed + 1) % LARGEST_SEED, id)


def test_a_record_overrides_what_it_says_and_nothing_else() -> None:
    run = DecodingSettings(temperature=0.5, max_new_tokens=9, seed=1, repetition_penalty=1.1)
    own = settings_of(run, Record(0, "a", "x", "p", overrides={"temperature": 0.0, "seed": 5}))
    assert (own.temperature, own.seed, own.max_new_tokens) == (0.0, 5, 9)
    settled = settings_of(run, Record(0, "a", "x", "p", overrides={"repetition_penalty": "auto"}))
    assert settled.repetition_penalty == 1.1
    assert settled.seed == seed_of(1, "a")
