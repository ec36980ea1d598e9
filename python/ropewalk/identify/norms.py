"""A norm over each head, or over its turned window, before or after the rotation."""

from dataclasses import replace

import numpy as np

from .pairs import normed

MOST_FORMS = 20  # five windows


def with_norms(x, y, plain):
    """The forms with a norm, the simplest first. Without weights, before and after are one."""
    for form in plain[:MOST_FORMS]:
        for over in ("head", "window") if len(form.window) < x.shape[-1] else ("head",):
            if not form.written and not form.like:
                yield replace(form, norm="either", over=over)
    for form in plain[:MOST_FORMS] if x.shape[1] > 2 else ():
        for over in ("head", "window") if len(form.window) < x.shape[-1] else ("head",):
            for norm in ("before", "after") if not form.written and not form.like else ():
                made = replace(form, norm=norm, over=over)
                made.weights = weights_of(x, y, made)
                yield made


def weights_of(x, y, form):
    """Of each element, by the fits y_i = a x_i + b x_j and y_j = c x_i + d x_j over the heads of each token.
    Before: a, b, c, d = w_i cos, -w_j sin, w_i sin, w_j cos. After: w_i cos, -w_i sin, w_j sin, w_j cos.
    The first of a pair is taken to be positive; fits.turns turns a pair around whose weight is not."""
    x = normed(x, form)
    one, two = x[..., form.i], x[..., form.j]
    aa, bb, ab = ((s * t).sum(1) for s, t in ((one, one), (two, two), (one, two)))
    with np.errstate(divide="ignore", invalid="ignore"):
        fits = []
        for v in (y[..., form.i], y[..., form.j]):
            av, bv = (one * v).sum(1), (two * v).sum(1)
            fits += [(bb * av - ab * bv) / (aa * bb - ab**2), (aa * bv - ab * av) / (aa * bb - ab**2)]
        a, b, c, d = map(np.nan_to_num, fits)
        sizes = (np.hypot(a, c), np.hypot(b, d)) if form.norm == "before" else (np.hypot(a, b), np.hypot(c, d))
        out = np.nanmedian(np.where(np.abs(x) > 1e-3, y / x, np.nan), (0, 1))
        first, second = (np.median(s, 0) for s in sizes)
        out[form.i] = first
        out[form.j] = np.copysign(second, np.median(a * d - b * c, 0))
    return np.nan_to_num(out)
