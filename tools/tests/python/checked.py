"""Holds ropewalk.check to tiny models of transformers: right ones, and ones with one planted fault.
Names as arguments run only these. Ends with 77 if torch or transformers is missing."""
import copy
import functools
import pickle
import sys
import time
from unittest import TestCase
from unittest.mock import patch

import ropewalk

door, imports_torch = ropewalk.check, "torch" in sys.modules
try:
    import torch
    import transformers
    from transformers.models import glm4, llama
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

TINY = dict(vocab_size=32, hidden_size=64, intermediate_size=64, num_hidden_layers=4, num_attention_heads=4,
            num_key_value_heads=2, head_dim=16, pad_token_id=0, max_position_embeddings=2048)
LLAMA3 = {"rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "low_freq_factor": 1.0,
          "high_freq_factor": 4.0, "original_max_position_embeddings": 256}
YARN = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 512}
LONGROPE = {**YARN, "rope_type": "longrope", "short_factor": [1.0] * 8, "long_factor": [1.0, *[4.0] * 7]}
MROPE = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [2, 3, 3]}
SIZES = {
    **dict.fromkeys("qwen2 gemma2 phi gpt_neox glm4 cohere2 olmo3 smollm3 modernbert".split(), {}),
    "llama": {"rope_parameters": LLAMA3}, "mistral": {"rope_parameters": YARN}, "gptj": {"rotary_dim": 8},
    "qwen3": {"rope_parameters": {"rope_type": "dynamic", "rope_theta": 5e5, "factor": 4.0}},
    "gemma3_text": {"layer_types": ["sliding_attention"] * 3 + ["full_attention"]},
    "phi3": {"rope_parameters": LONGROPE}, "gpt_oss": {"num_local_experts": 2, "num_experts_per_tok": 1},
    "falcon": {"vocab_size": 32, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4},
    "llama4_text": {"num_local_experts": 2, "intermediate_size_mlp": 64},
    "deepseek_v3": {**dict.fromkeys(("qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim", "q_lora_rank",
                    "kv_lora_rank"), 16), "first_k_dense_replace": 4, "num_key_value_heads": 4},
    "qwen2_vl": {"text_config": {**TINY, "rope_parameters": MROPE}, "vision_config": {
        "depth": 2, "embed_dim": 32, "num_heads": 2, "hidden_size": 64}},
}


def built(kind, **changes):
    words = copy.deepcopy({**({} if kind in ("falcon", "qwen2_vl") else TINY), **SIZES[kind], **changes})
    return transformers.AutoModel.from_config(transformers.AutoConfig.for_model(kind, **words)).eval()


def checked(model, *config, **words):
    """The report, of a check that changes nothing."""
    state = lambda: (pickle.dumps(model), torch.get_rng_state().tolist(), torch.get_default_dtype(),
                     torch.get_default_device(), torch.is_grad_enabled(), torch.is_autocast_enabled("cpu"),
                     sys.getprofile())
    before, report = state(), door(model, *config, **words)
    assert state() == before, "the check changed the model, or torch"
    report.failed = [r for r in report.rows if r["verdict"] == "FAIL"]
    return report


def again(model, **changes):
    config = copy.deepcopy(model.config)
    config.rope_parameters.update(changes)
    model.rotary_emb = type(model.rotary_emb)(config)


def method(name, function):
    """Replaces a method of the rotary's class; the function gets the right one first."""
    def plant(model):
        kind = type(getattr(model, "language_model", model).rotary_emb)
        own = getattr(kind, name)
        return patch.object(kind, name, functools.wraps(own)(lambda *a, **w: function(own, *a, **w)))
    return plant


def apply_rotary_pos_emb(q, k, cos, sin, unsqueeze_dim=1):
    a, b = k.chunk(2, -1)
    return q, k * cos[:, None] + torch.cat((-b, a), -1) * sin[:, None]


put = lambda name, value: lambda m: setattr(m.rotary_emb, name, value(m.rotary_emb))
applied = lambda f: lambda m: patch.object(llama.modeling_llama, "apply_rotary_pos_emb", f)
of = lambda angle, first=torch.cos, second=torch.sin: (first(angle), second(angle))
# Each plants a fault into a model and returns the patch, if any; then the check that finds it, and words
# of the cause, the only one that may be named; where no cause is named, of the row's text.
PLANTS = {
    "theta": ("llama", lambda m: again(m, rope_theta=1e4), "frequencies", "theta 10000 with the rule"),
    "rule": ("llama", lambda m: again(m, rope_type="default"), "frequencies", "without the rule llama3"),
    "long": ("phi3", lambda m: again(m, short_factor=[1.0, *[4.0] * 7]), "frequencies", "other list"),
    "factor": ("mistral", put("attention_scaling", lambda r: 1.0), "rows", "missing"),
    "mscale": ("mistral", put("attention_scaling", lambda r: r.attention_scaling**2), "rows", "twice"),
    "axes": ("qwen2_vl", method("forward", lambda own, r, x, p: own(r, x, p[:1])), "rotation", "by axis 0"),
    "bf16": ("llama", lambda m: m.to(torch.bfloat16), "frequencies", "bf16"),
    "f16": ("llama", lambda m: m.half(), "frequencies", "f16"),
    "short": ("gptj", put("embed_positions", lambda r: r.embed_positions[:-1]), "length", "position 2,046"),
    "cache": ("gptj", put("embed_positions", lambda r: torch.cat(of(torch.arange(2048.0)[:, None] / 5e5 ** (
        torch.arange(4) / 4), torch.sin, torch.cos), 1)), "rows", "theta 500000"),
    "base": ("gemma3_text", lambda m: again(m, sliding_attention=m.config.rope_parameters[
        "full_attention"]), "frequencies", "theta 1000000"),
    "entry": ("gemma3_text", lambda m: setattr(m.config, "layer_types", ["full_attention"] * 4), "layers",
              "full_attention"),
    "partial": ("glm4", lambda m: again(m, partial_rotary_factor=1.0), "frequencies", "whole head"),
    "exponents": ("glm4", put("inv_freq", lambda r: 1e4 ** (-torch.arange(4) / 8)), "frequencies",
                  "over the width of its heads"),
    # As transformers 4.3x had it, but for its autocast(enabled=False).
    "autocast": ("qwen2", method("forward", lambda own, r, x, p: of((r.inv_freq[:, None] @ p[
        :, None].float()).mT.repeat(1, 1, 2))), "autocast", "bf16"),
    "batch": ("llama", method("forward", lambda own, r, x, p: own(r, x, p[:1].expand_as(p))), "rows",
              "a row beside others"),
    "pairing": ("llama", applied(glm4.modeling_glm4.apply_rotary_pos_emb), "rotation", "turns interleaved"),
    "latent": ("deepseek_v3", lambda m: setattr(m.config, "rope_interleave", False), "rotation",
               "half_split"),
    "k_alone": ("llama", applied(apply_rotary_pos_emb), "rotation", "not turned"),
    "stale": ("qwen3", put("original_inv_freq", lambda r: 1e4 ** (-torch.arange(8) / 8)), "state",
              "theta 10000"),
    "unrotated": ("smollm3", lambda m: setattr(m.layers[0].self_attn, "use_rope", 0), "layers", "turn"),
    "rotated": ("smollm3", lambda m: setattr(m.layers[3].self_attn, "use_rope", 1), "layers", "turn"),
}


def judged(kind, plant=None, name="", word=""):
    model = built(kind)
    config = copy.deepcopy(model.config.to_dict())
    report = checked(model)
    assert report.ok and not report.failed, f"the untouched model:\n{report}"
    held = {r["check"] for r in report.rows if r["verdict"] in ("ok", "contract")}
    assert {"rows", "rotation"} <= held, report
    made = plant and plant(model)
    with made if hasattr(made, "__enter__") else patch.dict({}):
        report = checked(model, config)
    found = [r for r in report.failed if r["check"] == name and word in (r["cause"] or r["text"])]
    assert bool(plant) == bool(found) == (not report.ok), f"no row of {name} has '{word}':\n{report}"
    others = [r for r in report.failed if r["cause"] and word not in r["cause"]]
    assert not others, f"names another cause than '{word}':\n{others}"


def meta():
    for changes, good in (({}, True), ({"rope_type": "default"}, False)):  # 8 billion parameters
        with torch.device("meta"):
            model = built("llama", hidden_size=4096, intermediate_size=14336, num_hidden_layers=32,
                          num_attention_heads=32, num_key_value_heads=8, head_dim=128, vocab_size=128256)
            config = copy.deepcopy(model.config.to_dict())
            again(model, **changes)
        report = checked(model, config)
        assert report.ok == good and "only attributes" in str(report), report
        told = {r["check"] for r in report.rows if r["verdict"] != "not judged"}
        assert told <= {"attributes", "layers"}, report.rows


def others():
    """What is no fault, the report, what is imported, and what is refused."""
    model = built("llama")
    good = checked(model)
    good.raise_for_failures()
    edges = {r["check"] for r in good.rows if r["verdict"] == "edge"}
    assert edges == {"cast_bf16", "cast_f16"}, good.rows  # LlamaRotaryEmbedding casts its inv_freq
    assert not checked(model, strict=True).ok
    with method("_apply", lambda own, rotary, *a, **w: rotary)(model):
        assert checked(model, strict=True).ok
    with method("forward", lambda *a: 1 / 0)(model):
        said = checked(model)
        assert "division by zero" in str(said) and not said.ok, said
    again(model, rope_theta=1e4)
    bad = checked(model)
    same = pickle.loads(pickle.dumps(bad))
    assert (str(same), same.rows, same.ok) == (str(bad), bad.rows, False)
    with TestCase().assertRaises(AssertionError) as raised:
        bad.raise_for_failures()
    assert str(bad) in str(raised.exception)
    model.rotary_emb.inv_freq = torch.empty(0)
    said = checked(model)
    assert not any(r["verdict"] in ("ok", "FAIL") and r["check"] == "frequencies" for r in said.rows), said
    larger = built("llama", hidden_size=128).config
    for words in (torch.nn.Linear(2, 2),), (model, larger), (model, "/none"), (model, {"rope_theta": "x"}):
        with TestCase().assertRaisesRegex(ropewalk.KernelError, r"\A.+\Z"):  # one line
            door(*words)
    assert not imports_torch, "ropewalk imports torch"


if __name__ == "__main__":
    tests = {kind: (judged, kind) for kind in SIZES} | {n: (judged, *words) for n, words in PLANTS.items()}
    tests |= {"meta": (meta,), "others": (others,)}
    failed = []
    for name in sys.argv[1:] or tests:
        (test, *words), start = tests[name], time.monotonic()
        try:
            test(*words)
            print(f"ok   {name}, {time.monotonic() - start:.1f} s", flush=True)
        except Exception as error:
            failed.append(name)
            print(f"FAIL {name}: {type(error).__name__}: {error}", flush=True)
    sys.exit(f"failed: {' '.join(failed)}" if failed else 0)
