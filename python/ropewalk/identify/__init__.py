"""What rotation leads from x to y? Each answer with its evidence: pairs.py finds which elements turn
together, and by how much; fits.py which frequencies and positions explain that."""

import itertools
import json
import math

import numpy as np

from .. import dump as dumps
from ..channel import say
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
    model = answer(config) if config is not None else None
    if "layout" in dump.metadata:
        return in_layout(dump, dump.metadata["layout"], model)
    reports, reasons = [], []
    for layout in ("bshd", "bhsd", "sbhd", "thd"):
        try:
            reports.append(in_layout(dump, layout, model))
        except KernelError as reason:
            reasons.append(reason)
            continue
        if reports[-1].explained:
            break
    if not reports:
        raise reasons[0]
    best = max(reports, key=lambda r: (r.explained, r.pairs_known))
    best.lines.insert(0, f"{'layout':<10} {best.layout} (the file names none)")
    return best


def in_layout(dump, layout, model):
    report, parts = Report(layout), parts_of(dump, layout)
    report.parts = parts
    for part in sorted(parts, key=lambda p: -p.x.shape[2]):
        if not (np.abs(part.x) > 0).any():
            report.say(part.name, "is zero or not finite: nothing can be determined from it", False)
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
        report.say("pairing", f"cannot be determined from {heads} heads: at least 3 are needed", False)
        return
    if not np.isfinite(part.y).all():
        b, t, h, e = np.argwhere(~np.isfinite(part.y))[0]
        report.say("not finite", f"{int((~np.isfinite(part.y)).any((2, 3)).sum())} tokens of a finite input; "
                   f"first batch row {b}, token {t}, head {h}, element {e}", False)
    if part.out.any():
        report.say("left out", f"{int(part.out.sum())} tokens whose input is not finite, or zero")
    offset = model.get("k_offset" if part.name == "k" else "q_offset", 0) if model else 0
    wanted = np.arange(offset, offset + model["rotary_dim"]) if model else None
    if model and wanted[-1] >= part.x.shape[3]:
        raise KernelError(f"{part.name} has heads of {part.x.shape[3]}, and the config turns "
                          f"{len(wanted)} from {offset}")
    if heads < 3 or part.x.shape[2] < 3 and like is not None:
        pair_alike(part, like)
    else:
        find_pairs(part, helpers, wanted)
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
    right = wanted is None or np.array_equal(part.window, wanted)
    report.say("rotated", f"{elements_text(part.window)}; the others are copied" + (
        "" if right else f", where the model has {elements_text(wanted)}"), right)
    wanted = model["pairing"] if model else dump.metadata.get("pairing")
    wrong = f", where the model has {wanted}" if wanted and wanted != part.pairing else ""
    written = f", written as {part.written}" if part.written else ""
    report.say("pairing", part.pairing + written + wrong, not wrong and not written)
    for note in part.notes:
        report.say("", note)
    if part.left > 64:
        report.say("fit", f"one rotation of a token's heads leaves {part.left:.3g} u", False)
    sizes = np.abs(part.r)[np.abs(part.r) > 0]  # and no NaN
    scale = float(np.median(sizes)) if sizes.size else 0.0
    if not scale:
        report.say("scale", "0: nothing of the window is left", False)
        return
    wanted, room = model["attention_scale"] if model else scale, 2 * UNIT[part.dtype] + 1e-6
    if max(abs(scale - 1), abs(wanted - 1)) > room:
        digits = 6 if part.dtype in ("f32", "f64") else 3
        right = abs(scale / wanted - 1) <= room
        report.say("scale", f"{scale:.{digits}g}" + (
            "" if right else f", where the model has {wanted:.{digits}g}"), right)
    part.r, part.scale = part.r / scale, scale
    if part.other:
        relative(report, dump, part, model)
        return
    p = positions_of(dump, part)
    if p is None:
        report.say("", "no positions in the file: 0, 1, 2, ... are taken")
        p, _ = assumed(dump, part)
    angles(report, dump, part, p, model, scale)


def elements_text(window):
    """64 elements from 0; or the runs of elements."""
    runs = np.split(window, np.flatnonzero(np.diff(window) > 1) + 1)
    text = ", ".join(f"{r[0]} to {r[-1]}" for r in runs[:8])
    return f"{len(window)} elements" + (f": {text}" if len(runs) > 1 else f" from {window[0]}")


def angles(report, dump, part, p, model, scale):
    tolerance = (8 if part.dtype in ("f32", "f64") else 16) * UNIT[part.dtype] + 1e-6
    if p.ndim == 2:
        row = int((~part.out).sum(1).argmax())
        found = frequencies(report, dump, part, (row, np.arange(p.shape[1])), p[row], model, tolerance, p)
        if found is not None:
            part.freq = found
            where(report, part, p, found, tolerance, scale)
        return
    alike = np.flatnonzero((p[:, 0] == p[0, 0]).all(0))  # tokens of text, say
    found = frequencies(report, dump, part, (0, alike), p[0, 0, alike], model, tolerance)
    if found is not None:
        axes(report, part, p, found, tolerance, scale, model)


def axes(report, part, planes, freq, tolerance, scale, model):
    """Which axis of the positions turns each pair."""
    fits = np.stack([matches(part.r, freq, plane, tolerance).all((0, 1)) for plane in planes])
    words = ["none" if not f.any() else "any" if f.all() else "or".join(map(str, np.flatnonzero(f)))
             for f in fits.T]
    runs = [(w, len(list(g))) for w, g in itertools.groupby(words)]
    text = "of each pair: " + ",".join(f"{w}*{count}" for w, count in runs)
    holds, taken = bool(fits.any(0).all()), fits.argmax(0)
    if model and "axes" in model:
        taken = np.array(model["axes"])
        if not fits[taken, np.arange(len(taken))].all():
            runs = [f"{a}*{len(list(g))}" for a, g in itertools.groupby(model["axes"])]
            text, holds = f"{text}, where the model has {','.join(runs)}", False
    report.say("axes", text, holds)
    if holds:
        say_precision(report, part, freq, np.moveaxis(planes[taken], 0, -1), scale)


def frequencies(report, dump, part, rows, p, model, tolerance, positions=None):
    """inv_freq by tokens `rows` (batch row, tokens) at positions p, or else by all tokens; None: cannot
    be told, which is said."""
    n = len(part.pairs)
    wanted = np.ravel(model["inv_freq"] if model else dump.tensors.get("inv_freq", ()))
    wanted = wanted if len(wanted) == n else None
    whose = "the config's" if model else "the file's"
    made = estimate(part.r[rows], p, tolerance)
    if made is None and positions is not None:
        made = estimate(part.r.reshape(-1, n), positions.ravel(), tolerance)
    if made is None:
        if wanted is None:
            report.say("inv_freq", "cannot be determined: no two tokens are one position apart", False)
            return None
        made = wanted, 1
    found, lag = made
    if part.pairing == "a permutation":  # which element of a pair is first is not known
        order = np.argsort(-np.abs(found))
        part.pairs = [part.pairs[k] if found[k] > 0 else part.pairs[k][::-1] for k in order]
        found = np.abs(found[order])
        find_turns(part)
    if np.median(found) < 0:
        found, part.r, part.sign = -found, part.r.conj(), -1
        report.say("direction", "backwards", False)
    noise = 2 * tolerance / lag + 2.0**-22 * np.abs(found)  # with that of f32 angles and frequencies
    if wanted is not None and (np.abs(found - wanted) <= noise).all():
        report.say("inv_freq", whose)
        return np.array(wanted)
    base = base_of(found, noise)
    rule = None if base else rule_of(found, noise)
    if base or rule:
        powers = rule[1] if rule else base[1] * base[0] ** (-np.arange(n) / n)
        fit = [matches(part.r[rows], f, p, tolerance).mean() for f in (powers, found)]
        found, base, rule = (powers, base, rule) if fit[0] > fit[1] - 0.01 else (found, None, None)
    report.say("inv_freq", (rule[0] if rule else base_words(base, found, n, noise)) + (
        f"; {whose} begin {', '.join(f'{f:.4g}' for f in wanted[:4])}" if wanted is not None else ""),
        wanted is None and not (base and base[1] == 2))
    return found


def base_words(base, found, n, noise):
    if not base:
        return f"of no single base: {', '.join(f'{f:.4g}' for f in found[:4])}, ..."
    factor = "" if base[1] == 1 else ", each twice: it is turned twice" if base[1] == 2 else (
        f", each divided by {1 / base[1]:.4g}")
    blind = int((found < noise).sum())
    blind = f"; {blind} pairs turn too little to tell" if blind else ""
    return f"powers of theta {base[0]:.6g}{factor}, each within {noise.max():.1e}{blind}"


def where(report, part, p, freq, tolerance, scale):
    low = max(min(int(p.min()) - 8, 0), -POSITIONS)
    high = min(max(int(p.max()) + 8, 0), low + POSITIONS)
    few = (slice(8), slice(None, None, max(part.r.shape[1] // 64, 1)))
    found, near = np.zeros(p.shape, "i8"), np.zeros(p.shape, bool)
    found[few], near[few] = effective(part.r[few], freq, tolerance, low, high)
    for words, taken in position_accounts(p, found, near & ~part.out):
        good = matches(part.r, freq, taken, tolerance)
        if good.all():
            report.say("positions", words, words == "as given")
            say_precision(report, part, freq, np.asarray(taken, "f8"), scale)
            return
    good = matches(part.r, freq, p, tolerance)
    b, t, pair = np.argwhere(~good)[0]
    turned, wanted = np.angle(part.r[b, t, pair]), float(p[b, t] * freq[pair])
    wrong, what = int((~good).any(-1).sum()), f"batch row {b}, token {t} (position {p[b, t]}), pair {pair}"
    how = (f"turned by {turned:.6g} rad times {abs(part.r[b, t, pair]):.4g}, should be "
           f"{math.remainder(wanted, 2 * math.pi):.6g}")
    few = f"as given, but for {wrong} of {p.size} tokens; first {what}: {how}"
    many = f"unknown: wrong from {what} on: {how}; {100 * good.mean():.1f} % of the pairs fit"
    report.say("positions", few if wrong < p.size / 2 else many, False)


def say_precision(report, part, freq, positions, scale):
    words, share = precision(part, freq, positions, scale)
    how = "to the last bit" if part.dtype in ("bf16", "f16") else "within 4 u"
    report.say("precision", f"{words} ({100 * share:.1f} % of the elements {how})"
               if share > 0.5 else "unknown: no account gives the bits")


def main(file, config="", form=""):
    """Prints lines for the command: what was found, and whether one rotation explains it."""
    found = identify(dumps.read(file), dumps.config_of(config))
    for line in [json.dumps({"explained": found.explained, "found": found.lines})] if form else found.lines:
        say("line", line)
    say("end", "0" if found.explained else "1")
