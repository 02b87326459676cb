"""The field's spelling of names that files write in lower case with underscores: `RMS norm`, `learning rate`.

Whatever a reader sees is spelled so; files, claims, `--json` and code keep their own spelling.
"""

import re
from collections.abc import Iterable

# An entry is one word of a name, or a whole name whose words do not say it. A word that is missing stays as it is.
SPELLINGS = {
    # Whole names.
    "conv": "convolution",
    "d_k": "key width",
    "d_model": "model width",
    "d_q": "query width",
    "d_v": "value width",
    "linear_attention": "linear attention",
    "lr_sensitivity": "learning-rate sensitivity",
    "mlp_mixer": "MLP-Mixer",
    "seq_len": "sequence length",
    "shared_kv": "shared-KV",
    "vocab_size": "vocabulary size",
    # Words.
    "adamw": "AdamW",
    "alibi": "ALiBi",
    "ema": "EMA",
    "ffn": "FFN",
    "flops": "FLOPs",
    "fourier": "Fourier",
    "geglu": "GEGLU",
    "gelu": "GELU",
    "gmlp": "gMLP",
    "gpu": "GPU",
    "gru": "GRU",
    "kv": "KV",
    "lr": "learning rate",
    "lstm": "LSTM",
    "mlp": "MLP",
    "mse": "MSE",
    "num": "number of",
    "qk": "QK",
    "relu": "ReLU",
    "resmlp": "ResMLP",
    "rms": "RMS",
    "rnn": "RNN",
    "rope": "RoPE",
    "sgd": "SGD",
    "silu": "SiLU",
    "sincos": "sin/cos",
    "swiglu": "SwiGLU",
    "val": "validation",
}
# Levels whose name is a term of its own: `GELU` needs no “activation”, `LSTM` no “mixer”.
TERMS = frozenset(
    {
        *("geglu", "gelu", "relu", "silu", "swiglu"),
        *("conv", "gmlp", "gru", "linear_attention", "lstm", "mlp_mixer", "resmlp", "rnn"),
        *("alibi", "rope"),
        *("adamw", "sgd"),
    }
)


def spelled(name: str) -> str:
    """Returns a name as prose says it: `validation loss` of `val_loss`, `learning rate` of `training.lr`.

    Of a dotted path it is the last name; a slice keeps its sign: `accuracy@far`.
    """
    metric, at, part = name.partition("@")
    end = re.sub(r"^(?:[^\W\d]\w*\.)+(?=[^\W\d]\w*$)", "", metric)
    words = SPELLINGS.get(end) or " ".join(SPELLINGS.get(word, word) for word in end.split("_"))
    return f"{words.strip()}{at}{part.replace('_', '-')}" if words.strip() else name


def compound(name: str) -> str:
    """Returns a name as it stands before a noun: `low-rank` of `low_rank`."""
    return SPELLINGS.get(name) or "-".join(SPELLINGS.get(word, word) for word in name.split("_"))


def spelled_paths(paths: Iterable[str]) -> dict[str, str]:
    """Returns path → the shortest end in words that no other path has; all of it where there is none."""
    distinct = list(dict.fromkeys(paths))
    words = {}
    for path in distinct:
        names = path.split(".")
        for size in range(1, len(names) + 1):
            end = names[-size:]
            alike = [other for other in distinct if other.split(".")[-size:] == end]
            if len(alike) == 1:
                break
        words[path] = " ".join(spelled(name) for name in end)
    return words


def as_sentence(words: str) -> str:
    """Returns words with a capital first letter, the others as they are: `QK norm` stays `QK norm`."""
    return f"{words[:1].upper()}{words[1:]}"
