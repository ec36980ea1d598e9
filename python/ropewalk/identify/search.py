"""Which account predicts the turns: the config's first, then what known errors make of it, then estimates."""

import itertools
from dataclasses import replace

import numpy as np

from . import words
from .fits import Account, axis_maps, beats, observed_map, of_positions
from .frequencies import Frequencies, estimate, named, usual
from .pairs import room


def search(part, planes, freqs, model):
    """(the account that predicts most, others that predict all as well, which these tokens cannot tell from
    it). `freqs`: what is given, and what errors make of it; may be empty."""
    n = len(part.form.i)
    maps = axis_maps(part, planes, model, n)
    guesses = freqs or [f for b in {1, len(planes)} if n % b == 0 for f in usual(n, b)]
    plain = [Account(f, planes, m, sign=s).judged(part) for s in (1, -1) for f in guesses for m in maps]
    whole = [a for a in plain if a.whole]
    more = []
    if not whole:
        for account in plain:
            if whole and (account.sign != whole[0].sign or account.axes is not whole[0].axes):
                continue
            made = of_positions(part, account, account is plain[0])
            found = next((a for a in (m.judged(part) for m in made) if a.whole), None)
            whole += [found] if found else []
    if not whole or not freqs or whole[0].positions != words.AS_GIVEN:
        more = [a.judged(part) for a in estimated(part, planes, maps, freqs)]
        whole += [a for a in more if a.whole]
    if not whole:
        for account in more:
            made = of_positions(part, account, False)
            whole += [a for a in (m.judged(part) for m in made) if a.whole][:1]
    if not whole and len(planes) > 1:
        for account in (a for a in plain if a.sign > 0 and a.axes is maps[0]):
            seen = observed_map(part, planes, account.freq, maps[0])
            whole += [replace(account, axes=seen).judged(part)] if seen is not None else []
    if not whole:
        return best_part(part, plain + more), []
    whole = [a for a in whole if a.freq.named] or whole[:1]
    pick = whole[0]
    others = [a for a in whole[1:] if differs(a, pick)][:24]
    for other in others:
        if beats(part, other, pick):
            pick = other
    ties = [a for a in [whole[0], *others] if differs(a, pick) and not beats(part, pick, a)]
    return pick, ties


def differs(one, other):
    """Whether two accounts differ by more than the roundings of f32."""
    a, b = one.angles(), other.angles()
    return bool((np.abs(a - b) > np.maximum(np.abs(a) * np.maximum(one.freq.slack, other.freq.slack), 2.0**-40)).any())


def fit_share(part, account):
    """The share that an account predicts of the turns that are any."""
    tells = np.abs(np.exp(1j * account.angles()) - 1) > account.room(part)
    tells |= np.abs(part.r - 1) > room(part)
    return account.holds[tells].mean() if tells.any() else 1.0


def best_part(part, accounts):
    """That which predicts most, or the first one that predicts nearly as much."""
    shares = [fit_share(part, a) for a in accounts]
    return next(a for a, s in zip(accounts, shares) if s > max(shares) - 0.02)


def estimated(part, planes, maps, freqs):
    """Accounts of frequencies that the turns of tokens a step apart tell."""
    n = len(part.form.i)
    alike = (planes == planes[:1]).all(0)  # tokens of text, say
    rows = np.flatnonzero(alike.any(1))
    if alike.sum() < 2:
        yield from by_axis(part, planes, maps)
        return
    row = rows[(alike & ~part.out)[rows].sum(1).argmax()]
    most = np.abs(planes[0][alike]).max() * Frequencies("", np.ones(n)).slack  # angles in f32
    made = estimate(part.r[row][alike[row]], planes[0, row][alike[row]], room(part), most)
    made = made or estimate(part.r[alike], planes[0][alike], room(part), most)
    if not made:
        return
    found, lag = made
    noise = 2 * (room(part) + np.abs(found) * most) / lag
    if part.form.pairing == "a permutation":  # which element of a pair is first is not known
        order = np.argsort(-np.abs(found))
        turned = found[order] < 0
        i, j = part.form.i[order], part.form.j[order]
        part.form.i, part.form.j = np.where(turned, j, i), np.where(turned, i, j)
        part.r = np.where(turned, part.r[..., order].conj(), part.r[..., order])
        found = np.abs(found[order])
    sign = -1 if np.median(found) < 0 else 1
    for freq in named(sign * found, noise, freqs[0] if freqs else None):
        for axes in maps:
            yield Account(freq, planes, axes, sign=sign)


def by_axis(part, planes, maps):
    """Where no token has one position on all axes: the turns between tokens that differ on one axis alone."""
    flat = planes.reshape(len(planes), -1)
    place = {tuple(p): t for t, p in enumerate(flat.T.tolist())}
    r, found = part.r.reshape(-1, part.r.shape[-1]), []
    for axis in range(len(planes)):
        step = [int(a == axis) for a in range(len(planes))]
        both = [(t, place[q]) for p, t in place.items() if (q := tuple(a + b for a, b in zip(p, step))) in place]
        if not both:
            return
        a, b = np.array(both).T
        found.append(np.nanmedian(np.angle(r[b] * r[a].conj()), 0))
    axes = np.abs(found).argmax(0)
    yield Account(Frequencies("of no single base: " + ", ".join(f"{f:.4g}" for f in np.max(found, 0)[:4]) + ", ...",
                              np.maximum(np.max(found, 0), 0)), planes, axes)
