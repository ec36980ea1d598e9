"""`ropewalk diff` of two files of tensors (dump.py), or of two providers of angles (providers.py)."""

import json
import math

import numpy as np

from . import dump as dumps
from .angles import Subject, half_ulp
from .decorator import _require
from .identify import identify
from .identify.pairs import UNIT, Part, find_pairs, laid_out, positions_of
from .judge import Refused, chosen, load
from .providers import answer, offered

ROWS = (0, *(4**k for k in range(1, 10)))  # the first positions of the table's rows
END = 1 << 20
OUTPUTS = {"y": "x", "q_out": "q", "k_out": "k"}


class Comparison:
    """Of one tensor. a, b and `lengths`, of the pair of each element: [batch, tokens, ...];
    positions [batch, tokens]."""

    def __init__(self, name, dtype, a, b, positions, lengths=None):
        self.name, self.a, self.b, self.positions = name, a, b, positions
        same = (a == b) & (np.signbit(a) == np.signbit(b)) | np.isnan(a) & np.isnan(b)
        self.differs = ~same
        with np.errstate(invalid="ignore"):
            apart = np.where(same, 0.0, np.abs(a - b))
            size = np.maximum(np.abs(a), np.abs(b))
            unit = np.spacing(size) if dtype == "f64" else 2 * half_ulp(np.nan_to_num(size), dtype)
            self.ulps = np.nan_to_num(apart / unit, nan=np.inf)
            self.of_length = None if lengths is None else apart / np.maximum(lengths, 1e-300) / UNIT[dtype]

    def lines(self):
        equal, count = int((~self.differs).sum()), self.differs.size
        if equal == count:
            return [f"{self.name}: equal in every bit of {count:,} elements"]
        out = [f"{self.name}: {100 * equal / count:.6g} % of {count:,} elements are equal; "
               f"the largest distance is {self.ulps.max():.4g} ulp"
               + ("" if self.of_length is None else f", {np.nanmax(self.of_length):.3g} u |x|")]
        at = np.argwhere(self.differs)
        for what, place in (("first", at[np.argmin(self.positions[at[:, 0], at[:, 1]])]),
                            ("largest", np.unravel_index(np.argmax(self.ulps), self.ulps.shape))):
            axes = ("batch row", "token", "head", "element") if len(place) == 4 else ("row", "token", "pair")
            where = ", ".join(f"{axis} {k}" for axis, k in zip(axes, place))
            position, place = self.positions[tuple(place)[:2]], tuple(place)
            out.append(f"  {what:<12} position {position}, {where}: {self.a[place]:.9g} of the first, "
                       f"{self.b[place]:.9g} of the second")
        out.append(f"  {'positions':<20} {'equal':>12} {'largest ulp':>12}")
        for low, high in zip(ROWS, (*ROWS[1:], END + 1)):
            here = (self.positions >= low) & (self.positions < high)
            if here.any():
                share, ulps = 100 * (~self.differs[here]).mean(), self.ulps[here].max()
                out.append(f"  {f'{low:,} to {high - 1:,}':<20} {share:>10.6g} % {ulps:>12.4g}")
        return out


def of_dumps(a, b, config):
    """Comparisons of two dumps, and lines about which is nearer to the config's rotation."""
    found = identify_or_none(a)
    layout = found.layout if found else a.metadata.get("layout", "bshd")
    other = b.metadata.get("layout", layout)
    _require(other == layout, f"the first file's layout is {layout}, the second's {other}")
    names = [n for n in OUTPUTS if n in a.tensors and n in b.tensors]
    tables = [n for n in ("cos", "sin", "inv_freq") if n in a.tensors and n in b.tensors]
    _require(names or tables, f"they share no outputs: {', '.join(a.tensors)}; {', '.join(b.tensors)}")
    out, nearer = [], []
    for name in (*names, *tables):
        one, two = a.tensors[name], b.tensors[name]
        dtypes = a.dtypes[name], b.dtypes[name]
        _require(one.shape == two.shape and dtypes[0] == dtypes[1],
                 f"{name} is {dtypes[0]} {list(one.shape)}, and {dtypes[1]} {list(two.shape)}")
        if name in tables:
            one, two = (v.reshape(1, *(v.shape if v.ndim > 1 else (1, *v.shape))[-2:]) if v.size == np.prod(
                v.shape[-2:]) else v.reshape(1, -1, v.shape[-1]) for v in (one, two))
            out.append(Comparison(name, dtypes[0], one, two, np.arange(one.shape[1])[None]))
            continue
        given = OUTPUTS[name]
        if given in a.tensors and given in b.tensors:
            _require(np.array_equal(a.tensors[given], b.tensors[given], equal_nan=True),
                     f"{given} is not the same in both: outputs for other inputs")
        one, two = (laid_out(v, name, layout, a.metadata) for v in (one, two))
        x = laid_out(a.tensors[given], given, layout, a.metadata) if given in a.tensors else one
        part = Part(name, x, one, dtypes[0])
        positions = positions_of(a, part)
        if positions is None or positions.ndim == 3:
            positions = np.broadcast_to(np.arange(one.shape[1]), one.shape[:2])
        lengths = None
        if given in a.tensors and one.shape[2] > 2:
            find_pairs(part, [])
        if part.pairs:
            i, j = np.array(part.pairs).T
            lengths = np.abs(one)
            lengths[..., i] = lengths[..., j] = np.hypot(one[..., i], one[..., j])
        out.append(Comparison(name, dtypes[0], one, two, positions, lengths))
        if config and part.pairs:
            nearer.append(nearer_to(config, part, two, positions))
    return out, nearer


def identify_or_none(dump):
    try:
        return identify(dump)
    except Exception:  # it has outputs alone, say
        return None


def nearer_to(config, part, two, positions):
    model = answer(config)
    i, j = np.array(part.pairs).T
    angle = positions[..., None] * np.array(model["inv_freq"])
    _require(angle.shape[-1] == len(part.pairs), f"{len(part.pairs)} pairs turn, and not the config's")
    exact = (part.x[..., i] + 1j * part.x[..., j]) * (model["attention_scale"] * np.exp(1j * angle))[:, :, None]
    errors = [math.sqrt(np.nanmean(np.abs(y[..., i] + 1j * y[..., j] - exact) ** 2)) for y in (part.y, two)]
    which = "the first is" if errors[0] < errors[1] else "the second is" if errors[1] < errors[0] else "neither is"
    return (f"{part.name}: {which} nearer to the config's exact rotation (root mean square "
            f"{errors[0]:.3g} and {errors[1]:.3g})")


def of_providers(targets):
    """Comparisons of cos and sin; None: the targets name kernels."""
    subjects = []
    for target in targets:
        file, _, glob = target.partition("::")
        before = len(offered)
        module, _ = load(file)
        kernels, found = chosen(module, glob)
        found = [p for p in found if p in offered[before:]]  # not those of the same file, loaded before
        if kernels and (glob or not found):
            return None
        _require(len(found) == 1, f"{target} is {len(found)} providers; name one: "
                 + ", ".join(p.name for p in found)[:300])
        subjects.append(Subject(found[0]))
    _require(subjects[0].pairs == subjects[1].pairs, "they turn another number of pairs")
    ends = (*ROWS[1:], min(END, *(s.context for s in subjects)))
    positions = sorted({int(p) for low, high in zip(ROWS, ends) if low < high
                        for p in np.linspace(low, high - 1, 32)})
    out = []
    for dtype in ("f32", "bf16", "f16"):
        if all(dtype in s.provider.dtypes for s in subjects):
            one, two = (s.turn(s.fresh(), positions, dtype) for s in subjects)
            for name, part in (("cos", np.real), ("sin", np.imag)):
                out.append(Comparison(f"{name} {dtype}", dtype, part(one), part(two), np.array([positions])))
    return out


def main(a, b, config="", most="0", form=""):
    """Prints lines for the command."""
    try:
        nearer = []
        if a.endswith((".safetensors", ".npz", ".pt")):
            found, nearer = of_dumps(dumps.read(a), dumps.read(b), dumps.config_of(config))
        else:
            found = of_providers((a, b))
        if found is None:
            print("end\tkernels")
            return
        differs = any(c.ulps.max() > float(most) or (c.differs.any() and not float(most)) for c in found)
        text = [line for c in found for line in c.lines()] + nearer
        if form:
            text = [json.dumps({"name": c.name, "compared": c.differs.size, "equal": int((~c.differs).sum()),
                                "ulps": min(float(c.ulps.max()), 1e308)}) for c in found]
        print(*(f"line\t{line}" for line in text), f"end\t{int(differs)}", sep="\n")
    except (Exception, Refused) as error:  # of a file from anywhere
        print(f"error\t{' '.join(str(error).split())}")
