"""Models small enough to be made on the spot: random weights, a byte-level tokenizer, the formats of real ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

SPECIAL_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
END_OF_TEXT, TURN_START, TURN_END = range(3)
HIDDEN, LAYERS, HEADS, KV_HEADS, FEED_FORWARD, CONTEXT = 32, 2, 4, 2, 64, 128
# Enough merges that text and tokens differ in length, few enough that the vocabulary stays around 300.
_WORDS = ("the", "and", "ing", "ed", "lo", "ok", "ahead", "hello", "world", "def", "return")
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def tiny_tokenizer() -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer of about 300 tokens with a chat template; any text survives a round trip."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary, merges = _vocabulary()
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIAL_TOKENS])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=SPECIAL_TOKENS[TURN_START],
        eos_token=SPECIAL_TOKENS[TURN_END],
        unk_token=SPECIAL_TOKENS[END_OF_TEXT],
        pad_token=SPECIAL_TOKENS[TURN_END],
        chat_template=CHAT_TEMPLATE,
    )


def tiny_llama_config(**changes: Any) -> Any:
    """The LlamaConfig of the tiny model."""
    from transformers import LlamaConfig

    settings: dict[str, Any] = {
        "vocab_size": len(_vocabulary()[0]),
        "hidden_size": HIDDEN,
        "intermediate_size": FEED_FORWARD,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "max_position_embeddings": CONTEXT,
        "bos_token_id": TURN_START,
        "eos_token_id": TURN_END,
        "pad_token_id": TURN_END,
        "tie_word_embeddings": True,
        # Wide enough that the most likely next token is a clear one.
        "initializer_range": 0.2,
    }
    return LlamaConfig(**{**settings, **changes})


def save_tiny_llama(folder: Path, seed: int = 0, **changes: Any) -> Path:
    """Save a random Llama and its tokenizer to `folder` as a hub model would be; `changes` go into its config."""
    import torch
    from transformers import LlamaForCausalLM

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlamaForCausalLM(tiny_llama_config(**changes))
    model.save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


def write_tiny_gguf(
    path: Path, seed: int = 0, *, quantised: bool = False, architecture: str = "llama", turn_end: int | None = None
) -> Path:
    """Write a random Llama with tokenizer and chat template to the GGUF file `path`, in F32 or Q8_0.

    `turn_end` sets the end-of-turn id beside the end-of-sequence id that is always there.
    """
    import gguf
    import numpy as np

    vocabulary, merges = _vocabulary()
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_name("tiny")
    writer.add_block_count(LAYERS)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(len(vocabulary))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(list(vocabulary))
    writer.add_token_types([3 if token in SPECIAL_TOKENS else 1 for token in vocabulary])
    writer.add_token_merges([" ".join(merge) for merge in merges])
    writer.add_bos_token_id(TURN_START)
    writer.add_eos_token_id(TURN_END)
    writer.add_unk_token_id(END_OF_TEXT)
    writer.add_pad_token_id(TURN_END)
    if turn_end is not None:
        writer.add_eot_token_id(turn_end)
    writer.add_add_bos_token(False)
    writer.add_chat_template(CHAT_TEMPLATE)

    random = np.random.default_rng(seed)
    for name, shape in _gguf_shapes(len(vocabulary)).items():
        values = (random.standard_normal(shape) * 0.2 + (name.endswith("norm.weight"))).astype(np.float32)
        if quantised and len(shape) == 2:
            kind = gguf.GGMLQuantizationType.Q8_0
            writer.add_tensor(name, gguf.quants.quantize(values, kind), raw_dtype=kind)
        else:
            writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _gguf_shapes(vocabulary: int) -> dict[str, tuple[int, ...]]:
    """The GGUF name and shape of every tensor; the output layer is tied to the embedding, so it is not there."""
    keys = HIDDEN // HEADS * KV_HEADS
    shapes: dict[str, tuple[int, ...]] = {"token_embd.weight": (vocabulary, HIDDEN)}
    for layer in range(LAYERS):
        shapes |= {
            f"blk.{layer}.attn_norm.weight": (HIDDEN,),
            f"blk.{layer}.attn_q.weight": (HIDDEN, HIDDEN),
            f"blk.{layer}.attn_k.weight": (keys, HIDDEN),
            f"blk.{layer}.attn_v.weight": (keys, HIDDEN),
            f"blk.{layer}.attn_output.weight": (HIDDEN, HIDDEN),
            f"blk.{layer}.ffn_norm.weight": (HIDDEN,),
            f"blk.{layer}.ffn_gate.weight": (FEED_FORWARD, HIDDEN),
            f"blk.{layer}.ffn_up.weight": (FEED_FORWARD, HIDDEN),
            f"blk.{layer}.ffn_down.weight": (HIDDEN, FEED_FORWARD),
        }
    return shapes | {"output_norm.weight": (HIDDEN,)}


def _vocabulary() -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Token -> id (special tokens, all bytes, then what the merges make), and the merges."""
    from tokenizers import pre_tokenizers

    tokens = [*SPECIAL_TOKENS, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    merges = []
    for word in _WORDS:
        for end in range(1, len(word)):
            merge = (word[:end], word[end])
            if merge not in merges:
                merges.append(merge)
                tokens.append(word[: end + 1])
    return {token: number for number, token in enumerate(tokens)}, merges
