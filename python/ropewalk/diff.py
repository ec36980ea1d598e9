"""`ropewalk diff` of two files of tensors (dump.py), or of two providers of angles (providers.py)."""

import math

import numpy as np

from . import dump as dumps
from .angles import Subject, half_ulp
from .channel import in_one_line, say, say_rows, table
from .decorator import PAIRINGS, KernelError, _require
from .identify import identify, model_of, planes_of
from .identify.fits import axis_maps
from .identify.pairs import UNIT, Part, elements_of, find_form, laid_out, undone
from .judge import chosen, load
from .providers import offered

ROWS = (0, *(4**k for k in range(1, 10)))  # the first positions of the table's rows
END = 1 << 20
VALUES = 1 << 15  # of a dump, that a kernel is given
OUTPUTS = {y: x for x, y in dumps.PAIRS.items()}


class Comparison:
    """Of one tensor. a, b and `lengths`, of the pair of each element: [batch, tokens, ...];
    planes [axes, batch, tokens]: positions, in whose table a token has the largest of its axes."""

    def __init__(self, name, dtype, a, b, planes, lengths=None):
        self.name, self.a, self.b, self.planes, self.positions = name, a, b, planes, planes.max(0)
        same = (a == b) & (np.signbit(a) == np.signbit(b)) | np.isnan(a) & np.isnan(b)
        self.differs = ~same
        with np.errstate(invalid="ignore"):
            apart = np.where(same, 0.0, np.abs(a - b))
            size = np.maximum(np.abs(a), np.abs(b))
            unit = np.spacing(size) if dtype == "f64" else 2 * half_ulp(np.nan_to_num(size), dtype)
            self.ulps = np.nan_to_num(apart / unit, nan=np.inf)
            self.of_length = None if lengths is None else apart / np.maximum(lengths, 1e-300) / UNIT[dtype]

    def rows(self):
        equal, count = int((~self.differs).sum()), self.differs.size
        if equal == count:
            return [f"{self.name}: equal in every bit of {count:,} elements"]
        out = [f"{self.name}: {100 * equal / count:.6g} % of {count:,} elements are equal; "
               f"the largest distance is {self.ulps.max():.4g} ulp"
               + ("" if self.of_length is None else f", {np.nanmax(self.of_length):.3g} u |x|")]
        at, places, ranges = np.argwhere(self.differs), [], []
        for what, place in (("first", at[np.argmin(self.positions[at[:, 0], at[:, 1]])]),
                            ("largest", np.unravel_index(np.argmax(self.ulps), self.ulps.shape))):
            if what == "largest" and not self.ulps.max():
                continue  # signs of zero alone
            axes = ("batch row", "token", "head", "element")[:4 if len(place) == 4 else 2] + ("pair",)
            where = ", ".join(f"{axis} {k}" for axis, k in zip(axes, place))
            place = tuple(place)
            position = ", ".join(map(str, self.planes[(slice(None), *place[:2])]))
            places.append((what, f"position {position}, {where}: {self.a[place]:.9g} of the first, "
                           f"{self.b[place]:.9g} of the second"))
        for low, high in zip((-math.inf, *ROWS, END), (0, *ROWS[1:], END, math.inf)):
            here = (self.positions >= low) & (self.positions < high)
            if here.any():
                share, ulps = 100 * (~self.differs[here]).mean(), self.ulps[here].max()
                row = f"below {high:,}" if low < 0 else f"{low:,} on" if low == END else f"{low:,} to {high - 1:,}"
                ranges.append((row, f"{share:.6g} %", f"{ulps:.4g}"))
        return [*out, table(places), table(ranges, ("positions", "equal", "largest ulp"))]


def of_dumps(a, b, config):
    """Comparisons of two dumps, and lines about which is nearer to the config's rotation."""
    named = [d.metadata["layout"] for d in (a, b) if "layout" in d.metadata]
    _require(len({*named}) < 2, f"the files have two layouts: {' and '.join(named)}")
    names = [n for n in OUTPUTS if n in a.tensors and n in b.tensors]
    tables = [n for n in ("cos", "sin", "inv_freq") if n in a.tensors and n in b.tensors]
    _require(names or tables, f"they share no outputs: {', '.join(a.tensors)}; {', '.join(b.tensors)}")
    layout, notes = named[0] if named else "", []
    if names and not layout:
        layout = layout_of(a, names[0])
        notes.append(f"layout {layout}, as the files name none")
    out = []
    for name in (*names, *tables):
        one, two = a.tensors[name], b.tensors[name]
        dtypes = a.dtypes[name], b.dtypes[name]
        _require(dtypes[0], f"{name} has no floating-point type")
        _require(one.shape == two.shape and dtypes[0] == dtypes[1],
                 f"{name} is {dtypes[0]} {list(one.shape)}, and {dtypes[1]} {list(two.shape)}")
        _require(one.size, f"{name} is empty")
        if name in tables:
            out.append(of_tables(a, name, one, two, dtypes[0]))
            continue
        given = OUTPUTS[name]
        if given in a.tensors and given in b.tensors:
            _require(np.array_equal(a.tensors[given], b.tensors[given], equal_nan=True),
                     f"{given} is not the same in both: outputs for other inputs")
        one, two = (laid_out(v, name, layout, a.metadata) for v in (one, two))
        x = laid_out(a.tensors[given], given, layout, a.metadata) if given in a.tensors else one
        part = Part(name, x, one, dtypes[0])
        planes, _ = planes_of(a, part)
        lengths = None
        if given in a.tensors:
            find_form(part)
            lengths = np.maximum(np.abs(one), np.abs(two))  # of what is copied
        if part.form:
            i, j = part.form.i, part.form.j
            lengths[..., i] = lengths[..., j] = np.hypot(one[..., i], one[..., j])
        out.append(Comparison(name, dtypes[0], one, two, planes, lengths))
        if config is not None and given in a.tensors:
            x = undone(x, one, part.form)[0] if part.form else x  # after a norm
            notes.append(nearer_to(model_of(a, config), name, x, (one, two), planes))
    return out, notes


def layout_of(dump, name):
    """That which identify finds, or that of as many axes."""
    try:
        return identify(dump).layout
    except Exception:  # it has outputs alone, say
        return {3: "thd", 2: "td"}.get(dump.tensors[name].ndim, "bshd")


def of_tables(dump, name, one, two, dtype):
    """cos, sin [batch, tokens, n] or [tokens, n], or inv_freq [n]."""
    rows = 1 if one.ndim == 1 else one.shape[-2]
    one, two = (v.reshape(-1, rows, v.shape[-1]) for v in (one, two))
    given = np.asarray(dump.tensors.get("position_ids", np.arange(rows)))
    fits = name != "inv_freq" and given.ndim < 3 and given.shape[-1] == rows
    positions = given if fits and given.shape in ((rows,), (1, rows), one.shape[:2]) else np.arange(rows)
    return Comparison(name, dtype, one, two, np.broadcast_to(positions, (1, *one.shape[:2])))


def nearer_to(model, name, x, outputs, planes):
    """Which of two outputs is nearer to the rotation that the config asks for."""
    n, at = model["rotary_dim"] // 2, model.get("k_offset" if name == "k_out" else "q_offset", 0)
    _require(at + 2 * n <= x.shape[-1], f"{name} has heads of {x.shape[-1]}, the config turns {2 * n} from {at}")
    i, j = elements_of(model["pairing"], n, at)
    angle = np.moveaxis(planes[axis_maps(planes, model, n)[0]], 0, -1) * np.array(model["inv_freq"])
    turn = model["attention_scale"] * np.exp(1j * angle)
    z = (x[..., i] + 1j * x[..., j]) * turn[:, :, None]
    exact = x.copy()
    exact[..., i], exact[..., j] = z.real, z.imag
    errors = [math.sqrt(np.nan_to_num(np.abs(y - exact) ** 2, nan=np.inf)[np.isfinite(exact)].mean())
              for y in outputs]
    which = "the first is" if errors[0] < errors[1] else "the second is" if errors[1] < errors[0] else "neither is"
    return (f"{name}: {which} nearer to the config's exact rotation (root mean square "
            f"{errors[0]:.3g} and {errors[1]:.3g})")


def read(path):
    try:
        return dumps.read(path)
    except Exception as error:
        raise KernelError(f"{dumps.shown(path)}: {in_one_line(error)}") from None


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
                out.append(Comparison(f"{name} {dtype}", dtype, part(one), part(two), np.array([[positions]])))
    return out


def case_of(path, config):
    """The words of a case (docs/replay.md) with the dump's inputs, for a kernel that is compared with it,
    and those of its outputs. What turns is the config's, or else what identify finds."""
    dump, config = read(path), dumps.config_of(config)
    found = identify(dump, config)
    model = model_of(dump, config)
    parts = [p for p in sorted(found.parts, key=lambda p: p.name != "q") if not p.other]
    known = [p for p in parts if p.freq is not None and not p.form.written]
    _require(parts and (model or len(known) == len(parts)), "identify finds no rotation in it: give --config")
    first = parts[0]
    planes, _ = planes_of(dump, first)
    _require(len(planes) == 1, "positions with several axes are not supported")
    positions = planes[0]
    pairing = model["pairing"] if model else first.form.pairing
    freq = np.array(model["inv_freq"]) if model else first.freq
    scale = model["attention_scale"] if model else (first.scale if abs(first.scale - 1) > 1e-2 else 1.0)
    _require(pairing in PAIRINGS, f"its pairing is {pairing}")
    size = sum(p.x.shape[2] * p.x.shape[3] for p in parts) * first.x.shape[0]
    tokens = min(first.x.shape[1], max(VALUES // size, 1))
    words = [f"dtype={first.dtype}", f"pairing={pairing}", f"batch={first.x.shape[0]}", f"tokens={tokens}",
             f"rotary_dim={2 * len(freq)}", "inv_freq=" + hexes(freq), f"attention_scale={float(scale).hex()}",
             "positions=" + ",".join(map(str, positions[:, :tokens].ravel().tolist()))]
    words += ["op=transpose"] if not model and first.sign < 0 else []
    words += ["rows_by=token"] if positions.min() < 0 else []
    outputs = []
    for name, part in zip("qk", parts):
        outputs.append(f"{name}.values=" + hexes(part.given[1][:, :tokens]))
        offset = model[f"{name}_offset"] if model else int(part.form.window[0])
        words += [f"{name}.heads={part.x.shape[2]}", f"{name}.head_dim={part.x.shape[3]}",
                  f"{name}.offset={offset}", f"{name}.values=" + hexes(part.given[0][:, :tokens])]
    return " ".join(words), " ".join(outputs)


def hexes(values):
    return ",".join(map(float.hex, np.ravel(values).tolist()))


def case(path, config=""):
    """Prints case_of() for the command."""
    for key, text in zip(("case", "outputs"), case_of(path, config)):
        say(key, text)


def main(a, b, config="", most="0", form=""):
    """Rows for the command."""
    nearer = []
    if a.endswith((".safetensors", ".npz", ".pt")):
        found, nearer = of_dumps(read(a), read(b), dumps.config_of(config))
    else:
        found = of_providers((a, b))
    if found is None:
        say("end", "kernels")
        return
    differs = any(c.ulps.max() > float(most) or (c.differs.any() and not float(most)) for c in found)
    rows = [row for c in found for row in c.rows()] + nearer
    if form:
        rows = [{"name": c.name, "compared": c.differs.size, "equal": int((~c.differs).sum()),
                 "ulps": min(float(c.ulps.max()), 1e308)} for c in found]
    say_rows(rows, differs)
