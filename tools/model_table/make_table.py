"""Prints benchmarks/configs/model_types.toml from an installed transformers. Not part of the build.

    python tools/model_table/make_table.py > benchmarks/configs/model_types.toml

A fact is found by experiment where that is possible: a config with one key missing or changed, and
what its modules then do (modules.py). exceptions.py holds the rest, each with a reason.
"""

import sys
import textwrap

import exceptions as known
import modules
from modules import CONFIG_MAPPING, config_of, facts

USUAL = {"heads": "num_attention_heads", "kv_heads": "num_key_value_heads", "width": "hidden_size",
         "head_dim": "head_dim", "positions": "max_position_embeddings"}
FEW = 8  # layers in an experiment: each kind is among them
HEAD = """\
# What a config.json leaves out because the model's own code knows it, for each model_type of
# transformers {} that rotates, or looks as if it did. Made by make_table.py, which asks the
# installed modules, and reviewed. benchmarks/configs/model_types.h says what each key means.
# To make it again: python tools/model_table/make_table.py > benchmarks/configs/model_types.toml
"""


def toml(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + value.replace('"', "'") + '"'
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml_key(k)} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml(v) for v in value) + "]"
    return repr(value)


def toml_key(key):
    return key if all(c.isalnum() or c == "_" for c in key) else f'"{key}"'


def plain(config):
    return {k: v for k, v in vars(config).items() if not k.startswith("_")}


def rope_of(config):
    return getattr(config, "rope_parameters", None) or {}


def kinds_of(config):
    """The layer types that have rope parameters of their own; one None if there are none."""
    return sorted(k for k, v in rope_of(config).items() if isinstance(v, dict)) or [None]


class Type:
    """The experiments on one model_type."""

    def __init__(self, name):
        self.name = name
        self.keys = dict(known.NEEDED.get(name, {}))
        self.base = config_of(name, self.keys)
        self.map = type(self.base).attribute_map
        self.file_key = {k: self.map.get(v, v) for k, v in USUAL.items()}
        self.file_key.update(known.KEYS.get(name, {}))

    def value(self, key):
        """What a file without this key means, before any module is asked."""
        name = self.file_key[key]
        return plain(config_of(self.name, known.NEEDED.get(self.name))).get(name)

    def seen(self, **keys):
        """The first kind of layer under changed keys; NULL if transformers refuses them."""
        try:
            few = {"num_hidden_layers": FEW} if self.name not in known.ALL_LAYERS else {}
            return facts(config_of(self.name, {**few, **self.keys, **keys}))[0]
        except Exception:  # noqa: BLE001
            try:
                return facts(config_of(self.name, {**self.keys, **keys}))[0]
            except Exception:  # noqa: BLE001
                return None

    def free(self, keys):
        """A config of nothing but these keys, if transformers takes it, else with those needed."""
        for more in ({}, self.keys):
            try:
                return config_of(self.name, more | keys)
            except Exception:  # noqa: BLE001
                continue
        return self.base

    def rope(self, **parameters):
        """Rope parameters in the form that this type takes, for all its layers."""
        kinds = kinds_of(self.base)
        whole = {"rope_type": "default", "rope_theta": 10000.0}
        if kinds == [None] and rope_of(self.base).get("rope_type") == "default":
            whole = dict(rope_of(self.base))
        return whole | parameters if kinds == [None] else {k: whole | parameters for k in kinds}


def share_of(seen):
    head = seen["rotary_dim"] if seen["q_offset"] else seen["head_dim"]
    return seen["rotary_dim"] / head


def style_of(axes, sections):
    """How sections lie over the pairs."""
    if axes == [a for a, n in enumerate(sections) for _ in range(n)]:
        return "chunked"
    third = [i % 3 if i < 3 * sections[i % 3] else 0 for i in range(len(axes))]
    if axes == third:
        return "interleaved"
    both = sections[0] + sections[1]
    if axes == [1 + i % 2 if i < both else 0 for i in range(len(axes))]:
        return "alternating"
    raise ValueError("no known order of axes")


def shape_entries(t, first, row):
    """Heads and sizes: what a missing key means, and which keys the code does not read."""
    heads, width = t.file_key["heads"], t.file_key["width"]
    head_count, width_count = first["q_heads"], t.value("width")
    row["heads"] = head_count
    sections = first.get("sections")
    longer, wide = {}, None
    if sections:
        longer = {"rope_parameters": t.rope(mrope_section=[2 * n for n in sections])}
    if width_count:
        wide = t.seen(**{heads: 2 * head_count, width: 4 * width_count}, **longer)
    if not wide and width_count:  # head_dim is constant, or it would not fit the sections
        wide = t.seen(**{heads: 2 * head_count, width: 2 * width_count})
    latent = first["q_offset"] > 0
    if latent:
        row["latent"] = True
        row["nope_head_dim"], row["rope_head_dim"] = first["q_offset"], first["rotary_dim"]
    else:
        follows = wide and wide["k_heads"] == wide["q_heads"] and first["k_heads"] == head_count
        follows = follows or t.file_key["kv_heads"] in t.keys
        row["kv_heads"] = "heads" if follows else first["k_heads"]
        row["width"] = width_count
        usual = width_count and first["head_dim"] == width_count // head_count
        if wide and wide["head_dim"] == first["head_dim"] or not (wide or usual):
            row["head_dim"] = first["head_dim"]
        elif not usual:
            row["head_dim"] = f"{first['head_dim'] * head_count // width_count} * width / heads"
        if "head_dim" in t.keys:
            row.pop("head_dim", None)
        other = t.seen(**{t.file_key["head_dim"]: 2 * first["head_dim"]}, **longer)
        if other and other["head_dim"] == first["head_dim"]:
            row["ignores"].append("head_dim")
        if first["k_heads"] > 1:
            other = t.seen(**{t.file_key["kv_heads"]: first["k_heads"] // 2})
        elif "kv_heads" in row:
            other = t.seen(**{t.file_key["kv_heads"]: head_count})
        if other and other["k_heads"] == first["k_heads"] and head_count > 1:
            row["ignores"].append("num_key_value_heads")
    if not wide:
        print(f"{t.name}: more heads could not be tried", file=sys.stderr)


def rope_entries(t, first, row):
    """Theta, the rotated share, the rule and the layers with parameters of their own."""
    kinds = kinds_of(t.base)
    share = 1.0
    if kinds == [None]:
        share = flat_rope(t, first, row)
    else:
        latent = {"partial_rotary_factor"} if first["q_offset"] else set()
        row["layers"] = kinds
        row["layer_rope"] = {} if "rope_parameters" in t.keys else {
            k: {n: v for n, v in rope_of(t.base)[k].items() if v is not None and n not in latent}
            for k in kinds}
    changed = [t.seen(rope_theta=12345.0), t.seen(rope_parameters=t.rope(rope_theta=12345.0))]
    if all(changed) and not any(c["inv_freq"] != first["inv_freq"] for c in changed):
        row["ignores"].append("rope_theta")
    if first["q_offset"]:
        return
    rotated = rope_of(t.base).get("partial_rotary_factor", 1.0) * first["head_dim"]
    if kinds == [None] and (int(rotated) + 1) // 2 != len(first["inv_freq"]):
        row["rotary_dim"] = first["rotary_dim"]
        return
    inner = t.rope(partial_rotary_factor=0.5)
    half = [t.seen(partial_rotary_factor=0.5), t.seen(rope_parameters=inner)]
    named = "share" in row.get("names", {})
    if share_of(first) == 1 and not (named or any(h and share_of(h) == 0.5 for h in half)):
        row["ignores"].append("partial_rotary_factor")
    elif share != 1:
        row["share"] = share
    if hasattr(t.base, "rotary_dim"):
        other = t.seen(rotary_dim=first["rotary_dim"] // 2)
        if other and other["rotary_dim"] == first["rotary_dim"]:
            row["ignores"].append("rotary_dim")


def flat_rope(t, first, row):
    """Theta and share where a file's rope parameters leave them out, and the rope parameters of a
    file that has none, as far as they say more. Returns the share."""
    default = rope_of(t.free({}))
    bare = rope_of(t.free({"rope_parameters": {"rope_type": "default"}})) or default
    above = rope_of(t.free({"rope_theta": 12345.0}))
    bare = {k: v for k, v in default.items() if k == "rope_theta"} | bare
    theta = bare.get("rope_theta", plain(t.base).get("rope_theta"))
    row["theta"] = theta if theta is None else float(theta)
    fixed = default.get("rope_theta") == above.get("rope_theta") and t.name not in known.NAMES
    rule = {k: v for k, v in default.items()
            if v is not None and k not in ("type", "mrope_section") and bare.get(k) != v}
    if default and (rule or fixed):
        rule["rope_type"] = default["rope_type"]
        if fixed:
            rule["rope_theta"] = float(default["rope_theta"])
        row["rope"] = rule
    old = t.seen(rope_scaling={"rope_type": "linear", "factor": 4.0})
    now = t.seen(rope_parameters=t.rope(rope_theta=12345.0))
    for key, other in (("rope_scaling", old), ("rope_parameters", now)):
        if other and other["inv_freq"] == first["inv_freq"]:
            row["ignores"].append(key)
    return bare.get("partial_rotary_factor", 1.0)


def text_part(config):
    """(the key of the part about text, its config), or NULL."""
    parts = {k: v for k, v in vars(config).items() if hasattr(v, "to_dict")}
    for key in known.TEXT_PARTS:
        if key in parts:
            return key, parts[key]
    return None


def part_entry(name, key, text):
    """Where the text part lies, and the sizes that a missing key of it means, if the composite
    fills them in itself."""
    row = {"part": key, "part_type": text.model_type}
    row |= {"flat": True} if name in known.FLAT else {}
    try:
        filled = getattr(config_of(name, {key: {"model_type": text.model_type}}), key)
        usual = config_of(text.model_type)
    except Exception:  # noqa: BLE001
        return row
    for fact, usual_key in USUAL.items():
        value = plain(filled).get(usual_key)
        if value is not None and value != plain(usual).get(usual_key):
            row[fact] = value
    length = plain(filled).get("head_dim")
    if "width" in row and length not in (None, row["width"] // plain(filled)[USUAL["heads"]]):
        row["head_dim"] = length
    theta = rope_of(filled).get("rope_theta")
    if theta != rope_of(usual).get("rope_theta"):
        row["theta"] = float(theta)
    return row


def tower_entry(name, config):
    """A vision tower: the order of its axes, which must also be that of its frequencies."""
    pairing, axes, found = modules.tower_of(config)
    if name in known.FLIPPED:
        axes = [1 - a for a in axes]
    base, pairs = rope_of(config)["rope_theta"], len(axes)
    count = 1 + max(axes)
    block = pairs // count
    blocks = [i // block for i in range(pairs)]
    powers = {"hw": [i % block for i in range(pairs)], "w_h_in_turn": [i // 2 for i in range(pairs)],
              "hw_dealt": [(i % block * 2 + i // block) / 2 for i in range(pairs)]}
    orders = {"hw": blocks, "wh": [1 - a for a in blocks], "thw": blocks,
              "w_h_in_turn": [1 - i % 2 for i in range(pairs)], "hw_dealt": blocks}
    style = next(s for s, order in orders.items() if order == axes and (s == "thw") == (count == 3)
                 and all(abs(f * base ** (p / block) - 1) < 1e-5
                         for f, p in zip(found, powers.get(s, powers["hw"]))))
    names = {"heads": [config.attribute_map["num_attention_heads"], "num_attention_heads"]} if (
        "num_attention_heads" in config.attribute_map) else {}
    if hasattr(config, "embed_dim"):
        names["width"] = "embed_dim"
    row = {"ignores": ["partial_rotary_factor"], "pairing": pairing, "axes": style, "names": names,
           "heads": config.num_attention_heads,
           "kv_heads": getattr(config, "num_key_value_heads", "heads"),
           "width": getattr(config, "embed_dim", config.hidden_size), "theta": float(base)}
    return {k: v for k, v in row.items() if v}


def entry(name):
    row, name = {"ignores": []}, known.SAME.get(name, name)
    if name in known.REFUSED:
        return {"refused": known.REFUSED[name]}
    if name in known.MANUAL:
        return dict(known.MANUAL[name])
    if name in known.PART:
        key, kind = known.PART[name]
        return {"part": key, "part_type": kind}
    config = config_of(name, known.NEEDED.get(name))
    if rope_of(config).get("rope_type") == "axial":
        return tower_entry(name, config)
    part = text_part(config)
    if part and not rope_of(config):
        return part_entry(name, *part)
    t = Type(name)
    kinds = facts(t.base)
    if not kinds:
        return {"refused": known.NOTHING}
    first = kinds[0]
    if first["pairing"] not in ("half_split", "interleaved"):
        return {"refused": f"pairs elements as '{first['pairing']}', which is not timed"}
    row["pairing"] = first["pairing"]
    if hasattr(t.base, "rope_interleave"):
        other = t.seen(rope_interleave=not t.base.rope_interleave)
        if other and other["pairing"] != first["pairing"]:
            row["pairing_key"] = "rope_interleave"
    if "axes" in first:
        row["axes"], row["sections"] = style_of(first["axes"], first["sections"]), first["sections"]
    names = {}
    for key, usual in USUAL.items():
        if t.file_key[key] != usual:
            names[key] = [t.file_key[key], usual] if t.map.get(usual) else t.file_key[key]
    names |= known.NAMES.get(name, {})
    if names:
        row["names"] = names
    shape_entries(t, first, row)
    rope_entries(t, first, row)
    row["positions"] = t.value("positions")
    row["original"] = plain(t.base).get("original_max_position_embeddings")
    row["disputed"] = [key for key, names in known.DISPUTED.items() if name in names]
    row["ignores"] += known.UNREAD.get(name, [])
    row |= known.MORE.get(name, {})
    return {k: v for k, v in row.items() if v not in ([], {}, None)}


def show(name, row, source=None):
    print(f"\n[{toml_key(name)}]")
    for key, value in (row | ({"source": source} if source else {})).items():
        print(f"{key} = {toml(value)}", flush=True)


def main():
    print(HEAD.format(modules.transformers.__version__), end="")
    rest = sorted(set(CONFIG_MAPPING) - set(known.types(CONFIG_MAPPING)))
    words = textwrap.fill(", ".join(f'"{name}"' for name in rest), 98, break_on_hyphens=False)
    print("\nrotates_nothing = [", words, "]", sep="\n")
    for name in sys.argv[1:] or known.types(CONFIG_MAPPING):
        try:
            show(name, entry(name), "models/" + CONFIG_MAPPING[name].__module__.split(".")[-2])
        except Exception as fault:  # noqa: BLE001
            print(f"{name}: {type(fault).__name__}: {fault}"[:200], file=sys.stderr)
    for name, row in known.ELSEWHERE.items():
        show(name, row)


if __name__ == "__main__":
    main()
