"""GGUF files: turned once into a folder of float32 safetensors and a tokenizer, which every later start loads.

Float32, because the quantised blocks of a GGUF file are in general not exact in a shorter type.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from lookahead_cli.errors import LookaheadError, ModelError
from lookahead_cli.models.cache import build_once, cache_folder, require_free_space
from lookahead_cli.models.checksum import remembered_sha256
from lookahead_cli.models.failures import first_line, memory_failure
from lookahead_cli.models.gguf_header import GgufHeader, read_header
from lookahead_cli.models.progress import Progress, silent

if TYPE_CHECKING:
    from transformers import PreTrainedModel

T = TypeVar("T")

CONVERTED = "gguf-"
"""How the names of converted folders begin."""
ORIGIN = "origin.json"
"""Names the GGUF file that a converted folder was made from, for humans: what counts is the checksum."""

# Part of every entry's name: raise it when `convert` starts to write something else, and old entries are built anew.
CONVERSION_VERSION = 1
# A converted folder's name carries this many hexadecimal digits of the checksum (64 bits): no accidental collisions.
_NAME_DIGITS = 16
_FLOAT32_BYTES = 4
ROPE_FACTORS = "rope_freqs.weight"
_SPARE_BYTES = 32_000_000  # tokenizer and other small files beside the weights
# A chat model may end its turn with another token than its text: each of these keys names one that ends the output.
_END_TOKEN_KEYS = ("tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id")


def converted_folder(gguf: Path, progress: Progress = silent) -> Path:
    """The cached folder made from the file `gguf`, converting it now if this content was never seen before.

    Raises ModelError for a file that is damaged or of an unsupported architecture, ResourceError for disk or memory.
    """

    def build(staging: Path) -> None:
        convert(gguf, staging, progress)
        (staging / ORIGIN).write_text(json.dumps({"gguf": str(gguf)}) + "\n", encoding="utf-8")

    return build_once(converted_entry(gguf, progress), gguf.name, build, progress)


def converted_entry(gguf: Path, progress: Progress = silent) -> Path:
    """Where the folder made from `gguf` is or will be. Raises ModelError for a file that is damaged."""
    try:
        read_header(gguf)
        digest = remembered_sha256(gguf, checksum_index(), progress)
    except OSError as error:
        raise ModelError(f"{gguf} cannot be read: {error.strerror}; check its permissions and its disk.") from error
    return entry_for(digest)


def entry_for(digest: str) -> Path:
    """Where the folder made from a GGUF file with this SHA-256 is or will be."""
    return cache_folder() / "models" / f"{CONVERTED}{digest[:_NAME_DIGITS]}-v{CONVERSION_VERSION}"


def checksum_index() -> Path:
    """The file that remembers which GGUF file has which checksum."""
    return cache_folder() / "gguf-checksums.json"


def convert(gguf: Path, folder: Path, progress: Progress = silent) -> None:
    """Write the model in `gguf` to `folder` as config.json, float32 safetensors and tokenizer files.

    Raises ModelError for content that cannot be converted; disk errors of `folder` pass through.
    """
    header = read_header(gguf)
    check_convertible(gguf, header)
    require_free_space(folder, header.parameters * _FLOAT32_BYTES + _SPARE_BYTES, f"Converting {gguf.name}")
    progress(f"reading {gguf.name}")
    with _told(gguf):
        tokenizer, model = _read(gguf, progress)
        plain = _plain_copy(model)
        _set_end_tokens(plain, header)
    progress(f"storing {gguf.name} for later starts")
    plain.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def check_convertible(gguf: Path, header: GgufHeader) -> None:
    """Raise ModelError if it is known beforehand that `gguf` cannot be converted."""
    if header.integer("split.count", 1) > 1:
        raise ModelError(
            f"{gguf} is one part of a model split over several files; join them first with "
            "`llama-gguf-split --merge FIRST_PART WHOLE`, then name the whole file."
        )
    if not header.architecture:
        raise ModelError(f"{gguf} does not name its architecture; export the model again with current tools.")
    if ROPE_FACTORS in header.tensors:
        raise ModelError(
            f"{gguf} stretches its positions by the tensor {ROPE_FACTORS} (as Llama 3.1 and later do), which "
            "transformers does not read, so other tokens would come out; use the safetensors of that model."
        )
    if "tokenizer.ggml.model" not in header.metadata:
        raise ModelError(
            f"{gguf} holds no tokenizer (architecture {header.architecture}), so it cannot be used for text; "
            "name the GGUF file of the language model itself."
        )


def _read(gguf: Path, progress: Progress) -> tuple[Any, PreTrainedModel]:
    """The tokenizer and the dense float32 model in `gguf`, read by transformers."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, GgufConfig

    from lookahead_cli.models.hugging_face import offline, silence

    silence()
    # The whole path: transformers would prefer a file of the same name in the current directory.
    place: dict[str, Any] = {"gguf_file": str(gguf), "local_files_only": True}
    with offline(), _conversion_progress(gguf, progress):
        config = AutoConfig.from_pretrained(gguf.parent, **place)
        tokenizer = AutoTokenizer.from_pretrained(gguf.parent, **place)
        model, report = AutoModelForCausalLM.from_pretrained(
            gguf.parent,
            config=config,
            dtype=torch.float32,
            quantization_config=GgufConfig(dequantize=True),
            output_loading_info=True,
            **place,
        )
    missing = sorted(report["missing_keys"])
    if missing:  # transformers would leave these at random values
        raise ModelError(
            f"{gguf} lacks {len(missing)} of the model's weights, {missing[0]} among them; fetch it again."
        )
    return tokenizer, model


def _plain_copy(model: PreTrainedModel) -> PreTrainedModel:
    """The same weights in a model that no longer knows it came from GGUF: transformers saves no GGUF model."""
    import torch
    from transformers import AutoModelForCausalLM

    # Packed blocks would be integers; saved as they are they could not be loaded back.
    packed = [name for name, weight in model.named_parameters() if not weight.is_floating_point()]
    if packed:
        raise ModelError(f"transformers left {packed[0]} quantised; update transformers and try again.")
    config = type(model.config).from_dict(
        {key: value for key, value in model.config.to_dict().items() if key != "quantization_config"}
    )
    with torch.device("meta"):
        plain: PreTrainedModel = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    plain.load_state_dict(model.state_dict(), assign=True)
    plain.tie_weights()
    plain.config.architectures = [type(plain).__name__]
    plain.generation_config = model.generation_config
    # Else the end tokens set below would count as derived, to be replaced by those of config.json.
    plain.generation_config._from_model_config = False
    return plain


def _set_end_tokens(model: PreTrainedModel, header: GgufHeader) -> None:
    """Make every end token the file names count, for us and for transformers' `generate` alike."""
    known = model.generation_config.eos_token_id
    ends = set(known if isinstance(known, list) else [] if known is None else [known])
    ends |= set(end_tokens(header))
    if ends:
        model.generation_config.eos_token_id = sorted(ends) if len(ends) > 1 else ends.pop()


def end_tokens(header: GgufHeader) -> list[int]:
    """Every token that the file says ends a text or a turn."""
    return sorted({end for key in _END_TOKEN_KEYS if (end := header.integer(key, -1)) >= 0})


@contextmanager
def _told(gguf: Path) -> Iterator[None]:
    """Say in one sentence what stopped transformers from reading `gguf`."""
    try:
        yield
    except LookaheadError:
        raise
    except Exception as error:
        lack = memory_failure(error, f"{gguf} cannot be converted", "close other programs or choose a smaller model")
        if lack is not None:
            raise lack from error
        if "not supported" in str(error) and "architecture" in str(error):
            import transformers

            raise ModelError(
                f"{gguf} has the architecture {read_header(gguf).architecture}, which transformers "
                f"{transformers.__version__} cannot read from GGUF; use the model's safetensors instead."
            ) from error
        raise ModelError(
            f"{gguf} cannot be converted ({first_line(error)}); use the model's safetensors, or another GGUF of it."
        ) from error


@contextmanager
def _conversion_progress(gguf: Path, progress: Progress) -> Iterator[None]:
    """Report each converted tensor to `progress`, in place of the bar that transformers draws with tqdm."""
    from transformers import modeling_gguf_pytorch_utils as reader

    def counted(items: Iterable[T], **_: object) -> Iterator[T]:
        every = list(items)
        for done, item in enumerate(every):
            progress(f"converting {gguf.name}", done / len(every))
            yield item

    # That bar obeys no switch of transformers, so its constructor is replaced while we convert.
    original = getattr(reader, "tqdm", None)
    reader.tqdm = counted
    try:
        yield
    finally:
        if original is None:
            del reader.tqdm
        else:
            reader.tqdm = original
