"""What rotation leads from x to y? Each answer with its evidence: pairs.py finds which elements turn
together, and by how much; fits.py which frequencies and positions explain that."""

import itertools
import json
import math

import numpy as np

from .. import dump as dumps
from ..decorator import KernelError
from ..providers import answer
from .fits import base_of, effective, estimate, matches, position_accounts, precision, rule_of
from .pairs import UNIT, find_pairs, find_turns, pair_alike, parts_of, positions_of
from .two_outputs import assumed, in_other_pairing, relative

POSITIONS = 1 << 13  # that are searched


class Report:
    """`lines`: what was found. `explained`: one rotation explains all."""

    def __init__(self, layout):
        self.layout = layout
        self.lines, self.explained, self.pairs_known = [], True, True

    def say(self, what, text, holds=True):
        self.lines.append(f"{what:<10} {text}")
        self.explained = self.explained and holds


def identify(dump, config=None):
    model = answer(config) if config else None
    if "layout" in dump.metadata:
        return in_layout(dump, dump.metadata["layout"], model)
    reports, reasons = [], []
    for layout in ("bshd", "bhsd", "sbhd", "thd"):
        try:
            reports.append(in_layout(dump, layout, model))
        except KernelError as reason:
            reasons.append(reason)
            continue
        if reports[-1].pairs_known:
            reports[-1].lines.insert(0, f"{'layout':<10} {layout} (the file names none)")
            return reports[-1]
    if not reports:
        raise reasons[0]
    return reports[0]


def in_layout(dump, layout, model):
    report, parts = Report(layout), parts_of(dump, layout)
    for part in sorted(parts, key=lambda p: -p.x.shape[2]):
        if not (np.abs(part.x) > 0).any():
            report.say(part.name, "is zero: nothing can be told", False)
            continue
        others = [p for p in parts if p is not part and bool(p.other) == bool(part.other)]
        helpers = [p for p in others if p.x.shape[-1] == part.x.shape[-1]]
        like = next((p for p in others if p.pairs), None)
        explain(report, dump, part, helpers, model, like)
    return report


def explain(report, dump, part, helpers, model, like):
    heads = sum(p.x.shape[2] for p in (part, *helpers))
    report.say(part.name, f"{part.x.shape[2]} heads of {part.x.shape[3]}, {part.dtype}, "
               f"{part.x.shape[0]} x {part.x.shape[1]} tokens")
    if heads < 3 and like is None:
        report.say("pairing", f"cannot be told from {heads} heads: give three", False)
        return
    bad = ~(np.isfinite(part.x) & np.isfinite(part.y)).all((2, 3))
    if bad.any():
        report.say("left out", f"{int(bad.sum())} tokens with NaN or Inf")
        part.x, part.y = (np.where(bad[:, :, None, None], 0.0, a) for a in (part.x, part.y))
    if heads < 3:
        pair_alike(part, like)
    else:
        find_pairs(part, helpers)
    if not part.window.size:
        same = f"nothing: {part.other} is {part.name}" if part.other else "nothing: y is x"
        report.say("rotated", same, bool(part.other))
        return
    if part.pairs:
        find_turns(part)
    if part.other and (not part.pairs or part.left > 64):
        if words := in_other_pairing(dump, part, model):
            report.say("pairing", words, False)
            return
    if not part.pairs:
        report.pairs_known = False
        report.say("pairing", "unknown: no partner explains the elements", False)
        return
    n, first = len(part.pairs), int(part.window[0])
    wanted = model["pairing"] if model else dump.metadata.get("pairing")
    wrong = f", where the model has {wanted}" if wanted and wanted != part.pairing else ""
    report.say("rotated", f"{2 * n} elements from {first}; the others are copied")
    written = f", written as {part.written}" if part.written else ""
    report.say("pairing", part.pairing + written + wrong, not wrong and not written)
    for note in part.notes:
        report.say("", note)
    if part.left > 64:
        report.say("fit", f"one rotation of a token's heads leaves {part.left:.3g} u", False)
    scale = float(np.median(np.abs(part.r)))
    if abs(scale - 1) > 4 * UNIT[part.dtype] + 1e-6:
        digits = 6 if part.dtype in ("f32", "f64") else 3
        wanted = model["attention_scale"] if model else scale
        report.say("scale", f"{scale:.{digits}g}", abs(scale / wanted - 1) < 1e-2)
    if part.other:
        relative(report, dump, part, model)
        return
    p = positions_of(dump, part)
    if p is None:
        report.say("", "no positions in the file: 0, 1, 2, ... are taken")
        p, _ = assumed(dump, part)
    angles(report, dump, part, p, model, scale)


def angles(report, dump, part, p, model, scale):
    tolerance = 8 * UNIT[part.dtype] + 1e-6
    if part.dtype in ("bf16", "f16"):
        tolerance *= 2
    if p.ndim == 2:
        found = frequencies(report, dump, part, np.arange(p.shape[1]), p[0], model, tolerance)
        if found is not None:
            where(report, part, p, found, tolerance, scale)
        return
    alike = np.flatnonzero((p[:, 0] == p[0, 0]).all(0))  # tokens of text, say
    found = frequencies(report, dump, part, alike, p[0, 0, alike], model, tolerance)
    if found is not None:
        axes(report, part, p, found, tolerance, scale, model)


def axes(report, part, planes, freq, tolerance, scale, model):
    """Which axis of the positions turns each pair."""
    fit = np.stack([matches(part.r, freq, plane, tolerance).mean((0, 1)) for plane in planes])
    fits = fit > 0.999
    words = ["none" if not f.any() else "any" if f.all() else "or".join(map(str, np.flatnonzero(f)))
             for f in fits.T]
    runs = [(w, len(list(g))) for w, g in itertools.groupby(words)]
    text = "of each pair: " + ",".join(f"{w}*{count}" for w, count in runs)
    holds, taken = bool(fits.any(0).all()), fit.argmax(0)
    if model and "axes" in model:
        taken = np.array(model["axes"])
        if not fits[taken, np.arange(len(taken))].all():
            runs = [f"{a}*{len(list(g))}" for a, g in itertools.groupby(model["axes"])]
            text, holds = f"{text}, where the model has {','.join(runs)}", False
    report.say("axes", text, holds)
    if holds:
        say_precision(report, part, freq, np.moveaxis(planes[taken], 0, -1), scale)


def frequencies(report, dump, part, rows, p, model, tolerance):
    """inv_freq by tokens `rows` of batch row 0 at positions p; None: cannot be told, which is said."""
    n = len(part.pairs)
    wanted = np.array(model["inv_freq"]) if model else dump.tensors.get("inv_freq")
    whose = "the config's" if model else "the file's"
    found = estimate(part.r[0, rows], p) if len(rows) else None
    if found is None:
        if wanted is None or len(wanted) != n:
            report.say("inv_freq", "cannot be told: no two tokens are one position apart", False)
            return None
        found = np.array(wanted)
    if part.pairing == "a permutation":  # which element of a pair is first is not known
        order = np.argsort(-np.abs(found))
        part.pairs = [part.pairs[k] if found[k] > 0 else part.pairs[k][::-1] for k in order]
        found = np.abs(found[order])
        find_turns(part)
    if np.median(found) < 0:
        found, part.r, part.sign = -found, part.r.conj(), -1
        report.say("direction", "backwards", False)
    noise = 2 * tolerance / min(63, max(int(np.ptp(p)) if len(p) else 1, 1))
    if wanted is not None and len(wanted) == n and (np.abs(found - wanted) <= noise).all():
        report.say("inv_freq", whose)
        return np.array(wanted)
    base = base_of(found, noise)
    rule = None if base else rule_of(found, noise)
    if base or rule:
        powers = rule[1] if rule else base[1] * base[0] ** (-np.arange(n) / n)
        fit = [matches(part.r[0, rows], f, p, tolerance).mean() for f in (powers, found)]
        found, base, rule = (powers, base, rule) if fit[0] > fit[1] - 0.01 else (found, None, None)
    report.say("inv_freq", (rule[0] if rule else base_words(base, found, n, noise)) + (
        f"; {whose} begin {', '.join(f'{f:.4g}' for f in wanted[:4])}" if wanted is not None else ""),
        wanted is None and not (base and base[1] == 2))
    return found


def base_words(base, found, n, noise):
    if not base:
        return f"of no single base: {', '.join(f'{f:.4g}' for f in found[:4])}, ..."
    factor = "" if base[1] == 1 else f", each divided by {1 / base[1]:.4g}"
    if base[1] == 2:
        factor = ", each twice: it is turned twice"
    blind = int((found < noise).sum())
    blind = f"; {blind} pairs turn too little to tell" if blind else ""
    return f"powers of theta {base[0]:.6g}{factor}, each within {noise:.1e}{blind}"


def where(report, part, p, freq, tolerance, scale):
    most = min(int(p.max()) + 8, POSITIONS)
    few = (slice(8), slice(None, None, max(part.r.shape[1] // 64, 1)))
    found = np.full(p.shape, -1)
    found[few] = effective(part.r[few], freq, tolerance, most)
    for words, taken in position_accounts(p, found):
        good = matches(part.r, freq, taken, tolerance)
        if good.mean() > 0.999:
            report.say("positions", words, words == "as given")
            say_precision(report, part, freq, np.asarray(taken, "f8"), scale)
            return
    good = matches(part.r, freq, p, tolerance)
    b, t, pair = np.argwhere(~good)[0]
    turned, wanted = np.angle(part.r[b, t, pair]), float(p[b, t] * freq[pair])
    report.say("positions", f"unknown: wrong from batch row {b}, token {t} (position {p[b, t]}), pair "
               f"{pair} on: turned by {turned:.6g} rad, should be {math.remainder(wanted, 2 * math.pi):.6g}"
               f"; {100 * good.mean():.1f} % of the pairs fit", False)


def say_precision(report, part, freq, positions, scale):
    words, share = precision(part, freq, positions, scale)
    how = "to the last bit" if part.dtype in ("bf16", "f16") else "within 4 u"
    report.say("precision", f"{words} ({100 * share:.1f} % of the elements {how})"
               if share > 0.5 else "unknown: no account gives the bits")


def main(file, config="", form=""):
    """Prints lines for the command: what was found, and whether one rotation explains it."""
    try:
        found = identify(dumps.read(file), dumps.config_of(config))
        text = [json.dumps({"explained": found.explained, "found": found.lines})] if form else found.lines
        print(*(f"line\t{line}" for line in text), f"end\t{0 if found.explained else 1}", sep="\n")
    except Exception as error:  # of a file from anywhere
        print(f"error\t{' '.join(str(error).split())}")
