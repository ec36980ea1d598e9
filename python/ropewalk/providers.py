"""Providers of angles: what makes inv_freq, cos and sin of a model's config, declared for judging."""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from . import command
from .decorator import F, KernelError, Offer, _require, offering

offered = []  # every provider of this process, in order
answers = {}  # what `ropewalk config` said, by its words


def provider(config: str | dict, *, angles: Literal["f32", "division", "exact"] = "f32", name: str | None = None,
             layer: str | None = None, pairing: Literal["interleaved", "half_split"] | None = None,
             dtypes: tuple[Literal["f32", "f16", "bf16"], ...] = ("f32",), context: int | None = None,
             scale_elsewhere: bool = False) -> Callable[[F], F]:
    """Offers a function as a provider of angles and returns it unchanged.

    The function gets a config as a dictionary and returns a rotary: an object that is called with
    positions, [batch, tokens] in int64, and a data type ("f32"), and returns cos and sin
    [batch, tokens, n] (n is rotary_dim / 2, or rotary_dim with each value twice), or one complex
    array. It may have
    inv_freq                  the frequencies that it uses, [rotary_dim / 2]
    cast(dtype)               changes the type of the module, as model.to(torch.bfloat16) does
    rotate(q, k, positions, dtype)   q and k, [tokens, heads, rotary_dim], as the model's attention
                              rotates them with these angles

    config      a config.json of Hugging Face's, or its fields: which rule is right follows from it
    angles      "f32": the product of position and inv_freq is rounded to f32, as most models were
                trained; "division": position / timescale is, as JAX models write it, and the
                rotary has timescale in place of inv_freq; "exact": cos and sin are those of the
                real product
    layer       of a model whose layers rotate differently
    pairing     if the config's model_type is not known
    dtypes      "f32", "f16", "bf16": the types of cos and sin that it is asked for
    context     positions that the model declares; by default max_position_embeddings
    scale_elsewhere   True: the rule's factor is not on cos and sin, but in the scale of the softmax
    """
    return offering(Provider, offered, dict(locals()))


class Provider(Offer):
    """A function that makes rotaries, and the words that declare it. `units`: by how many 2^-24 cos and sin
    of one angle may be off."""

    units, decorator = 2, staticmethod(provider)

    def __init__(self, *given):
        super().__init__(*given)
        if isinstance(self.config, str):
            self.config = json.loads(Path(self.config).read_text(encoding="utf-8"))
        _require(isinstance(self.config, dict), f"config={self.config!r} has no fields")
        self.context = self.context or declared_context(self.config)

    def truth(self, config=None, tokens=None):
        """What the config comes to, as `ropewalk config` reads it, for sequences of `tokens`."""
        out = answer(config or self.config, self.layer, self.pairing, tokens)
        return {**out, "attention_scale": 1.0} if self.scale_elsewhere else out


def declared_context(config, otherwise=4096):
    """The positions that a config declares."""
    parts = [config, *(v for v in config.values() if isinstance(v, dict))]
    keys = "max_position_embeddings", "n_positions", "max_sequence_length", "seq_length"
    found = [p[k] for p in parts for k in keys if isinstance(p.get(k), int) and p[k] > 1]
    return found[0] if found else otherwise


def answer(config, layer=None, pairing=None, tokens=None, numbers=None):
    """The object that `ropewalk config --json` prints; with inv_freq `numbers`, the comparison
    with them. Raises KernelError with its reason."""
    words = ["--layer", layer] if layer else []
    words += ["--pairing", pairing] if pairing else []
    words += ["--context", str(tokens)] if tokens else []
    text = json.dumps(config, default=lambda v: str(v).removeprefix("torch."))
    key = (text, *words, str(numbers))
    if key not in answers:
        with tempfile.TemporaryDirectory(prefix="ropewalk") as folder:
            for file, content in (("config.json", text), ("inv_freq", str(numbers))):
                Path(folder, file).write_text(content, encoding="utf-8")
            words += ["--inv-freq", "inv_freq"] if numbers is not None else []
            done = command.run("config", "config.json", "--json", *words, cwd=folder)
        said = done.stdout.splitlines()
        wrong = done.stderr.strip().removeprefix("ropewalk: ")
        answers[key] = json.loads(said[-1]) if said else KernelError(wrong)
    if isinstance(answers[key], KernelError):
        raise answers[key]
    return answers[key]
