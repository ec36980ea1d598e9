"""Holds `ropewalk config FILE --json` against what the modules of transformers compute.

    python tools/model_table/check_table.py --ropewalk PATH [--fuzz N --seed S] [TYPE ...]
    python tools/model_table/check_table.py --truth > truth.jsonl     (without the command)

Each type is asked with its default config.json, with keys left out and with keys changed. A
frequency f may differ by (4 + |ln f| + 2 s) u of its value, u = 2^-24, with the factor s of its
rule: the modules compute in f32. They round the exponent 2i/d, unless d is a power of two, which costs
|ln f| u. The power and the quotient cost 4 u. A blend of f and f / s costs s u for each of its two
weights, since a small weight is the rest of 1. Exit status 1 if an answer is wrong.
"""

import argparse
import collections
import json
import math
import random
import subprocess
import sys
import tempfile

import exceptions as known
from modules import CONFIG_MAPPING, facts

UNIT = 2.0**-24
FEW = 8
SAME = ("q_heads", "k_heads", "head_dim", "k_head_dim", "rotary_dim", "q_offset", "k_offset",
        "pairing")
RULES = {
    "linear": {"factor": 4.0},
    "dynamic": {"factor": 4.0},
    "yarn": {"factor": 8.0, "original_max_position_embeddings": 1024, "beta_fast": 16,
             "beta_slow": 2},
    "llama3": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
               "original_max_position_embeddings": 1024},
}


# Pairs of a head, of the types that are asked with LongRoPE.
PAIRS = {"llama": 64, "phi3": 48, "phimoe": 64, "qwen2": 64}


def long_rope(pairs):
    return {"rope_type": "longrope", "short_factor": [1 + i / pairs for i in range(pairs)],
            "long_factor": [2.5 + i for i in range(pairs)], "short_mscale": 1.1, "long_mscale": 1.2,
            "original_max_position_embeddings": 4096}


def load(model_type, file):
    keys = json.loads(json.dumps(file, default=str))  # a file, and one that nobody changes
    return CONFIG_MAPPING[model_type].from_dict(keys)


def truth(model_type, file, context=0):
    """The kinds of layers of the text part, equal kinds once. Raises as transformers does."""
    config = load(model_type, file)
    text = config if getattr(config, "rope_parameters", None) else config.get_text_config()
    if model_type in known.PART:
        text = getattr(config, known.PART[model_type][0])
    try:
        kinds = facts(text, context)
    except (LookupError, ValueError):  # no class takes the part alone
        kinds = facts(config, context)
    out = []
    for kind in kinds:
        bare = {k: v for k, v in kind.items() if k not in ("name", "count", "pairs", "sections")}
        if not any(all(o[k] == v for k, v in bare.items()) for o in out):
            rope = getattr(text, "rope_parameters", None) or {}
            factor = (rope.get(kind["name"]) or rope).get("factor") or 1
            out.append({"name": kind["name"], "factor": factor} | bare)
    return out


def variants(name):
    """(label, file) of the files that a type is asked with."""
    needed = known.NEEDED.get(name, {})
    default = CONFIG_MAPPING[name](**needed)
    whole, bare = default.to_dict() | {"model_type": name}, {"model_type": name, **needed}
    text = default.get_text_config()
    for key in [k for k, v in vars(default).items() if v is text and text is not default]:
        needed = known.NEEDED.get(text.model_type, {})
        whole[key] |= needed
        bare[key] = {"model_type": text.model_type, **needed}
        yield "no part", {"model_type": name}
    yield "default", whole
    few = ({} if name in known.ALL_LAYERS else {"num_hidden_layers": FEW}) | bare
    yield "bare", few
    if any(hasattr(v, "to_dict") for v in vars(default).values()) or name in known.MANUAL:
        return
    names = {v: type(default).attribute_map.get(v, v) for v in
             ("num_attention_heads", "hidden_size", "num_key_value_heads")}
    heads, width = (whole.get(names[k]) for k in ("num_attention_heads", "hidden_size"))
    if isinstance(heads, int) and isinstance(width, int):
        yield "wide", few | {names["num_attention_heads"]: 2 * heads,
                             names["hidden_size"]: 4 * width}
        yield "one key head", few | {names["num_key_value_heads"]: 1}
    yield "head_dim", few | {"head_dim": 48}
    yield "theta", few | {"rope_theta": 54321.0}
    yield "share", few | {"partial_rotary_factor": 0.5}
    for rule, values in RULES.items():
        yield rule, few | {"rope_theta": 54321.0, "rope_scaling": {"rope_type": rule, **values}}
    if name in PAIRS:
        yield "longrope", few | {"max_position_embeddings": 131072, "rope_scaling": long_rope(
            PAIRS[name]), "original_max_position_embeddings": 4096}
    now = {"rope_type": "default", "rope_theta": 777.0}
    yield "rope_parameters", few | {"rope_parameters": now}


def fuzzed(count, seed):
    """Old-format files of types that transformers can build: keys at random, some at odds."""
    rng = random.Random(seed)
    types = ("llama mistral qwen2 qwen3 gemma phi phi3 gpt_neox stablelm glm cohere olmo2 granite "
             "mixtral persimmon nemotron deepseek_v3 qwen2_moe smollm3 ernie4_5 starcoder2").split()
    for _ in range(count):
        name = rng.choice(types)
        heads = rng.choice((4, 8, 16, 32))
        file = {"model_type": name, **known.NEEDED.get(name, {}), "num_hidden_layers": 2,
                "num_attention_heads": heads, "num_key_value_heads": rng.choice((1, 2, heads)),
                "hidden_size": heads * rng.choice((64, 80, 96, 128))}
        some = {"head_dim": rng.choice((64, 128)), "rope_theta": rng.choice((10000.0, 500000, 1e6)),
                "max_position_embeddings": rng.choice((2048, 4096, 131072)),
                "partial_rotary_factor": rng.choice((0.25, 0.5, 1.0)), "rotary_pct": 0.5,
                "rotary_emb_base": 25000, "original_max_position_embeddings": 4096,
                "num_experts": 4, "rope_interleave": rng.random() < 0.5}
        file |= {k: v for k, v in some.items() if rng.random() < 0.4}
        rule = rng.choice((None, None, *RULES))
        if rule:
            values = RULES[rule] | {"factor": rng.choice((1.0, 2.0, 8.0, 40.0)),
                                    "attention_factor": rng.choice((1.0, 1.25)), "mscale": 0.7,
                                    "mscale_all_dim": rng.choice((0.7, 1.0)), "truncate": False}
            spelled = rng.choice(("type", "rope_type"))
            file[rng.choice(("rope_scaling", "rope_scaling", "rope_parameters"))] = {
                spelled: rule,
                **{k: v for k, v in values.items() if rng.random() < 0.7 or k == "factor"}}
        yield name, "fuzzed", file


def answer(ropewalk, file, context=0):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as out:
        json.dump(file, out)
        out.flush()
        words = [ropewalk, "config", out.name, "--json"]
        words += ["--context", str(context)] if context else []
        done = subprocess.run(words, text=True, capture_output=True, timeout=60)
    if done.returncode != 0:
        return {"refused": done.stderr.strip().splitlines()[-1] if done.stderr else "no words"}
    return json.loads(done.stdout)


def differences(said, kind):
    out = [f"{k} {said.get(k)}, not {kind[k]}" for k in SAME if said.get(k) != kind[k]]
    if abs(said["attention_scale"] - kind["attention_scale"]) > 4 * UNIT * kind["attention_scale"]:
        out.append(f"attention_scale {said['attention_scale']}, not {kind['attention_scale']}")
    if len(said["inv_freq"]) != len(kind["inv_freq"]):
        return [*out, f"{len(said['inv_freq'])} frequencies, not {len(kind['inv_freq'])}"]
    for i, (f, true) in enumerate(zip(said["inv_freq"], kind["inv_freq"])):
        units = 4 + abs(math.log(true or 1)) + 2 * kind.get("factor", 1)
        if abs(f - true) > units * UNIT * true:
            out.append(f"inv_freq[{i}] {f}, not {true}")
            break
    if kind.get("axes") and said.get("axes") != kind["axes"]:
        out.append("another map of axes")
    return out


def judge(said, kinds):
    """The faults of an answer; none if it is right."""
    if not kinds:
        return ["the model rotates nothing"]
    layers = {layer.get("layer"): layer for layer in said.get("layers", [])}
    if len(kinds) == 1:
        return differences(said, kinds[0])
    faults = []
    for kind in kinds:
        if kind["name"] not in layers:
            faults.append(f"no layer {kind['name']}")
        else:
            faults += [f"{kind['name']}: {d}" for d in differences(layers[kind["name"]], kind)]
    return faults


def main():
    options = argparse.ArgumentParser()
    for option, kind in (("--ropewalk", str), ("--fuzz", int), ("--seed", int), ("--context", int)):
        options.add_argument(option, type=kind)
    options.add_argument("--truth", action="store_true")
    options.add_argument("--only", default="", help="labels of files, with commas")
    options.add_argument("types", nargs="*")
    given = options.parse_args()
    names = given.types or known.types(CONFIG_MAPPING)
    files = fuzzed(given.fuzz, given.seed or 1) if given.fuzz else (
        (name, label, file) for name in names for label, file in variants(name))
    counts = collections.defaultdict(collections.Counter)
    for name, label, file in files:
        if given.only and label not in given.only.split(","):
            continue
        said = None if given.truth else answer(given.ropewalk, file, given.context)
        if said and said.get("refused"):
            counts[label]["refused"] += 1
            print(f"refused {name} ({label}): {said['refused']}")
            continue
        try:
            kinds = truth(name, file, given.context or 0)
        except Exception as fault:  # noqa: BLE001
            counts[label]["transformers fails"] += 1
            words = f"no truth {name} ({label}): {type(fault).__name__}: {fault}"
            print(words.replace("\n", " ")[:200], file=sys.stderr)
            continue
        if given.truth:
            print(json.dumps({"type": name, "variant": label, "file": file, "truth": kinds},
                             default=str), flush=True)
            continue
        faults = judge(said, kinds)
        counts[label]["wrong" if faults else "right"] += 1
        if faults:
            print(f"WRONG {name} ({label}): {'; '.join(faults)}"[:600])
            print(f"      {json.dumps(file, default=str)}"[:600])
    for label, found in counts.items():
        print(f"{label}: {dict(found)}", file=sys.stderr)
    return 1 if any(found["wrong"] for found in counts.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
