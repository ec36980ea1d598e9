"""litgpt: apply_rope, and the tables of a GPT with a config of its own kind."""

import torch
from litgpt.config import Config
from litgpt.model import GPT, apply_rope, batched_index_select

import ropewalk
from ropewalk.libraries import LLAMA3, scaled, tensor

PACKAGE = "litgpt"
TRIED = ("0.5.13",)
NOT_COVERED = "CUDA, latent attention, apply_rope_interleave, which part of a head is rotated"
YARN = {"factor": 4.0, "beta_fast": 32.0, "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0}

WORDS = {"pairing": "half_split", "arrays": "torch", "layout": "BHTD", "tables": "twice",
         "heads_axis": False}

ropewalk.kernel(name="apply", inverse="autograd", **WORDS)(apply_rope)
ropewalk.kernel(name="apply_narrow", dtypes=("f16", "bf16"), **WORDS)(apply_rope)


class Rotary:
    """The cos and sin of a GPT with one layer, and the function that its attention calls."""

    def __init__(self, config):
        rule = dict(config.get("rope_scaling") or {})
        rule.pop("rope_type", None)
        if "original_max_position_embeddings" in rule:
            rule["original_max_seq_len"] = rule.pop("original_max_position_embeddings")
        with torch.random.fork_rng():  # it draws weights
            self.model = GPT(Config(
                block_size=config["max_position_embeddings"], n_layer=1, n_head=4, n_embd=256,
                vocab_size=8, padded_vocab_size=8, rotary_percentage=1.0,
                rope_base=config["rope_theta"], rope_adjustments=rule or None))

    def __call__(self, positions, dtype):
        at = torch.from_numpy(positions)
        return tuple(batched_index_select(t, 0, at) for t in (self.model.cos, self.model.sin))

    def rotate(self, q, k, positions, dtype):
        cos, sin = self(positions[None], dtype)
        both = (tensor(a, dtype).transpose(0, 1)[None] for a in (q, k))
        return [apply_rope(a, cos, sin)[0].transpose(0, 1) for a in both]


for name, context, rule in (
    ("plain", 8192, None),
    ("linear", 8192, {"rope_type": "linear", "factor": 8.0}),
    ("llama3", 32768, LLAMA3),
    ("yarn", 32768, {**YARN, "rope_type": "yarn", "original_max_position_embeddings": 8192}),
):
    ropewalk.provider(scaled(rule, context), name=name, pairing="half_split", dtypes=("f32", "bf16"))(Rotary)
