"""transformers: the functions of its attentions that rotate, and the rotary module of a model type."""

import inspect
import re
from importlib import import_module

import torch
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

import ropewalk

PACKAGE = "transformers"
TRIED = ("5.24.0",)
NOT_COVERED = "CUDA, which part of a head an attention rotates, images and sound, three-axis positions"
TYPES = (
    "llama mistral mixtral qwen2 qwen3 gemma2 gemma3_text phi phi3 gpt_neox gptj glm4 cohere2 olmo2 "
    "deepseek_v3 llama4_text gpt_oss granite stablelm ernie4_5 "
    "llama+llama3 qwen2+yarn llama+dynamic phi3+longrope"
).split()
# Rules that no default config has, each on one type.
YARN = {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 4096}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 8192}
RULES = {
    "llama+llama3": LLAMA3,
    "qwen2+yarn": YARN,
    "llama+dynamic": {"rope_type": "dynamic", "factor": 4.0},
    "phi3+longrope": {"rope_type": "longrope", "short_factor": [1 + i / 48 for i in range(48)],
                      "long_factor": [2.5 + i for i in range(48)],
                      "original_max_position_embeddings": 4096},
}
SIZES = {"llama+llama3": 131072, "qwen2+yarn": 32768, "phi3+longrope": 131072}
DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


# Functions that rotate, each that of many model types. In the type of the data the two products of a
# pair are rounded (sqrt(5) u), and so is a row that a factor multiplies (1 u); 2^-8 of that is added.
WORDS = {"arrays": "torch", "heads_axis": False}
HF = {**WORDS, "layout": "BHTD", "tables": "twice"}
COMPLEX = {**WORDS, "tables": "complex", "names": {"freqs_cis": "table"}}


def modeling(name):
    return import_module(f"transformers.models.{name}.modeling_{name}")


llama = modeling("llama").apply_rotary_pos_emb
ropewalk.kernel(name="llama", pairing="half_split", inverse="autograd", **HF)(llama)
ropewalk.kernel(name="llama_bf16", pairing="half_split", dtypes="bf16", tables_dtype="data",
                error_bound=3.3, **HF)(llama)
ropewalk.kernel(name="ernie4_5", pairing="interleaved", dtypes=("f32", "bf16"), **HF)(
    modeling("ernie4_5").apply_rotary_pos_emb)
ropewalk.kernel(name="gptj", pairing="interleaved", names={"tensor": "x"}, **WORDS)(
    modeling("gptj").apply_rotary_pos_emb)


@ropewalk.kernel(name="llama4_text", pairing="interleaved", **COMPLEX)
def complex_numbers(q, k, freqs_cis):  # contiguous, as it views pairs as complex numbers
    return modeling("llama4").apply_rotary_emb(q.contiguous(), k.contiguous(), freqs_cis)


class Rotary:
    """The rotary module of a config, alone on the CPU, and the function its attention calls."""

    def __init__(self, config, layer=None):
        self.config = CONFIG_MAPPING[config["model_type"]].from_dict(config)
        place = type(self.config).__module__.replace("configuration_", "modeling_")
        self.space, self.layer = import_module(place), layer
        found = [c for n, c in vars(self.space).items() if inspect.isclass(c)
                 and re.search("Rotary|RoPE|Rope", n) and "config" in inspect.signature(c).parameters
                 and not re.search("Vision|Audio|Image|Attention|2D|DiT", n)]
        if not found:
            raise NotImplementedError(f"{place} has no rotary module that takes a config")
        self.module = min(found, key=lambda c: len(c.__name__))(self.config)

    @property
    def inv_freq(self):
        return getattr(self.module, f"{self.layer}_inv_freq" if self.layer else "inv_freq")

    def __call__(self, positions, dtype):
        words = () if self.layer is None else (self.layer,)
        x = torch.zeros(1, 1, dtype=DTYPES[dtype])
        tables = self.module(x, torch.from_numpy(positions), *words)
        return tables[::-1] if self.sin_first() else tables

    def sin_first(self):
        names = list(inspect.signature(self.applied()).parameters)
        return "cos" in names and names.index("sin") < names.index("cos")

    def cast(self, dtype):
        self.module.to(DTYPES[dtype])

    def applied(self):
        """The function that the attention calls; with two, a flag of the config chooses."""
        names = [n for n in vars(self.space) if re.match(r"apply_\w*(rot|rope)\w*$", n)]
        used = {n for c in vars(self.space).values() if inspect.isclass(c) and "Attention" in
                c.__name__ and not re.search("Vision|Audio", c.__name__) for n in names
                if re.search(rf"\b{n}\(", inspect.getsource(c))} or set(names)
        flag = getattr(self.config, "rope_interleave", False)
        ranked = sorted(used, key=lambda n: ("interleave" in n) != bool(flag))
        return getattr(self.space, ranked[0])

    def rotate(self, q, k, positions, dtype):
        function, tables = self.applied(), self(positions[None], dtype)
        names = list(inspect.signature(function).parameters)
        q, k = (torch.from_numpy(a).to(DTYPES[dtype])[None] for a in (q, k))
        if "freqs_cis" in names:
            return [a[0] for a in function(q, k, tables)]
        if names[0] in ("tensor", "x"):  # one tensor a call; [batch, tokens, heads, dim]
            tables = {"cos": tables[0], "sin": tables[1]}
            more = {"unsqueeze_dim": 2} if "unsqueeze_dim" in names else {}
            return [function(a, **tables, **more)[0] for a in (q, k)]
        out = function(q.transpose(1, 2), k.transpose(1, 2), *tables)
        return [a.transpose(1, 2)[0] for a in out]


def offer(types):
    """Offers the rotary modules of model types; `TYPE/LAYER` where layers differ."""
    for name in types:
        model_type, rule = name.split("+")[0], RULES.get(name)
        try:
            config = CONFIG_MAPPING[model_type]().to_dict()
        except Exception:  # some need arguments; the verdict says what the reader lacks
            config = {"model_type": model_type}
        if rule:
            theta = config["rope_parameters"]["rope_theta"]
            config["rope_parameters"] = {**rule, "rope_theta": theta}
            config["max_position_embeddings"] = SIZES.get(name, config["max_position_embeddings"])
        layers = [k for k, v in (config.get("rope_parameters") or {}).items() if isinstance(v, dict)]
        for layer in layers or (None,):
            words = {"name": f"{name}/{layer}" if layer else name, "layer": layer}
            ropewalk.provider(config, dtypes=("f32", "bf16"), **words)(
                lambda c, layer=layer: Rotary(c, layer))


def everything():
    return [*RULES, *CONFIG_MAPPING.keys()]
