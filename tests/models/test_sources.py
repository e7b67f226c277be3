"""Names that are no model are told so, with what would be one."""

from __future__ import annotations

from pathlib import Path

import pytest

from lookahead_cli.errors import ModelError
from lookahead_cli.models.sources import locate


@pytest.mark.parametrize(
    "source", ["./missing", "/missing/model", "~/missing-model", "missing.gguf", "a/b/missing.GGUF"]
)
def test_what_looks_like_a_path_must_exist(source: str) -> None:
    with pytest.raises(ModelError, match="no such file or folder") as failure:
        locate(source)
    assert source in str(failure.value)


@pytest.mark.parametrize("source", ["x" * 5000, "~no-such-user/model", "a\0b"])
def test_impossible_paths_are_told_too(source: str) -> None:
    with pytest.raises(ModelError, match=r"cannot be read \(|not a model this tool knows"):
        locate(source)


def test_unknown_name_lists_what_is_allowed_and_the_nearest() -> None:
    with pytest.raises(ModelError, match=r"did you mean smollm2-135m\?.*a folder .*\.gguf file.*hub id"):
        locate("smollm2")
    with pytest.raises(
        ModelError, match=r"xyz is not a model this tool knows; a model is a packaged name \(smollm2-135m\)"
    ):
        locate("xyz")
    with pytest.raises(ModelError, match="has no name"):
        locate(" ")


def test_folder_wins_over_a_hub_id(llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(llama.parent.parent)
    source = f"{llama.parent.name}/{llama.name}"
    assert locate(source) == llama
    monkeypatch.setattr("lookahead_cli.models.hub.hub_folder", lambda *_: Path("from the hub"))
    assert locate("owner/model") == Path("from the hub")


def test_a_file_must_be_gguf(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").touch()
    with pytest.raises(ModelError, match=r"is a file but not a \.gguf file"):
        locate(str(tmp_path / "model.safetensors"))
