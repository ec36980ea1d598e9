"""What identify says of rules of frequencies, positions of several axes, and outputs of two engines."""
import sys

import numpy as np
from ropewalk import dump, identify

T, H, D = 256, 8, 64
draw = np.random.default_rng(20240731)
PLAIN = np.array([10000.0 ** (-2 * k / D) for k in range(D // 2)])


def turn(x, angle, interleaved=False):
    y = np.array(x)
    for k in range(D // 2):
        i, j = (2 * k, 2 * k + 1) if interleaved else (k, k + D // 2)
        c, s = np.cos(angle[..., k])[..., None], np.sin(angle[..., k])[..., None]
        y[..., i], y[..., j] = c * x[..., i] - s * x[..., j], c * x[..., j] + s * x[..., i]
    return y.astype("f4").astype("f8")


def lines(tensors, config=None):
    made = dump.Dump(tensors, {name: "f32" for name in tensors}, {})
    found = identify.identify(made, config)
    return found.explained, "\n".join(found.lines)


def expect(explained, text, found):
    if found[0] != explained or text not in found[1]:
        sys.exit(f"not {text!r}, explained {explained}, in\n{found[1]}")


x = draw.standard_normal((2, T, H, D)).astype("f4").astype("f8")
at = np.broadcast_to(np.arange(T), (2, T))

# Rules, pair by pair.
llama3, yarn = PLAIN.copy(), PLAIN.copy()
for k, f in enumerate(PLAIN):
    turns = 512 * f / (2 * np.pi)
    keep = min(max((turns - 1) / (4 - 1), 0), 1)
    llama3[k] = f * keep + f / 8 * (1 - keep)
    yarn[k] = f * (1 - min(max((k - 5) / 11, 0), 1)) + f / 4 * min(max((k - 5) / 11, 0), 1)
for freq, words in ((llama3, "theta 10000 with the rule llama3: up to a wavelength of 128 as they are, from "
                     "512 on divided by 8"),
                    (yarn, "the rule yarn: up to pair 5 as they are, from 16 on divided by 4"),
                    (PLAIN * draw.uniform(0.2, 1, D // 2), "of no single base")):
    expect(True, words, lines({"x": x, "y": turn(x, at[..., None] * freq)}))

# Three axes: 40 tokens of text, an image of 12 x 18, text behind it.
t, h, w = (np.arange(T) for _ in range(3))
row, column = np.divmod(np.arange(216), 18)
t, h, w = t.copy(), h.copy(), w.copy()
t[40:], h[40:], w[40:] = 40, 40, 40
h[40:256] += row
w[40:256] += column
planes = np.stack([np.stack([p, p + 3]) for p in (t, h, w)])
axis = np.array([0] * 8 + [1] * 12 + [2] * 12)
mixed = np.moveaxis(planes[axis], 0, -1)
y = turn(x, mixed * PLAIN)
expect(True, "axes       of each pair: 0*8,1*12,2*12", lines({"x": x, "y": y, "position_ids": planes}))
text_alone = turn(x, planes[0][..., None] * PLAIN)
expect(True, "0*32", lines({"x": x, "y": text_alone, "position_ids": planes}))
late = np.where(np.arange(D // 2) < 16, mixed, mixed + 1)
expect(False, "none*", lines({"x": x, "y": turn(x, late * PLAIN), "position_ids": planes}))

# Two engines, without x.
y = turn(x, at[..., None] * PLAIN)
other = turn(x, at[..., None] * PLAIN, True)
expect(False, "y is turned as half_split and y_other as interleaved, both by theta 10000",
       lines({"y": y, "y_other": other}))
base = turn(x, at[..., None] * 500000.0 ** (-2 * np.arange(D // 2) / D))
expect(False, "as frequencies of theta 500000 beside theta 10000", lines({"y": y, "y_other": base}))
order = np.concatenate((y[..., ::2], y[..., 1::2]), -1)
expect(False, "written as", lines({"y": y, "y_other": order}))
one = y.copy()
one[1, 200:] = turn(x, (at + 3)[..., None] * PLAIN)[1, 200:]
expect(False, "from batch row 1, token 200 (position 200) on", lines({"y": y, "y_other": one}))
