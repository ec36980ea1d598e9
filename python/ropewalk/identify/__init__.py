"""What rotation leads from x to y? Each answer predicts every element within its bound, or says where it
parts: pairs.py finds which elements turn together, frequencies.py and fits.py what predicts by how much."""

import itertools
import math

import numpy as np

from .. import dump as dumps
from ..channel import say_rows, table
from ..decorator import PAIRINGS, KernelError, _require
from ..providers import answer
from . import words
from .fits import axis_maps, fit_share, rendition, search, turns
from .frequencies import Frequencies, usual, variants
from .pairs import LEAST, Part, elements_of, find_form, not_copied, pairs_of, parts_of, planes_of, room


class Report:
    """`facts`: what was found, [(what, text)]. `explained`: one rotation explains all."""

    def __init__(self, layout):
        self.layout = layout
        self.facts, self.explained, self.pairs_known = [], True, True

    def say(self, what, text, holds=True):
        self.facts.append((what, text))
        self.explained = self.explained and bool(holds)

    lines = property(lambda self: [f"{what:<10} {text}" for what, text in self.facts])  # as --json has them


def identify(dump, config=None):
    if "layout" in dump.metadata:
        return in_layout(dump, dump.metadata["layout"], config)
    reports, reasons = [], []
    for layout in ("bshd", "bhsd", "sbhd", "thd"):
        try:
            reports.append(in_layout(dump, layout, config))
        except KernelError as reason:
            reasons.append(reason)
            continue
        if reports[-1].explained:
            break
    if not reports:
        raise reasons[0]
    best = max(reports, key=lambda r: (r.explained, r.pairs_known))
    best.facts.insert(0, ("layout", f"{best.layout} (the file names none)"))
    return best


def model_of(dump, config):
    """What the config asks for; where that follows from the length of a sequence, for these positions."""
    if config is None:
        return None
    model, given = answer(config), dump.tensors.get("position_ids")
    if model["scaling"] in ("longrope", "dynamic") and given is not None and given.size and given.max() >= 0:
        model = answer(config, tokens=int(given.max()) + 1)
    if dump.metadata.get("weights") == "permuted":
        model = {**model, "pairing": next(p for p in PAIRINGS if p != model["pairing"])}
    return model


@np.errstate(all="ignore")  # of numbers that are not finite, or zero
def in_layout(dump, layout, config):
    report, parts = Report(layout), parts_of(dump, layout)
    report.parts, model = parts, model_of(dump, config)
    for part in sorted(parts, key=lambda p: -p.x.shape[2]):
        if not (np.abs(part.x) > 0).any():
            report.say(part.name, "is zero or not finite: nothing can be determined from it", False)
            continue
        explain(report, dump, part, model, config)
    orders = [p.form.written for p in parts if p.form]
    if both := len(orders) == 2 and orders[0] == orders[1] != "":
        report.say("", words.BOTH_WRITTEN)
    report.explained = report.explained and (both or not any(orders))
    return report


def explain(report, dump, part, model, config):
    heads, (planes, none_given), told, wanted = part.x.shape[2], planes_of(dump, part), None, None
    report.say(part.name, f"{heads} head{'s' * (heads != 1)} of {part.x.shape[3]}, {part.dtype}, "
               f"{part.x.shape[0]} x {part.x.shape[1]} tokens")
    if not np.isfinite(part.y).all():
        b, t, h, e = np.argwhere(~np.isfinite(part.y))[0]
        report.say("not finite", f"{int((~np.isfinite(part.y)).any((2, 3)).sum())} tokens of a finite input; "
                   f"first batch row {b}, token {t}, head {h}, element {e}", False)
    if part.out.any():
        report.say("left out", f"{int(part.out.sum())} tokens whose input is not finite, or zero")
    if model:
        wanted = model[part.offset] + np.arange(model["rotary_dim"])
        _require(wanted[-1] < part.x.shape[3], f"{part.name} has heads of {part.x.shape[3]}, and the config "
                 f"turns {len(wanted)} from {wanted[0]}")
        angles = planes[0, ..., None] * np.array(model["inv_freq"])
        told = (np.abs(np.exp(1j * angles) - 1) > 2 * room(part)).any((0, 1))
    if (part.x == part.y).all():
        still = not part.other and not planes.any() and (not model or model["attention_scale"] == 1)
        text = words.EQUAL.format(part.other, part.name) if part.other else words.STILL if still else words.NOTHING
        report.say("rotated", text, still or part.other)
        return
    freqs, given = list(variants(config, model, part.x.shape[3])) if model else [], dump.tensors.get("inv_freq")
    if given is not None and not model:
        freqs = [Frequencies(words.FILES, np.ravel(given).astype("f8"), right=True)]
    if part.other:
        explain_two(report, part, planes, freqs, model)
        return
    find_form(part, model, told)
    if not part.form:
        report.pairs_known = False
        report.say("pairing", "unknown: no partner explains the elements", False)
        return
    say_form(report, dump, part, model, wanted)
    if not say_scale(report, part, model):
        return
    if none_given:
        report.say("", "no positions in the file: 0, 1, 2, ... are taken")
    say_turns(report, part, planes, freqs, model)


def explain_two(report, part, planes, freqs, model):
    """The outputs of two engines for the same inputs, which are not known. Takes the first engine to turn by
    the given frequencies, or by those of a usual base, in either pairing; undoes that, and says what then
    leads to the outputs of the second."""
    size = part.x.shape[3]
    at = model[part.offset] if model else 0
    pairings = [model["pairing"]] if model else PAIRINGS
    for freq, pairing in itertools.product(freqs[:1] or usual(size // 2), pairings):
        n = len(freq.values)
        if at + 2 * n > size:
            continue
        i, j = elements_of(pairing, n, at)
        angles = np.moveaxis(planes[axis_maps(planes, model, n)[0]], 0, -1) * freq.values
        z, x = (part.x[..., i] + 1j * part.x[..., j]) * np.exp(-1j * angles)[:, :, None], part.x.copy()
        x[..., i], x[..., j] = z.real, z.imag
        two = Part(part.name, x, part.y, part.dtype, other=part.other)
        find_form(two)
        if not two.form or two.held < 0.99:
            continue
        two.r = two.r / np.nanmedian(np.abs(two.r))
        account, _ = search(two, planes, [freq], model)
        if not account.whole or not account.freq.named:
            continue
        written, back = words.WRITTEN.format(two.form.written), ", backwards"
        other = two.form.pairing + written * bool(two.form.written) + back * (account.sign < 0)
        same = other == pairing and account.freq is freq and account.positions == words.AS_GIVEN
        report.say("turned", words.TWO.format(part.name, pairing, freq.words, part.other, other, account.freq.words,
                                              account.positions), same)
        return
    same = (part.x == part.y).all((2, 3))
    b, t = np.argwhere(~same)[0]
    report.say("turned", words.TWO_PART.format(b, t, words.listed(planes[:, b, t]), 100 * same.mean()), False)


def say_form(report, dump, part, model, window):
    form = part.form
    if form.norm:
        report.say("norm", words.NORM[form.norm].format(words.OVER[form.over]), form.norm != "after")
    right = window is None or np.array_equal(form.window, window)
    off = not_copied(part, *pairs_of(part.x, part.y, form)[2:], form) & ~part.out[:, :, None, None]
    others = words.CHANGED.format(100 * off.mean()) if off.any() else words.OTHERS_ARE[form.over] if off.size else ""
    wrong = "" if right else words.MODEL_HAS.format(words.elements(window))
    report.say("rotated", f"{words.elements(form.window)}{others}{wrong}", right and not off.any())
    wanted = model["pairing"] if model else dump.metadata.get("pairing", form.pairing)
    written = words.WRITTEN.format(form.written) if form.written else ""
    wrong = words.MODEL_HAS.format(wanted) if wanted != form.pairing else ""
    report.say("pairing", form.pairing + written + wrong, not wrong)
    if wrong and not written and model and "weights" not in dump.metadata:
        report.say("", words.PERMUTED)


def say_scale(report, part, model):
    """Divides the turns by their common size; whether there is any."""
    sizes = np.abs(part.r)[np.abs(part.r) > 0]  # and no NaN
    scale = float(np.median(sizes)) if sizes.size else 0.0
    wanted, most = model["attention_scale"] if model else scale, room(part)
    if not scale:
        report.say("scale", "0: nothing of the window is left", False)
        return False
    if part.form.weights is None and max(abs(scale - 1), abs(wanted - 1)) > most:  # else it is one with them
        right = abs(scale / wanted - 1) <= most
        report.say("scale", f"{scale:.4g}" + ("" if right else words.MODEL_HAS.format(f"{wanted:.4g}")), right)
    scale = next((s for s in (wanted if model else 1.0, 1.0) if abs(scale / s - 1) <= most), scale)
    part.r, part.scale = part.r / scale, scale
    return True


def say_turns(report, part, planes, freqs, model):
    n = len(part.form.i)
    account, ties = search(part, planes, freqs, model)
    part.sign, part.freq = account.sign, account.freq.values
    bad, as_given = ~account.holds, account.positions == words.AS_GIVEN
    if bad.any(-1).mean() > 0.5 and bad.any((0, 1)).sum() > max(n // 8, 1):
        report.say("inv_freq", words.UNKNOWN.format(100 * fit_share(part, account)), False)
        report.say("positions", words.NOT_FOUND.format(*first_of(part, account)), False)
        return
    if account.sign < 0:
        report.say("direction", "backwards", False)
    blind = int((~account.tells(part)).all((0, 1)).sum())
    report.say("inv_freq", account.freq.words + bool(blind) * words.BLIND.format(blind, n),
               account.freq.right or not freqs and words.TWICE not in account.freq.words)
    names = [*dict.fromkeys(words.account(other, account) for other in ties)]
    if names:
        text = "these tokens cannot tell it from: {}" if account.freq.right and as_given else words.OR
        report.say("", text.format("; ".join(names[:4]) + ("; ..." if len(names) > 4 else "")))
    if len(planes) > 1:
        own = np.array(model["axes"]) if model and "axes" in model else account.axes
        right = np.array_equal(account.axes, own)
        where = "" if right else words.MODEL_HAS.format(words.sections(own))
        report.say("axes", words.sections(account.axes) + where, right)
    if not account.whole:
        say_parting(report, part, account)
        return
    report.say("positions", account.positions, as_given)
    text, share = rendition(part, account)[:2]
    how = "to the last bit" if part.dtype in ("bf16", "f16") else "within 4 u"
    report.say("precision", f"{text} ({100 * share:.1f} % of the elements {how})"
               if share > 0.5 else "unknown: no account gives the bits")
    say_misfits(report, part, account)


def say_parting(report, part, account):
    """Where the best account parts from what was found: few pairs, or few tokens."""
    bad, tokens = np.flatnonzero((~account.holds).any((0, 1))), (~account.holds).any(-1)
    b, t, place, how = first_of(part, account)
    if len(bad) <= max(len(account.axes) // 8, 1) and tokens.sum() > 1:
        report.say("fit", words.BUT_PAIRS.format(words.listed(bad), b, t, place, how), False)
        return
    if account.found and account.found[1][b, t]:
        how = words.AS_POSITION.format(account.found[0][b, t])
    off = account.positions, int(tokens.sum()), tokens.size
    report.say("positions", words.OFF.format(*off, b, t, place, how), False)


def first_of(part, account):
    """(batch row, token, its position, how it is turned) of the first that the account does not predict."""
    b, t, k = np.argwhere(~account.holds)[0]
    wanted = math.remainder(account.angles()[b, t, k], 2 * math.pi)
    r = part.r[b, t, k]
    return b, t, words.listed(account.planes[:, b, t]), words.AS_NONE.format(np.angle(r), abs(r), k, wanted)


def say_misfits(report, part, account):
    """Every pair of every head against the account."""
    (z, v, *_), angles = pairs_of(part.x, part.y, part.form), account.angles()
    row = part.scale * np.exp(1j * angles)
    row = np.where(turns(part, angles) == part.r, row, -row)
    most = part.scale * account.room(part, angles)[:, :, None] * np.abs(z) + 4 * LEAST[part.dtype]
    bad = np.abs(v - row[:, :, None] * z) > most
    bad &= ~part.out[:, :, None, None]
    if not bad.any():
        return
    (b, t, h, e), heads = np.argwhere(bad)[0], np.flatnonzero(bad.any((0, 1, 3)))
    few = f"every head but {words.listed(heads)}" if len(heads) <= bad.shape[2] // 2 else (
        f"all but {100 * bad.mean():.3g} % of the elements")
    report.say("fit", f"{few}; first batch row {b}, token {t}, head {h}, element {part.form.i[e]}", False)


def main(file, config="", form=""):
    """Rows for the command: what was found, and whether one rotation explains it."""
    found = identify(dumps.read(file), dumps.config_of(config))
    fields = {"explained": found.explained, "found": found.lines}
    say_rows([fields if form else table(found.facts)], not found.explained)
