"""The outputs of two engines for the same inputs, which are not known."""

import itertools

import numpy as np

from ..decorator import PAIRINGS
from . import words
from .fits import axis_maps, search
from .frequencies import usual
from .pairs import Part, elements_of, find_form


def explain_two(report, part, planes, freqs, model):
    """Takes the first engine to turn by the given frequencies, or by those of a usual base, in either pairing;
    undoes that, and says what then leads to the outputs of the second."""
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
