"""transformers: functions of its attentions that rotate, and the rotary modules of its model types."""

import inspect
import re
from importlib import import_module

import torch
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

import ropewalk
from ropewalk.libraries import DTYPES, LLAMA3, OWN, Module, tensor

PACKAGE = "transformers"
TRIED = ("5.24.0", "4.57.6")
NOT_COVERED = "CUDA, which part of a head an attention rotates, images and sound, three-axis positions"
LOCAL = "rope_local_base_freq"  # of 4.x, where 5.x has rope parameters for each kind of layers
RULES = {
    "llama+llama3": (131072, {**LLAMA3, **OWN}),
    "qwen2+yarn": (32768, {**OWN, "rope_type": "yarn"}),
    "llama+dynamic": (2048, {"rope_type": "dynamic", "factor": 4.0}),
    "phi3+longrope": (131072, {**OWN, "rope_type": "longrope", "short_factor": [1.5] * 48,
                               "long_factor": [2.5 + i for i in range(48)]}),
}
TYPES = """llama mistral mixtral qwen2 qwen3 gemma2 gemma3_text phi phi3 gpt_neox gptj glm4 cohere2 olmo2
deepseek_v3 llama4_text gpt_oss granite stablelm ernie4_5""".split() + [*RULES]


def modeling(name):
    return import_module(f"transformers.models.{name}.modeling_{name}")


# In the type of the data the two products of a pair are rounded (sqrt(5) u), and so is a row that a
# factor multiplies (1 u); what is of second order is added.
WORDS = {"arrays": "torch", "heads_axis": False}
HF = {**WORDS, "layout": "BHTD", "tables": "twice"}
ropewalk.kernel(name="llama", pairing="half_split", inverse="autograd", **HF)(
    modeling("llama").apply_rotary_pos_emb)
ropewalk.kernel(name="llama_bf16", pairing="half_split", dtypes="bf16", tables_dtype="data",
                error_bound=3.3, **HF)(modeling("llama").apply_rotary_pos_emb)
ropewalk.kernel(name="ernie4_5", pairing="interleaved", dtypes=("f32", "bf16"), **HF)(
    modeling("ernie4_5").apply_rotary_pos_emb)
ropewalk.kernel(name="gptj", pairing="interleaved", names={"tensor": "x"}, **WORDS)(
    modeling("gptj").apply_rotary_pos_emb)
ropewalk.kernel(name="llama4_text", pairing="interleaved", tables="complex", names={
    "xq": "q", "xk": "k", "freqs_cis": "table"}, **WORDS)(modeling("llama4").apply_rotary_emb)


class Rotary(Module):
    """The rotary module of a config, alone on the CPU, and the function that its attention calls."""

    def __init__(self, config, layer):
        self.config, self.layer = CONFIG_MAPPING[config["model_type"]].from_dict(config), layer
        if layer == "sliding_attention" and LOCAL in config:  # as the model of 4.x does
            self.config.rope_theta, self.config.rope_scaling = config[LOCAL], {"rope_type": "default"}
        if self.config.get_text_config() is not self.config:
            raise NotImplementedError("its text part is a model type of its own")
        try:
            self.space = import_module(
                type(self.config).__module__.replace("configuration_", "modeling_"))
            found = {n: c for n, c in vars(self.space).items() if re.search("Rotary|RoPE|Rope", n)
                     and inspect.isclass(c) and not re.search("Vision|Audio|Attention|2D|DiT", n)}
            self.module = found[min(found, key=len)](self.config)
        except (AttributeError, ImportError, TypeError, ValueError) as error:
            raise NotImplementedError(f"no rotary module takes its config: {error}") from None
        names = [n for n in vars(self.space) if re.match(r"apply_\w*(rot|rope)\w*$", n)]
        source = "".join(inspect.getsource(c) for n, c in vars(self.space).items()
                         if "Attention" in n and inspect.isclass(c) and "Vision" not in n)
        names = [n for n in names if re.search(rf"\b{n}\(", source)] or names
        flag = getattr(self.config, "rope_interleave", False)  # with two functions, it chooses
        names.sort(key=lambda n: ("interleave" in n) != bool(flag))
        self.apply = getattr(self.space, names[0]) if names else None
        self.takes = list(inspect.signature(self.apply).parameters) if names else []

    by_layer = property(lambda self: hasattr(self.module, f"{self.layer}_inv_freq"))
    inv_freq = property(lambda self: getattr(
        self.module, f"{self.layer}_inv_freq" if self.by_layer else "inv_freq", None))

    def __call__(self, positions, dtype):
        tables = self.tables(positions, dtype)
        return tables[::-1] if self.takes[1:2] == ["sin"] else tables  # GPT-J's come so

    def tables(self, positions, dtype):
        x, words = torch.zeros(1, 1, dtype=DTYPES[dtype]), [self.layer] if self.by_layer else []
        return self.module(x, torch.from_numpy(positions), *words)

    def rotate(self, q, k, positions, dtype):
        tables = self.tables(positions[None], dtype)
        q, k = (tensor(a, dtype)[None] for a in (q, k))
        if not {"k", "xk"} & {*self.takes}:  # one tensor a call, [batch, tokens, heads, dim]
            words = {"unsqueeze_dim": 2} if "unsqueeze_dim" in self.takes else {}
            return [self.apply(a, *tables, **words)[0] for a in (q, k)]
        if "[:, :, None, :]" in inspect.getsource(self.apply):
            return [a[0] for a in self.apply(q, k, tables)]
        tables = tables if isinstance(tables, tuple) else (tables,)
        out = self.apply(q.transpose(1, 2), k.transpose(1, 2), *tables)
        return [a.transpose(1, 2)[0] for a in out]


def offer(types):
    """Offers the rotary modules of model types: TYPE, TYPE+RULE, or TYPE/LAYER where layers differ."""
    for name in types:
        config = CONFIG_MAPPING[name.split("+")[0]]().to_dict()
        if name in RULES:
            config["max_position_embeddings"], rule = RULES[name]
            if now := config.get("rope_parameters"):  # since 5.0
                config["rope_parameters"] = {"rope_theta": now["rope_theta"], **rule}
            else:  # Phi-3 takes its lists alone
                lists = {k: v for k, v in rule.items() if isinstance(v, list)}
                config["rope_scaling"] = {"type": rule["rope_type"], **lists} if lists else rule
        layers = [k for k, v in (config.get("rope_parameters") or {}).items() if isinstance(v, dict)]
        layers = layers or (["sliding_attention", "full_attention"] if LOCAL in config else [])
        for layer in layers or [None]:
            words = {"name": f"{name}/{layer}" if layer else name, "layer": layer}
            ropewalk.provider(config, dtypes=("f32", "bf16"), **words)(
                lambda c, layer=layer: Rotary(c, layer))


def everything():
    return [*RULES, *CONFIG_MAPPING.keys()]
