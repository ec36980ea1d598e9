"""A catalogue of dumps, by code that shares nothing with identify. What is right is never refused; each line of a
report is read, and what it says is held to how the dump was made. `all`: 1,000 dumps; else a few of each kind."""
import collections
import math
import os
import re
import sys

import numpy as np
from ropewalk import dump, identify

U = {"f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}
BASIS = {"hidden_size": 4096, "max_position_embeddings": 131072}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 8192}


def narrow(x, dtype):
    f = np.asarray(x, "f4")
    if dtype == "f16":
        return f.astype("f2").astype("f8")
    if dtype == "bf16":
        bits = f.view("u4").astype("u8")
        f = ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype("u4").view("f4")
    return f.astype("f8")


def powers(theta, n, of=None):
    return theta ** (-np.arange(n, dtype="f8") / (of or n))


def llama3(theta, n, low=1.0, high=4.0):
    plain = powers(theta, n)
    keep = np.clip((8192 * plain / (2 * math.pi) - low) / (high - low), 0, 1)
    return plain * keep + plain / 8 * (1 - keep)


def yarn(theta, n, fast=32, slow=1):
    at = [n * math.log(4096 / (t * 2 * math.pi)) / math.log(theta) for t in (fast, slow)]
    low, high = max(math.floor(at[0]), 0), min(math.ceil(at[1]), 2 * n - 1)
    ramp = np.clip((np.arange(n) - low) / (high - low or 1e-3), 0, 1)
    return powers(theta, n) * (1 - ramp) + powers(theta, n) / 40 * ramp


class Model:
    """A config, and what it comes to: the test's own formulas, by the words that identify has for them."""

    def __init__(self, name, theta=1e6, head=128, n=64, at=0, pairing="half_split", scale=1.0, axes=None):
        self.name, self.head, self.n, self.at, self.pairing, self.scale = name, head, n, at, pairing, scale
        self.axes = np.zeros(n, int) if axes is None else axes
        plain, half = powers(theta, n), {"rope_theta": theta, "num_attention_heads": 32, "num_key_value_heads": 8}
        self.freqs, self.config = {"the config's": plain}, {**BASIS, **half, "model_type": "qwen3", "head_dim": head}
        if name == "llama3":
            self.config.update(model_type="llama", rope_scaling=LLAMA3)
            self.freqs = {"the config's": llama3(theta, n), f"powers of theta {theta:.6g}, without the rule llama3": plain,
                          "the config's with low_freq_factor and high_freq_factor exchanged": np.where(plain < 2 * math.pi / 2048, plain / 8, plain),
                          "powers of theta 10000, with the rule llama3": llama3(1e4, n),
                          "powers of theta 10000, without the rule llama3": powers(1e4, n)}
        if name == "yarn":
            self.scale = 0.1 * math.log(40) + 1
            self.config.update(rope_scaling={"rope_type": "yarn", "factor": 40.0, "original_max_position_embeddings": 4096})
            self.freqs = {"the config's": yarn(theta, n), f"powers of theta {theta:.6g}, without the rule yarn": plain,
                          "powers of theta 10000, with the rule yarn": yarn(1e4, n), "powers of theta 10000, without the rule yarn": powers(1e4, n),
                          "the config's with beta_fast and beta_slow exchanged": yarn(theta, n, 1, 32)}
        if name == "part":
            self.config = {**BASIS, **half, "model_type": "gpt_neox", "hidden_size": 32 * head, "rotary_pct": 0.25,
                           "rotary_emb_base": theta}
            self.freqs[f"powers of theta {theta:.6g} over a width of {head}"] = powers(theta, n, head // 2)
        if name == "axes":
            self.config = {"model_type": "qwen3_vl", "architectures": ["Qwen3VLForConditionalGeneration"], "text_config": {
                **BASIS, **half, "model_type": "qwen3_vl_text", "head_dim": head,
                "rope_scaling": {"mrope_interleaved": True, "mrope_section": [24, 20, 20], "rope_type": "default"}}}
        if name == "mla":  # Q of DeepSeek-V3: a factor of 1 by mscale
            self.scale, parts = 1.0, {"qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128}
            self.config = {**BASIS, **half, **parts, "model_type": "deepseek_v3", "kv_lora_rank": 512, "q_lora_rank": 1536, "rope_scaling":
                           {"rope_type": "yarn", "factor": 40.0, "original_max_position_embeddings": 4096, "mscale": 1.0, "mscale_all_dim": 1.0}}
            self.freqs = {"the config's": yarn(theta, n), f"powers of theta {theta:.6g}, without the rule yarn": plain}
        self.freqs.setdefault("powers of theta 10000", powers(1e4, n))
        own = self.freqs["the config's"]
        self.freqs |= {f"the config's, rounded to {t}": narrow(own, t) for t in ("bf16", "f16")}


MIXED = np.array([0, 1, 2] * 20 + [0] * 4)
MODELS = [Model("plain"), Model("plain", 1e4, 64, 32), Model("llama3", 5e5), Model("yarn", 1e6),
          Model("part", 1e4, 128, 16), Model("axes", 5e6, axes=MIXED), Model("mla", 1e4, 192, 32, 128, "interleaved")]


class Made:
    """How a dump is made: a right one until a fault changes it."""

    def __init__(self, model, dtype, heads, planes, draw, config):
        self.model, self.dtype, self.heads, self.planes, self.draw, self.config = model, dtype, heads, planes, draw, config
        self.n, self.at, self.pairing, self.scale, self.sign = model.n, model.at, model.pairing, model.scale, 1
        self.freq, self.taken, self.axes = model.freqs["the config's"], np.array(planes, "f8"), model.axes
        self.written, self.norm, self.eager, self.still = "", "", bool(draw.integers(2)), None

    def angles(self, freq=None, planes=None, axes=None, sign=None):
        freq, planes = self.freq if freq is None else freq, self.taken if planes is None else planes
        axes = self.axes if axes is None else axes
        return (self.sign if sign is None else sign) * np.moveaxis(np.asarray(planes, "f8")[axes], 0, -1) * freq

    def write(self):
        b, t = self.planes.shape[1:]
        x = self.draw.standard_normal((b, t, self.heads, self.model.head))
        x += 0.5 * self.draw.standard_normal((b, t, 1, self.model.head))
        x[..., [5, self.model.head // 3]] *= 8
        x = narrow(x, self.dtype)
        y, cut = x, lambda v: narrow(v, self.dtype)
        weights = self.draw.uniform(0.5, 2, self.model.head) if "weights" in self.norm else 1.0
        over = np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6)
        if "before" in self.norm:
            y = cut(cut(x / over) * weights)
        single = (np.asarray(self.taken, "f4")[self.axes] * self.freq.astype("f4")[:, None, None]).astype("f8")
        angle = self.sign * np.moveaxis(single, 0, -1)[:, :, None]
        mid = cut if self.eager else (lambda v: v)
        c, s = mid(np.cos(angle) * self.scale), mid(np.sin(angle) * self.scale)
        i = self.at + np.arange(self.n) * (1 if self.pairing == "half_split" else 2)
        j = i + (self.n if self.pairing == "half_split" else 1)
        a, e, out = y[..., i], y[..., j], y.copy()
        out[..., i], out[..., j] = cut(mid(a * c) - mid(e * s)), cut(mid(e * c) + mid(a * s))
        if "after" in self.norm:
            out = cut(cut(out / over) * weights)
        if self.written:
            window = out[..., self.at : self.at + 2 * self.n]
            halves = np.concatenate((window[..., ::2], window[..., 1::2]), -1)
            out[..., self.at : self.at + 2 * self.n] = halves
        if self.still is not None:
            out[:, :, self.still] = x[:, :, self.still]
        tensors = {"x": x, "y": out, "position_ids": self.planes if len(self.planes) > 1 else self.planes[0]}
        return dump.Dump(tensors, {"x": self.dtype, "y": self.dtype}, {"layout": "bshd", "pairing": self.model.pairing})

    def bound(self, angle):
        """Of a turn: of products and tables that are rounded, and of f32 angles and frequencies."""
        return (5 * math.sqrt(2) + 1) * U[self.dtype] + np.abs(angle) * 30 * 2.0**-24


def positions(draw, tokens, kind):
    start = int(draw.choice([3000, 9000] if kind == "far" else [0, 0, 100, 1000, 5000, 70000, 1 << 20]))
    run = np.arange(tokens)
    if kind == "packed":
        cuts = np.sort(draw.choice(np.arange(8, tokens - 8), 2, replace=False))
        return np.concatenate([run[: cuts[0]], run[: cuts[1] - cuts[0]], run[: tokens - cuts[1]]])[None, None]
    if kind == "padded":
        return np.stack([run, np.maximum(run - tokens // 3, 0)])[None]
    if kind == "decode":
        return draw.integers(0, 4000, (1, 16, 1))
    if kind == "picture":
        text, (r, c) = np.arange(12), np.divmod(np.arange(tokens - 24), 8)
        after = 12 + max(r.max(), c.max()) + 1 + text
        return np.stack([np.concatenate((text, 12 + m, after)) for m in (0 * r, r, c)])[:, None]
    return (start + run)[None, None]


def shifted(by):
    def change(m):
        m.taken = m.planes + by
    return change


def set_to(**words):
    return lambda m: m.__dict__.update(words)


def take(change):
    def do(m):
        m.taken = np.array(change(m.planes), "f8")
    return do


def from_token(share, by, count=None):
    def change(p):
        p, at = p.copy(), int(p.shape[2] * share)
        p[:, :, at : None if count is None else at + count] += by
        return p
    return take(change)


def frequencies(pick):
    return lambda m: m.__dict__.update(freq=pick(m.model))


def axes_to(axes):
    return lambda m: m.__dict__.update(axes=axes)


def index(p):
    return np.broadcast_to(np.arange(p.shape[2]), p.shape)


# name -> (what must stand in the report, how the dump is made, of which models and positions)
OTHER = {"half_split": "interleaved", "interleaved": "half_split"}
RUNS, PLAIN = ("run", "packed", "padded", "picture"), lambda m: m.name != "axes"
FAULTS = {
    "one more": (r"shifted by \+1", shifted(1), None, None),
    "a chunk late": (r"shifted by \+48", shifted(48), None, None),
    "far": (r"shifted by \+300000", shifted(300000), lambda m: m.n == 64 and PLAIN(m), ("run",)),
    "one for all": (r"4321 for every token", take(lambda p: np.full_like(p, 4321)), PLAIN, ("run",)),
    "steps": (r"a step of 2|twice", take(lambda p: 100 + p.flat[0] + 2 * index(p)), PLAIN, ("run",)),
    "goes on": (r"the index of the token|batch row 0", take(index), None, ("packed", "padded", "picture")),
    "clamped": (r"clamped at|for every token", take(lambda p: np.minimum(p, p.flat[0] + 20)), PLAIN, ("run",)),
    "bf16 positions": (r"rounded to bf16", take(lambda p: narrow(p + 0.0, "bf16")), PLAIN, ("far",)),
    "f16 positions": (r"rounded to f16", take(lambda p: narrow(p + 0.0, "f16")), PLAIN, ("far",)),
    "one token": (r"but for 1 more at token|token index|index of", from_token(0.5, 1, 1), PLAIN, ("run",)),
    "later tokens": (r"as given up to token \d+; 3 more from token", from_token(0.6, 3), PLAIN, ("run",)),
    "row 0": (r"batch row 0 for all|the index of the token", take(lambda p: np.broadcast_to(p[:, :1], p.shape)), PLAIN, ("padded",)),
    "backwards": (r"backwards", set_to(sign=-1), None, None),
    "bf16 inv_freq": (r"inv_freq +the config's, rounded to bf16", frequencies(lambda m: m.freqs["the config's, rounded to bf16"]), None, None),
    "f16 inv_freq": (r"inv_freq +the config's, rounded to f16", frequencies(lambda m: m.freqs["the config's, rounded to f16"]), None, None),
    "base 10000": (r"powers of theta 10000", frequencies(lambda m: powers(1e4, m.n)), lambda m: m.name in ("llama3", "axes"), None),
    "another base": (r"powers of theta 123000", frequencies(lambda m: powers(123000.0, m.n)), PLAIN, ("run",)),
    "no rule": (r"without the rule", frequencies(lambda m: [v for k, v in m.freqs.items() if "without" in k][0]),
                lambda m: m.name in ("llama3", "yarn", "mla"), None),
    "exchanged": (r"exchanged", frequencies(lambda m: [v for k, v in m.freqs.items() if "exchanged" in k][0]), lambda m: m.name in ("llama3", "yarn"), None),
    "width": (r"over a width of", frequencies(lambda m: powers(1e4, m.n, 64)), lambda m: m.name == "part", None),
    "other pairing": (r"pairing +\w+, where", lambda m: m.__dict__.update(pairing=OTHER[m.pairing]), None, None),
    "written": (r"written as half_split", set_to(pairing="interleaved", written="half_split"), None, None),
    "scaled": (r"scale +1\.25", set_to(scale=1.25), None, None),
    "no factor": (r"scale +1, where the model has 1\.3[67]", set_to(scale=1.0), lambda m: m.name == "yarn", None),
    "half of it": (r"where the model has", lambda m: m.__dict__.update(n=m.n // 2, freq=powers(1e4, m.n // 2), axes=m.axes[: m.n // 2] * 0),
                   lambda m: m.name == "plain", ("run",)),
    "norm after": (r"after the rotation", set_to(norm="after, weights"), PLAIN, ("run",)),
    "a head is not turned": (r"every head but 2", set_to(still=2), None, ("run", "picture")),
    "one axis": (r"0\*64|index of the token", axes_to(np.zeros(64, int)), lambda m: m.name == "axes", ("picture",)),
    "sections": (r"sections 0\*24,1\*20,2\*20", axes_to(np.repeat([0, 1, 2], [24, 20, 20])), lambda m: m.name == "axes", ("picture",)),
    "axes exchanged": (r"\(0,2,1\)\*20", axes_to(np.array([0, 2, 1] * 20 + [0] * 4)), lambda m: m.name == "axes", ("picture",)),
}
RIGHT = {"right": lambda m: None, "one head": lambda m: None, "norm before": set_to(norm="before"), "weights before": set_to(norm="before, weights")}
POSITIONS = {"one more", "a chunk late", "far", "one for all", "steps", "goes on", "clamped", "bf16 positions", "f16 positions",
             "one token", "later tokens", "row 0", "backwards"}


def line_of(text, what):
    found = re.search(rf"^{what} +(.*)$", text, re.M)
    return found[1] if found else None


def freq_said(made, words):
    """The frequencies that words name, by the test's own formulas."""
    known = {**made.model.freqs, "the file's": made.freq}
    words = re.sub(r"; \d+ of \d+ pairs turn too little.*|; the config's begin.*|, each within [^;,]*", "", words)
    if words in known and len(known[words]) == made.n:
        return known[words]
    if found := re.fullmatch(r"powers of theta ([\d.e+]+)(?:, each divided by ([\d.]+)|(, each twice: it is turned twice))?", words):
        return powers(float(found[1]), made.n) / float(found[2] or 1) * (2 if found[3] else 1)
    return None


def axes_said(text):
    out = []
    for group, one, count in re.findall(r"(?:\(([\d,]+)\)|(\d))\*(\d+)", text.split(", where")[0]):
        out += [int(a) for a in (group or one).split(",")] * int(count)
    return np.array(out)


def planes_said(made, words):
    """The positions that words name."""
    words, p = words.removeprefix("each axis "), np.array(made.planes, "f8")
    run = np.broadcast_to(np.arange(p.shape[2]), p.shape)
    rules = (("as given$", lambda f: p), (r"shifted by ([+-]\d+)$", lambda f: p + int(f[1])), (r"(-?\d+) for every", lambda f: 0 * p + int(f[1])),
             (r"a step of (-?\d+) from (-?\d+):", lambda f: int(f[2]) + int(f[1]) * run), (r"clamped at (-?\d+)$", lambda f: np.minimum(p, int(f[1]))),
             (r"modulo (\d+)$", lambda f: p % int(f[1])), ("those of batch row 0", lambda f: np.broadcast_to(p[:, :1], p.shape)),
             ("the index of the token", lambda f: run), (r"rounded to (\w+)", lambda f: narrow(p, f[1])),
             ("the number of the token", lambda f: np.arange(p[0].size).reshape(p.shape)))
    for rule, what in rules:
        if found := re.match(rule, words):
            return what(found)
    made_of, off = [], np.zeros(p.shape)
    for row, part in re.findall(r"batch row (\d+): (.*?)(?=; batch row|$)", words) or [(None, words)]:
        rows = slice(None) if row is None else slice(int(row), int(row) + 1)
        whole = re.match(r"(as given|shifted by ([+-]\d+)|(\d+) (more|less))", part)
        if whole:
            off[:, rows] = int(whole[2] or 0) if not whole[3] else int(whole[3]) * (1 if whole[4] == "more" else -1)
        for given, count, sign, at, a, b in re.findall(r"(?:(as given)|(\d+) (more|less)) (from token|at token|at tokens) (\d+)(?: to (\d+))?", part):
            by = 0 if given else int(count) * (1 if sign == "more" else -1)
            off[:, rows, int(a) : None if at == "from token" else int(b or a) + 1] = by
            made_of.append(part)
    return p + off if made_of or whole else None


def untrue(made, report):
    """What a report says that is not so."""
    text, said = "\n".join(report.lines), []
    lines = {w: line_of(text, w) for w in ("rotated", "pairing", "scale", "direction", "inv_freq", "positions", "axes", "norm", "fit")}
    window = f"{2 * made.n} elements from {made.at}"
    if lines["rotated"] and "nothing" not in lines["rotated"] and not lines["rotated"].startswith(window):
        said.append("rotated " + lines["rotated"])
    own = made.pairing + (f", written as {made.written}" if made.written else "")
    if lines["pairing"] and not re.match(rf"{own}(, where.*)?$", lines["pairing"]) and "unknown" not in lines["pairing"]:
        said.append("pairing " + lines["pairing"])
    if lines["scale"] and not made.norm and abs(float(lines["scale"].split(",")[0]) / made.scale - 1) > 2.0**-7:
        said.append("scale " + lines["scale"])
    if lines["norm"] and ((lines["norm"][:5] not in (made.norm[:5], "over ")) or not made.norm):
        said.append("norm " + lines["norm"])
    if lines["fit"] and made.still is None:
        said.append("fit " + lines["fit"])
    if not lines["inv_freq"] or not lines["positions"]:
        return said
    freq, sign = freq_said(made, lines["inv_freq"]), -1 if lines["direction"] else 1
    axes = axes_said(lines["axes"]) if lines["axes"] else None
    if lines["axes"] and len(axes) != made.n:
        return said + ["axes " + lines["axes"]]
    if found := re.match(r"(.*), but for (\d+) of \d+ tokens; first batch row (\d+), token (\d+) .*turned as position (-?\d+)", lines["positions"]):
        if made.taken[0, int(found[3]), int(found[4])] != int(found[5]) * made.sign * sign:
            said.append("positions " + lines["positions"])
        return said
    if re.search(r"unknown|\d+ tokens; first|in place of", lines["positions"]):
        return said
    planes = planes_said(made, lines["positions"])
    if planes is None or (freq is None and "no single base" not in lines["inv_freq"]):
        return said + [f"cannot be read: {lines['inv_freq']} | {lines['positions']}"]
    truth = made.angles()
    for words in [lines["inv_freq"]] + re.findall(r"(?:tell it from: |no difference: )(.*)", text):
        for each in words.split("; ") if words != lines["inv_freq"] else [words]:
            freq = freq_said(made, each)
            if freq is None:
                continue
            angle = made.angles(freq, planes, axes, sign)
            off = np.abs(np.exp(1j * angle) - np.exp(1j * truth))
            if (off > 2 * made.bound(np.maximum(np.abs(angle), np.abs(truth)))).any():
                said.append(f"{each} at positions {lines['positions']}: off by {off.max():.3g}")
    return said


def cases(count, which, most):
    """`count` dumps, as yet right, that these faults can be planted in."""
    for k in range(count):
        draw = np.random.default_rng([k, *"+".join(which).encode()])
        rules = [FAULTS[n][2:] for n in which if n in FAULTS]
        models = [m for m in MODELS if all(allowed is None or allowed(m) for allowed, _ in rules)]
        model = models[int(draw.integers(len(models)))] if models else None
        kinds = set.intersection({*RUNS, "decode", "far"}, *(set(kinds) for _, kinds in rules if kinds))
        kinds = sorted(c for c in kinds if model and (c == "picture") == (model.name == "axes") and (c != "far" or rules))
        if not kinds:
            continue
        kind, dtype, of_heads = str(draw.choice(kinds)), ("f32", "bf16", "f16")[k % 3], re.search("head|norm|weights", str(which))
        tokens, heads = min(int(draw.choice([24, 64, 128])), 4 * most), int(draw.choice([3, 4, 8, 64] if of_heads else [1, 2, 3, 8, 64]))
        heads = 1 if "one head" in which else heads
        planes = positions(draw, 88 if kind == "picture" else tokens, kind)
        yield Made(model, dtype, min(heads, most // 2), planes, draw, len(which) > 1 or model.name not in ("plain", "part") or
                   bool(draw.integers(3)) or not {*which} & POSITIONS)


def main(whole):
    table, bad = collections.defaultdict(list), []
    twos = [(a, b) for a in sorted(POSITIONS) for b in ("bf16 inv_freq", "no rule", "other pairing", "scaled", "written")]
    work = [((n,), 400 if whole else 40) for n in RIGHT] + [((n,), 30 if whole else 3) for n in FAULTS]
    work += [(two, 4 if whole else 1) for two in (twos if whole else twos[::9])]
    count = 0
    for which, number in work:
        title = " + ".join(which)
        for made in cases(number, which, 128 if whole else 16):
            for name in which:
                (RIGHT[name] if name in RIGHT else FAULTS[name][1])(made)
            if not planned(made, which):
                continue
            count += 1
            report = identify.identify(made.write(), made.model.config if made.config else None)
            text = "\n".join(report.lines)
            place = f"{title}: {made.model.name} {made.dtype} {made.heads} heads, {made.planes.shape}, from {made.planes.flat[0]}"
            place += ", config" if made.config else ""
            lies = untrue(made, report)
            bad += [f"untrue of {place}: {lie}" for lie in lies]
            table["untrue"].append(bool(lies))
            if which[0] in RIGHT:
                table["right, refused"].append(not report.explained)
                bad += [] if report.explained else [f"refused {place}\n{text}"]
                continue
            named = [bool(re.search(FAULTS[n][0], text)) for n in which]
            key = f"{'one error' if len(which) == 1 else 'two errors'} {made.dtype}"
            table[f"{key}, named wholly"].append(all(named))
            if not all(named) and os.environ.get("SHOW"):
                bad.append(f"not named {place}\n{text}")
            if report.explained:
                table["wrong, accepted"].append(not excused(made, text))
                table["wrong, these tokens cannot tell"].append(excused(made, text))
                bad += [] if excused(made, text) else [f"accepted {place}\n{text}"]
            else:
                table["wrong, accepted"].append(False)
                table["wrong, these tokens cannot tell"].append(False)
    for name, hits in sorted(table.items()):
        print(f"| {name} | {sum(hits)} of {len(hits)} |")
    print(f"{count} dumps")
    print("\n".join(bad[:40]))
    share = lambda name: np.mean(table[name] or [1])
    held = not bad and share("wrong, these tokens cannot tell") <= 0.05
    for dtype, least in (("f32", 0.9), ("bf16", 0.8), ("f16", 0.8)):
        held = held and share(f"one error {dtype}, named wholly") >= least
    sys.exit(0 if held else 1)


def planned(made, which):
    """Whether the dump differs from a right one at all, as it should."""
    if which[0] in RIGHT:
        return True
    own, same = made.model, made.model.n == made.n
    if not made.config and not set(which) & POSITIONS:
        return False
    if not same or made.pairing != own.pairing or made.written or made.norm or made.still is not None:
        return True
    return made.scale != own.scale or distance(made) > 0


def distance(made):
    """By how much the turns differ from those of a right dump, in units of the bound."""
    right = made.angles(made.model.freqs["the config's"], made.planes, made.model.axes, 1)
    off = np.abs(np.exp(1j * right) - np.exp(1j * made.angles()))
    return float((off / made.bound(np.abs(right))).max())


def excused(made, text):
    """A wrong dump that a right one is equal to within the bound, of which the report says so."""
    if made.n != made.model.n or made.pairing != made.model.pairing or made.written or made.norm or made.still is not None:
        return False
    return made.scale == made.model.scale and distance(made) <= 1 and ("cannot tell" in text or "too little" in text)


if __name__ == "__main__":
    main(sys.argv[1:] == ["all"])
