"""A catalogue of dumps, by code that shares nothing with identify. What is right is never refused; each line of a
report is read, and what it says is held to how the dump was made. `all`: 2,800 dumps; else a few of each kind."""
import collections
import math
import re
import sys

import numpy as np
from ropewalk import dump, identify

U = {"f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}


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


def llama3(theta, n):
    plain = powers(theta, n)
    keep = np.clip((8192 * plain / (2 * math.pi) - 1) / 3, 0, 1)
    return plain * keep + plain / 8 * (1 - keep)


def yarn(theta, n, fast=32, slow=1):
    at = [n * math.log(4096 / (t * 2 * math.pi)) / math.log(theta) for t in (fast, slow)]
    low, high = max(math.floor(at[0]), 0), min(math.ceil(at[1]), 2 * n - 1)
    ramp = np.clip((np.arange(n) - low) / (high - low or 1e-3), 0, 1)
    return powers(theta, n) * (1 - ramp) + powers(theta, n) / 40 * ramp


class Model:
    """A config, and what it comes to: the test's own formulas, by the words that identify has for them."""
    def __init__(self, name, theta=1e6, head=128, n=64, at=0, pairing="half_split", axes=None):
        self.name, self.head, self.n, self.at, self.pairing = name, head, n, at, pairing
        self.axes, self.scale, plain = np.zeros(n, int) if axes is None else axes, 1.0, powers(theta, n)
        self.config = {"hidden_size": 4096, "max_position_embeddings": 131072, "rope_theta": theta, "head_dim": head,
                       "num_attention_heads": 32, "num_key_value_heads": 8, "model_type": "qwen3"}
        self.freqs, rule = {"the config's": plain, "powers of theta 10000": powers(1e4, n)}, RULES.get(name)
        if rule:
            word, of, ends, turned = rule
            self.config.update(rope_scaling=dict(zip(("rope_type", "factor", "original_max_position_embeddings"), ends[0])) | ends[1])
            self.freqs |= {"the config's": of(theta, n), f"powers of theta {theta:.6g}, without the rule {word}": plain,
                           f"powers of theta 10000, with the rule {word}": of(1e4, n),
                           f"powers of theta 10000, without the rule {word}": powers(1e4, n),
                           "the config's with {} and {} exchanged".format(*turned[0]): turned[1](theta, n)}
        if name == "yarn":
            self.scale = 0.1 * math.log(40) + 1
        if name == "part":
            self.config = {**self.config, "model_type": "gpt_neox", "hidden_size": 32 * head, "rotary_pct": 0.25,
                           "rotary_emb_base": theta}
            self.freqs[f"powers of theta {theta:.6g} over a width of {head}"] = powers(theta, n, head // 2)
        if name == "axes":
            scaling = {"mrope_interleaved": True, "mrope_section": [24, 20, 20], "rope_type": "default"}
            inner = {**self.config, "model_type": "qwen3_vl_text", "rope_scaling": scaling}
            self.config = {"model_type": "qwen3_vl", "architectures": ["Qwen3VLForConditionalGeneration"], "text_config": inner}
        if name == "mla":  # Q of DeepSeek-V3: a factor of 1 by mscale
            self.config.update(model_type="deepseek_v3", qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128,
                               kv_lora_rank=512, q_lora_rank=1536)
            del self.config["head_dim"]
        own = self.freqs["the config's"]
        self.freqs |= {f"the config's, rounded to {t}": narrow(own, t) for t in ("bf16", "f16")}


def switched(theta, n):
    """What transformers makes of llama3 whose ends are exchanged."""
    return np.where(powers(theta, n) < 2 * math.pi / 2048, powers(theta, n) / 8, powers(theta, n))


YARN = ("yarn", yarn, (("yarn", 40.0, 4096), {}), (("beta_fast", "beta_slow"), lambda theta, n: yarn(theta, n, 1, 32)))
RULES = {"llama3": ("llama3", llama3, (("llama3", 8.0, 8192), {"low_freq_factor": 1.0, "high_freq_factor": 4.0}),
                    (("low_freq_factor", "high_freq_factor"), switched)),
         "yarn": YARN, "mla": (*YARN[:2], (YARN[2][0], {"mscale": 1.0, "mscale_all_dim": 1.0}), YARN[3])}
MODELS = [Model("plain"), Model("plain", 1e4, 64, 32), Model("llama3", 5e5), Model("yarn", 1e6),
          Model("part", 1e4, 128, 16), Model("axes", 5e6, axes=np.array([0, 1, 2] * 20 + [0] * 4)), Model("mla", 1e4, 192, 32, 128, "interleaved")]


class Made:
    """How a dump is made: a right one until a fault changes it."""
    def __init__(self, model, dtype, heads, planes, draw, config):
        self.model, self.dtype, self.heads, self.planes, self.draw, self.config = model, dtype, heads, planes, draw, config
        self.n, self.at, self.pairing, self.scale, self.sign = model.n, model.at, model.pairing, model.scale, 1
        self.freq, self.taken, self.axes = model.freqs["the config's"], np.array(planes, "f8"), model.axes
        self.written, self.norm, self.eager, self.still = "", "", bool(draw.integers(2)), None

    def angles(self, freq=None, planes=None, axes=None, sign=None):
        given = (self.freq, self.taken, self.axes, self.sign)
        freq, planes, axes, sign = (own if new is None else new for new, own in zip((freq, planes, axes, sign), given))
        return sign * np.moveaxis(np.asarray(planes, "f8")[axes], 0, -1) * freq

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
        cuts = np.sort(draw.choice(np.arange(4, tokens - 4), 2, replace=False))
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


def made(**words):
    return lambda m: m.__dict__.update(words)


def take(change):
    return lambda m: m.__dict__.update(taken=np.array(change(m.planes), "f8"))


def freq(pick):
    return lambda m: m.__dict__.update(freq=pick(m.model))


def like(word):
    return freq(lambda m: next(v for k, v in m.freqs.items() if word in k))


def index(p):
    return np.broadcast_to(np.arange(p.shape[2]), p.shape)


def run_at(p, share, by, count=10000):
    at = int(p.shape[2] * share)
    return p + by * ((index(p) >= at) & (index(p) < at + count))


# name -> (what must stand in the report, how the dump is made, of which models, of which positions)
OTHER = {"half_split": "interleaved", "interleaved": "half_split"}
RUNS, ANY, RUN, RAMPS = "run packed padded picture", "plain llama3 yarn part mla", "run", "llama3 yarn"
POSITIONS = {
    "one more": (r"shifted by \+1", take(lambda p: p + 1)),
    "a chunk late": (r"shifted by \+48", take(lambda p: p + 48)),
    "far": (r"shifted by \+300000", take(lambda p: p + 300000), "llama3 yarn", RUN),
    "one for all": (r"4321 for every token", take(lambda p: np.full_like(p, 4321)), ANY, RUN),
    "steps": (r"a step of 2|twice", take(lambda p: 100 + p.flat[0] + 2 * index(p)), ANY, RUN),
    "goes on": (r"the index of the token|batch row 0", take(index), None, "packed padded picture"),
    "clamped": (r"clamped at|for every token", take(lambda p: np.minimum(p, p.flat[0] + 20)), ANY, RUN),
    "bf16 positions": (r"rounded to bf16", take(lambda p: narrow(p + 0.0, "bf16")), ANY, "far"),
    "f16 positions": (r"rounded to f16", take(lambda p: narrow(p + 0.0, "f16")), ANY, "far"),
    "one token": (r"but for 1 more at token|index of", take(lambda p: run_at(p, 0.5, 1, 1)), ANY, RUN),
    "later tokens": (r"as given up to token \d+; 3 more from token", take(lambda p: run_at(p, 0.6, 3)), ANY, RUN),
    "row 0": (r"batch row 0 for all|the index of", take(lambda p: np.broadcast_to(p[:, :1], p.shape)), ANY, "padded"),
    "backwards": (r"backwards", made(sign=-1)),
}
FAULTS = POSITIONS | {
    "bf16 inv_freq": (r"inv_freq +the config's, rounded to bf16", like("to bf16")),
    "f16 inv_freq": (r"inv_freq +the config's, rounded to f16", like("to f16")),
    "base 10000": (r"powers of theta 10000", freq(lambda m: powers(1e4, m.n)), "llama3 axes"),
    "another base": (r"powers of theta 123000", freq(lambda m: powers(123000.0, m.n)), ANY, RUN),
    "no rule": (r"without the rule", like("without"), "llama3 yarn mla"),
    "exchanged": (r"exchanged", like("exchanged"), RAMPS),
    "width": (r"over a width of", freq(lambda m: powers(1e4, m.n, 64)), "part"),
    "other pairing": (r"pairing +\w+, where", lambda m: m.__dict__.update(pairing=OTHER[m.pairing])),
    "written": (r"written as half_split", made(pairing="interleaved", written="half_split")),
    "scaled": (r"scale +1\.25", made(scale=1.25)),
    "no factor": (r"scale +1, where the model has 1\.3[67]", made(scale=1.0), "yarn"),
    "half of it": (r"where the model has", lambda m: m.__dict__.update(
        n=m.n // 2, freq=powers(1e4, m.n // 2), axes=m.axes[: m.n // 2]), "plain", RUN),
    "norm after": (r"after the rotation", made(norm="after, weights"), ANY, RUN),
    "a head is not turned": (r"every head but 2", made(still=2), None, "run picture"),
    "one axis": (r"0\*64|index of the token", made(axes=np.zeros(64, int)), "axes"),
    "sections": (r"sections 0\*24,1\*20,2\*20", made(axes=np.repeat([0, 1, 2], [24, 20, 20])), "axes"),
    "axes exchanged": (r"\(0,2,1\)\*20", made(axes=np.array([0, 2, 1] * 20 + [0] * 4)), "axes"),
}
RIGHT = {"right": made(), "one head": made(), "norm before": made(norm="before"), "weights before": made(norm="before, weights")}


def freq_said(m, words):
    """The frequencies that words name, by the test's own formulas."""
    words = re.sub(r"; \d+ of \d+ pairs turn too little.*|; the config's begin.*", "", words)
    if words in m.model.freqs and len(m.model.freqs[words]) == m.n:
        return m.model.freqs[words]
    found = re.fullmatch(r"powers of theta ([\d.e+]+)(?:, each divided by ([\d.]+)|(, each twice: it is turned twice))?", words)
    return powers(float(found[1]), m.n) / float(found[2] or 1) * (2 if found[3] else 1) if found else None


def axes_said(text):
    out = []
    for group, one, count in re.findall(r"(?:\(([\d,]+)\)|(\d))\*(\d+)", text.split(", where")[0]):
        out += [int(a) for a in (group or one).split(",")] * int(count)
    return np.array(out)


def planes_said(m, words):
    """The positions that words name; None: they cannot be read."""
    words, p = words.removeprefix("each axis "), np.array(m.planes, "f8")
    run, off, read = index(p), np.zeros(p.shape), False
    rules = {"as given$": lambda f: p, r"shifted by ([+-]\d+)$": lambda f: p + int(f[1]), "the index of the token": lambda f: run,
             r"(-?\d+) for every": lambda f: 0 * p + int(f[1]), r"modulo (\d+)$": lambda f: p % int(f[1]),
             r"a step of (-?\d+) from (-?\d+):": lambda f: int(f[2]) + int(f[1]) * run,
             r"clamped at (-?\d+)$": lambda f: np.minimum(p, int(f[1])), r"rounded to (\w+)": lambda f: narrow(p, f[1]),
             "those of batch row 0": lambda f: np.broadcast_to(p[:, :1], p.shape)}
    for rule, what in rules.items():
        if found := re.match(rule, words):
            return what(found)
    one = r"(as given|shifted by [+-]\d+|\d+ more|\d+ less)"
    by = lambda text: 0 if "as" in text else int(re.search(r"-?\d+", text)[0]) * (-1 if "less" in text else 1)
    for row, part in re.findall(r"batch row (\d+): (.*?)(?=; batch row|$)", words) or [(None, words)]:
        rows = slice(None) if row is None else slice(int(row), int(row) + 1)
        if found := re.match(one, part):
            off[:, rows], read = by(found[1]), True
        for text, place, a, b in re.findall(one + r" (from|at) tokens? (\d+)(?: to (\d+))?", part):
            off[:, rows, int(a) : None if place == "from" else int(b or a) + 1] = by(text)
    return p + off if read else None


def untrue(m, report):
    """What a report says that is not so."""
    text, said = "\n".join(report.lines), []
    lines = dict(re.findall(r"^(\w+) +(.*)$", text, re.M))
    written = f", written as {m.written}" if m.written else ""
    norm = {"": "no", "before": "over each head, without", "before, weights": "before the", "after, weights": "after the"}[m.norm]
    for what, wanted in (("rotated", f"nothing|{2 * m.n} elements from {m.at}(;|,|$)"), ("pairing", rf"unknown|{m.pairing}{written}(, where.*)?$"),
                         ("norm", norm), ("fit", "no" if m.still is None else "every head but")):
        if what in lines and not re.match(wanted, lines[what]):
            said.append(f"{what} {lines[what]}")
    if "scale" in lines and abs(float(lines["scale"].split(",")[0]) / m.scale - 1) > 2.0**-7:
        said.append("scale " + lines["scale"])
    sign, where, truth = -1 if "direction" in lines else 1, lines.get("positions", "unknown"), m.angles()
    axes = axes_said(lines["axes"]) if "axes" in lines else m.axes
    if len(axes) != m.n:
        return said + ["axes " + lines["axes"]]
    if found := re.search(r"first batch row (\d+), token (\d+) .*turned as position (-?\d+)", where):
        same = m.taken[0, int(found[1]), int(found[2])] == int(found[3]) * m.sign * sign
        return said + [where] * (not same)
    if re.search(r"unknown|\d+ tokens; first|in place of", where):
        return said
    ties = "; ".join(re.findall(r"(?:tell it from: |no difference: )(.*)", text))
    for each in [lines["inv_freq"], *filter(None, ties.split("; "))]:
        words, _, others = each.partition(", positions ")
        freq, planes = freq_said(m, words), planes_said(m, others or where)
        if planes is None or freq is None:
            said += [f"cannot be read: {each} | {where}"] * ("no single" not in each and each is lines["inv_freq"])
            continue
        angle = m.angles(freq, planes, axes, sign)
        off = np.abs(np.exp(1j * angle) - np.exp(1j * truth))
        if (off > 2 * m.bound(np.maximum(np.abs(angle), np.abs(truth)))).any():
            said.append(f"{each} at positions {where}: off by {off.max():.3g}")
    return said


def cases(count, which, most):
    """`count` dumps, as yet right, that these faults can be planted in."""
    rules = [(*FAULTS[n], None, None)[2:4] for n in which if n in FAULTS]
    models = [m for m in MODELS if all(m.name in (names or m.name).split() for names, _ in rules)]
    kinds = {"run", "packed", "padded", "picture", "decode", "far"}.intersection(*(
        (places or RUNS + " decode").split() for _, places in rules or [(None, None)]))
    for k in range(count if models else 0):
        draw = np.random.default_rng([k, *"+".join(which).encode()])
        model = models[int(draw.integers(len(models)))]
        own = sorted(c for c in kinds if (c == "picture") == (model.name == "axes"))
        if not own:
            continue
        kind, tokens = str(draw.choice(own)), int(draw.choice([24, 64, 128] if most < 128 else [16, 24, 64, 128]))
        heads = int(draw.choice([3, 4, 8, 64] if re.search("head|norm|weights", str(which)) else [1, 2, 3, 8, 64]))
        planes = positions(draw, 88 if kind == "picture" else min(tokens, 4 * most), kind)
        config = len(which) > 1 or model.name not in ("plain", "part") or draw.integers(3) or which[0] not in POSITIONS
        yield Made(model, ("f32", "bf16", "f16")[k % 3], 1 if "one head" in which else min(heads, most // 2), planes, draw, config)


def other_than_turns(m):
    """Whether a dump is wrong in more than its turns."""
    same = m.n == m.model.n and m.pairing == m.model.pairing and m.scale == m.model.scale
    return not same or m.written or m.norm or m.still is not None


def distance(m):
    """By how much the turns differ from those of a right dump, in units of the bound."""
    right = m.angles(m.model.freqs["the config's"], m.planes, m.model.axes, 1)
    off = np.abs(np.exp(1j * right) - np.exp(1j * m.angles()))
    return float((off / m.bound(np.abs(right))).max())


def main(whole):
    table, bad, most = collections.defaultdict(list), [], 128 if whole else 16
    twos = [(a, b) for a in POSITIONS for b in ("bf16 inv_freq", "no rule", "other pairing", "scaled", "written")]
    work = [((n,), 400 if whole else 40) for n in RIGHT] + [((n,), 30 if whole else 3) for n in FAULTS]
    work += [(two, 4 if whole else 1) for two in twos[:: 1 if whole else 9]]
    for which, m in ((names, m) for names, count in work for m in cases(count, names, most)):
        right, wrong = which[0] in RIGHT, ()
        for name in which:
            (RIGHT | {n: f[1] for n, f in FAULTS.items()})[name](m)
        if not right and not (other_than_turns(m) or distance(m) > 0):
            continue
        report = identify.identify(m.write(), m.model.config if m.config else None)
        text = "\n".join(report.lines)
        lies = untrue(m, report)
        told = not right and report.explained and not other_than_turns(m) and distance(m) <= 1 and (
            "cannot tell" in text or "too little" in text)
        wrong = {"untrue": lies, "right, refused": right and not report.explained,
                 "wrong, accepted": not right and report.explained and not told}
        for what, is_so in wrong.items():
            if what == "untrue" or what.startswith("right") == right:
                table[what].append(bool(is_so))
            bad += [f"{what}: {which} {m.model.name} {m.dtype} {m.heads} heads {m.planes.shape} {m.config}: {lies}\n{text}"] * bool(is_so)
        if not right:
            named = all(re.search(FAULTS[n][0], text) for n in which)
            table[f"{len(which)} errors, {m.dtype}, named wholly"].append(named)
            table["wrong, these tokens cannot tell"].append(told)
    for name, hits in sorted(table.items()):
        print(f"| {name} | {sum(hits)} of {len(hits)} |")
    print("\n".join(bad[:20]))
    least = {"1 errors, f32, named wholly": 0.9, "1 errors, bf16, named wholly": 0.8, "1 errors, f16, named wholly": 0.8}
    held = all(np.mean(table[name]) >= share for name, share in least.items())
    sys.exit(int(bool(bad) or not held or np.mean(table["wrong, these tokens cannot tell"]) > 0.05))


if __name__ == "__main__":
    main("all" in sys.argv)
