"""What rotation leads from x to y? Each answer predicts every element within its bound, or says where it
parts: pairs.py finds which elements turn together, frequencies.py and fits.py what predicts by how much."""

import json
import math

import numpy as np

from .. import dump as dumps
from ..channel import say
from ..decorator import PAIRINGS, KernelError
from ..providers import answer
from . import words
from .fits import rendition
from .frequencies import Frequencies, variants
from .pairs import LEAST, UNIT, find_form, find_turns, parts_of, positions_of, room
from .search import fit_share, search
from .two_outputs import assumed, in_other_pairing, relative


class Report:
    """`lines`: what was found. `explained`: one rotation explains all."""

    def __init__(self, layout):
        self.layout = layout
        self.lines, self.explained, self.pairs_known = [], True, True

    def say(self, what, text, holds=True):
        self.lines.append(f"{what:<10} {text}")
        self.explained = self.explained and bool(holds)


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
    best.lines.insert(0, f"{'layout':<10} {best.layout} (the file names none)")
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


def in_layout(dump, layout, config):
    report, parts = Report(layout), parts_of(dump, layout)
    report.parts, model = parts, model_of(dump, config)
    for part in sorted(parts, key=lambda p: -p.x.shape[2]):
        if not (np.abs(part.x) > 0).any():
            report.say(part.name, "is zero or not finite: nothing can be determined from it", False)
            continue
        likes = [p for p in parts if p is not part and p.form and bool(p.other) == bool(part.other)]
        explain(report, dump, part, likes, model, config)
    return report


def explain(report, dump, part, likes, model, config):
    heads = part.x.shape[2]
    report.say(part.name, f"{heads} head{'s' * (heads != 1)} of {part.x.shape[3]}, {part.dtype}, "
               f"{part.x.shape[0]} x {part.x.shape[1]} tokens")
    if not np.isfinite(part.y).all():
        b, t, h, e = np.argwhere(~np.isfinite(part.y))[0]
        report.say("not finite", f"{int((~np.isfinite(part.y)).any((2, 3)).sum())} tokens of a finite input; "
                   f"first batch row {b}, token {t}, head {h}, element {e}", False)
    if part.out.any():
        report.say("left out", f"{int(part.out.sum())} tokens whose input is not finite, or zero")
    planes, none_given = planes_of(dump, part)
    told = None
    if model:
        at = model["k_offset" if part.name == "k" else "q_offset"]
        if at + model["rotary_dim"] > part.x.shape[3]:
            raise KernelError(f"{part.name} has heads of {part.x.shape[3]}, and the config turns "
                              f"{model['rotary_dim']} from {at}")
        wanted = at + np.arange(model["rotary_dim"])
        told = (np.abs(np.exp(1j * planes[0, ..., None] * model["inv_freq"]) - 1) > 2 * room(part)).any((0, 1))
    if (part.x == part.y).all():
        still = not part.other and not planes.any() and (not model or model["attention_scale"] == 1)
        text = words.EQUAL.format(part.other, part.name) if part.other else words.STILL if still else words.NOTHING
        report.say("rotated", text, still or part.other)
        return
    find_form(part, model, told, likes)
    if part.form:
        find_turns(part)
    if part.other and (not part.form or part.held < 0.99):
        if text := in_other_pairing(dump, part, model):
            report.say("pairing", text, False)
            return
    if not part.form:
        report.pairs_known = False
        report.say("pairing", "unknown: no partner explains the elements", False)
        return
    say_form(report, dump, part, model, wanted if model else None)
    sizes = np.abs(part.r)[np.abs(part.r) > 0]  # and no NaN
    scale = float(np.median(sizes)) if sizes.size else 0.0
    if not scale:
        report.say("scale", "0: nothing of the window is left", False)
        return
    say_scale(report, part, scale, model)
    part.r, part.scale = part.r / scale, scale
    if part.other:
        relative(report, dump, part, model)
        return
    if none_given:
        report.say("", "no positions in the file: 0, 1, 2, ... are taken")
    turns(report, dump, part, planes, model, config)


def planes_of(dump, part):
    """(positions [axes, batch, tokens], whether they are taken for want of some)."""
    planes = positions_of(dump, part)
    if planes is not None:
        return planes, False
    return np.broadcast_to(np.arange(part.x.shape[1]), (1, *part.x.shape[:2])), True


def say_form(report, dump, part, model, wanted):
    form = part.form
    if form.norm:
        report.say("norm", words.NORM[form.norm].format("head" if form.over == "head" else "turned window"),
                   form.norm != "after")
    right = wanted is None or np.array_equal(form.window, wanted)
    report.say("rotated", f"{words.elements(form.window)}; the others are copied" + (
        "" if right else f", where the model has {words.elements(wanted)}"), right)
    wanted = model["pairing"] if model else dump.metadata.get("pairing")
    wrong = f", where the model has {wanted}" if wanted and wanted != form.pairing else ""
    written = f", written as {form.written}" if form.written else ""
    report.say("pairing", form.pairing + written + wrong, not wrong and not written)
    if wrong and not written and model and "weights" not in dump.metadata and form.pairing in PAIRINGS:
        report.say("", words.PERMUTED)
    if form.like:
        report.say("", f"as {form.like} has it")


def say_scale(report, part, scale, model):
    if part.form.weights is not None:
        return  # a factor is one with the weights
    wanted, most = model["attention_scale"] if model else scale, room(part)
    if max(abs(scale - 1), abs(wanted - 1)) > most:
        digits = 6 if part.dtype in ("f32", "f64") else 3
        right = abs(scale / wanted - 1) <= most
        report.say("scale", f"{scale:.{digits}g}" + (
            "" if right else f", where the model has {wanted:.{digits}g}"), right)


def turns(report, dump, part, planes, model, config):
    n = len(part.form.i)
    freqs = list(variants(config, model, part.x.shape[3])) if model else []
    given = dump.tensors.get("inv_freq")
    if given is not None and not model:
        freqs = [Frequencies(words.FILES, np.ravel(given).astype("f8"), right=True)]
    freqs = [f for f in freqs if len(f.values) == n]
    account, ties = search(part, planes, freqs, model)
    part.sign, part.freq, part.account = account.sign, account.freq.values, account
    if account.sign < 0:
        report.say("direction", "backwards", False)
    given = model is not None or given is not None
    bad = ~account.holds
    if bad.any(-1).mean() > 0.5 and bad.any((0, 1)).sum() > max(n // 8, 1):
        say_unknown(report, part, account)
        return
    report.say("inv_freq", account.freq.words + words.blind(account.blind(part), n),
               account.freq.right or not given and words.TWICE not in account.freq.words)
    say_ties(report, account, ties, given)
    if len(planes) > 1:
        say_axes(report, account, model)
    if not account.whole:
        say_parting(report, part, account)
        return
    report.say("positions", account.positions, account.positions == words.AS_GIVEN)
    text, share = rendition(part, account)[:2]
    how = "to the last bit" if part.dtype in ("bf16", "f16") else "within 4 u"
    report.say("precision", f"{text} ({100 * share:.1f} % of the elements {how})"
               if share > 0.5 else "unknown: no account gives the bits")
    say_misfits(report, part, account)


def say_ties(report, account, ties, given):
    def name(other):
        parts = [other.freq.words, "backwards" * (other.sign != account.sign),
                 "" if other.positions == account.positions else f"positions {other.positions}",
                 "" if np.array_equal(other.axes, account.axes) else f"axes {words.sections(other.axes)}"]
        return ", ".join(p for p in parts if p)

    names = [*dict.fromkeys(map(name, ties))]
    if names:
        text = words.CANNOT_TELL if account.freq.right and account.positions == words.AS_GIVEN else words.OR
        report.say("", text.format("; ".join(names[:4]) + ("; ..." if len(names) > 4 else "")))


def say_unknown(report, part, account):
    b, t, k = np.argwhere(~account.holds)[0]
    report.say("inv_freq", words.UNKNOWN.format(100 * fit_share(part, account)), False)
    report.say("positions", words.NOT_FOUND.format(b, t, account.planes[0, b, t], turned(part, account, b, t, k)), False)


def say_axes(report, account, model):
    text, wanted = words.sections(account.axes), np.array(model["axes"]) if model and "axes" in model else None
    if wanted is None:
        report.say("axes", f"of each pair: {text or words.listed(account.axes)}")
        return
    right = np.array_equal(account.axes, wanted)
    if not text:
        k = int(np.argmax(account.axes != wanted))
        text = f"{int((account.axes != wanted).sum())} of {len(wanted)} pairs turn by another; first pair {k} by {account.axes[k]}"
    report.say("axes", text + ("" if right else f", where the model has {words.sections(wanted)}"), right)


def say_parting(report, part, account):
    """Where the best account parts from what was found."""
    plane, bad = account.planes[0], ~account.holds
    tokens = bad.any(-1)
    b, t, k = np.argwhere(bad)[0]
    pairs = np.flatnonzero(bad.any((0, 1)))
    if len(pairs) <= max(len(account.axes) // 8, 1) and tokens.sum() > 1:
        report.say("fit", f"every pair but {words.listed(pairs)}; first batch row {b}, token {t} (position {plane[b, t]}): "
                   + turned(part, account, b, t, k), False)
        return
    how = turned(part, account, b, t, k)
    if account.found and account.found[1][b, t]:
        how = words.AS_POSITION.format(account.found[0][b, t])
    text = words.OFF.format(account.positions, int(tokens.sum()), tokens.size, b, t, plane[b, t], how)
    report.say("positions", text, False)


def turned(part, account, b, t, k):
    wanted = math.remainder(account.angles()[b, t, k], 2 * math.pi)
    return words.AS_NONE.format(np.angle(part.r[b, t, k]), abs(part.r[b, t, k]), k, wanted)


def say_misfits(report, part, account):
    """Every element, of every head, against the account; and those that should be copied."""
    i, j = part.form.i, part.form.j
    z, v = (a[..., i] + 1j * a[..., j] for a in (part.x, part.y))
    row = part.scale * np.exp(1j * account.angles())
    if part.form.weights is not None:
        row = np.where(np.nansum((part.r * np.conj(row)).real, (0, 1)) < 0, -row, row)
    most = 1.2 * account.room(part) * part.scale
    with np.errstate(invalid="ignore"):
        bad = np.abs(v - row[:, :, None] * z) > most[:, :, None] * np.abs(z) + 4 * LEAST[part.dtype]
    rest = np.setdiff1d(np.arange(part.x.shape[-1]), part.form.window)
    near = (room(part) * np.abs(part.x[..., rest]) + 4 * LEAST[part.dtype]) * bool(part.form.norm)
    off = np.abs(part.y[..., rest] - part.x[..., rest]) > near
    whole = np.concatenate((bad, off), -1)
    whole[part.out] = False
    if not whole.any():
        return
    elements = np.concatenate((i, rest))
    b, t, h, e = np.argwhere(whole)[0]
    heads, tokens = np.flatnonzero(whole.any((0, 1, 3))), np.argwhere(whole.any((2, 3)))
    text = f"{100 * whole.mean():.3g} % of the elements are not so"
    if len(heads) <= part.x.shape[2] // 2:
        text = f"every head but {words.listed(heads)}"
    elif len(tokens) <= whole.shape[0] * whole.shape[1] // 2:
        text = f"all but {len(tokens)} of {whole.shape[0] * whole.shape[1]} tokens"
    report.say("fit", f"{text}; first batch row {b}, token {t}, head {h}, element {elements[e]}", False)


def main(file, config="", form=""):
    """Prints lines for the command: what was found, and whether one rotation explains it."""
    found = identify(dumps.read(file), dumps.config_of(config))
    for line in [json.dumps({"explained": found.explained, "found": found.lines})] if form else found.lines:
        say("line", line)
    say("end", "0" if found.explained else "1")
