"""A norm over each head, or over its turned window, before or after the rotation."""

from dataclasses import replace

import numpy as np

from .pairs import normed

MOST_FORMS = 20  # five windows


def with_norms(x, y, plain):
    """The forms with a norm, the simplest first. Without weights, before and after are one; those of weights
    need three heads."""
    plain = [f for f in plain[:MOST_FORMS] if not f.written and not f.like]
    for norm in ("either", "before", "after")[: 3 if x.shape[1] > 2 else 1]:
        for form in plain:
            for over in ("head", "window")[: 1 + (len(form.window) < x.shape[-1])]:
                made = replace(form, norm=norm, over=over)
                made.weights = weights_of(x, y, made) if norm != "either" else None
                yield made


def weights_of(x, y, form):
    """Of each element, by the fits y_i = a x_i + b x_j and y_j = c x_i + d x_j over the heads of each token.
    Before: a, b, c, d = w_i cos, -w_j sin, w_i sin, w_j cos. After: w_i cos, -w_i sin, w_j sin, w_j cos.
    The first of a pair is taken to be positive; fits.turns turns a pair around whose weight is not."""
    x, fits = normed(x, form), []
    one, two = x[..., form.i], x[..., form.j]
    aa, bb, ab = ((s * t).sum(1) for s, t in ((one, one), (two, two), (one, two)))
    with np.errstate(divide="ignore", invalid="ignore"):
        for v in (y[..., form.i], y[..., form.j]):
            av, bv = (one * v).sum(1), (two * v).sum(1)
            fits += [(bb * av - ab * bv) / (aa * bb - ab**2), (aa * bv - ab * av) / (aa * bb - ab**2)]
        a, b, c, d = map(np.nan_to_num, fits)
        sizes = (np.hypot(a, c), np.hypot(b, d)) if form.norm == "before" else (np.hypot(a, b), np.hypot(c, d))
        out = np.nan_to_num(np.nanmedian(np.where(np.abs(x) > 1e-3, y / x, np.nan), (0, 1)))
    out[form.i] = np.median(sizes[0], 0)
    out[form.j] = np.copysign(np.median(sizes[1], 0), np.median(a * d - b * c, 0))
    return out
