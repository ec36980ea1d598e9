"""Which account predicts the turns: the config's first, then what known errors make of it, then estimates."""

from dataclasses import replace

import numpy as np

from . import words
from .fits import Account, axis_maps, beats, observed_map, of_positions
from .frequencies import Frequencies, estimate, named, usual
from .pairs import room


def search(part, planes, freqs, model):
    """(the account that predicts most, others that predict all as well, which these tokens cannot tell from
    it). `freqs`: what is given, and what errors make of it; may be empty."""
    n, more = len(part.form.i), []
    maps = axis_maps(planes, model, n)
    guesses = freqs or [f for b in {1, len(planes)} if n % b == 0 for f in usual(n, b)]
    plain = [Account(f, planes, m, sign=s).judged(part) for s in (1, -1) for f in guesses for m in maps]
    whole = [a for a in plain if a.whole]
    for account in plain if not whole else ():
        if not whole or account.sign == whole[0].sign and account.axes is whole[0].axes:
            found = of_positions(part, account, account is plain[0])
            whole += [found] if found and found.whole else []
    if not whole or not freqs or not whole[0].given:
        more = [a.judged(part) for a in estimated(part, planes, maps, freqs)]
        whole += [a for a in more if a.whole]
    if not whole:
        made = [of_positions(part, a, False) for a in more]
        made += [replace(a, axes=seen).judged(part) for a in plain if a.sign > 0 and a.axes is maps[0] and len(planes) > 1
                 if (seen := observed_map(part, planes, a.freq, maps[0])) is not None]
        whole = [a for a in made if a and a.whole]
    if not whole:
        return best_part(part, plain + more), []
    whole = [a for a in whole if a.freq.named] or whole[:1]
    pick, others = whole[0], [a for a in whole[1:] if differs(a, whole[0])][:24]
    for other in others:
        pick = other if beats(part, other, pick) else pick
    return pick, [a for a in (whole[0], *others) if differs(a, pick) and not beats(part, pick, a)]


def differs(one, other):
    """Whether two accounts differ by more than the roundings of f32."""
    a, b = one.angles(), other.angles()
    same = np.abs(a) * np.maximum(one.freq.slack, other.freq.slack) + 2.0**-40
    return bool((np.abs(a - b) > same).any())


def fit_share(part, account):
    """The share that an account predicts of the turns that are any."""
    tells = account.tells(part) | (np.abs(part.r - 1) > room(part))
    return account.holds[tells].mean() if tells.any() else 1.0


def best_part(part, accounts):
    """That which predicts most, or the first one that predicts nearly as much."""
    shares = [fit_share(part, a) for a in accounts]
    return next(a for a, s in zip(accounts, shares) if s > max(shares) - 0.02)


def estimated(part, planes, maps, freqs):
    """Accounts of frequencies that the turns of tokens a step apart tell."""
    n, alike = len(part.form.i), (planes == planes[:1]).all(0)  # tokens of text, say
    if alike.sum() < 2:
        return
    most = np.abs(planes[0][alike]).max() * Frequencies("", np.ones(n)).slack  # angles in f32
    row = (alike & ~part.out).sum(1).argmax()
    made = next(filter(None, (estimate(part.r[at], planes[0][at], room(part), most)
                              for at in (alike & (np.arange(len(alike)) == row)[:, None], alike))), None)
    if not made:
        return
    found, lag = made
    noise = 2 * (room(part) + np.abs(found) * most) / lag
    if part.form.pairing == "a permutation":  # which element of a pair is first is not known
        order, form = np.argsort(-np.abs(found)), part.form
        turned, (i, j) = found[order] < 0, (form.i[order], form.j[order])
        form.i, form.j = np.where(turned, j, i), np.where(turned, i, j)
        part.r = np.where(turned, part.r[..., order].conj(), part.r[..., order])
        found, noise = np.abs(found[order]), noise[order]
    sign = -1 if np.median(found) < 0 else 1
    for freq in named(sign * found, noise, freqs[0] if freqs else None):
        yield from (Account(freq, planes, axes, sign=sign) for axes in maps)
