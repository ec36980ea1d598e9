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


def lines(tensors, config=None, words=(("layout", "bshd"),)):
    made = dump.Dump(tensors, {name: "f32" for name in tensors}, dict(words))
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
for freq, words in ((llama3, "theta 10000 up to pair 10; divided by 8 from pair 16 on"),
                    (yarn, "theta 10000 up to pair 5; divided by 4 from pair 16 on"),
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
expect(True, "axes       sections 0*8,1*12,2*12", lines({"x": x, "y": y, "position_ids": planes}))
late = np.where(np.arange(D // 2) < 16, mixed, mixed + 1)
expect(False, "turned by 0.01 rad times 1 in pair 16, should be 0", lines({"x": x, "y": turn(x, late * PLAIN), "position_ids": planes}))

# Two engines, without x.
y = turn(x, at[..., None] * PLAIN)
other = turn(x, at[..., None] * PLAIN, True)
expect(False, "if y is turned as half_split by powers of theta 10000, y_other is as interleaved by powers of theta 10000, "
       "positions as given", lines({"y": y, "y_other": other}))
base = turn(x, at[..., None] * 500000.0 ** (-2 * np.arange(D // 2) / D))
expect(False, "as half_split by powers of theta 10000, y_other is as half_split by powers of theta 500000", lines({"y": y, "y_other": base}))
order = np.concatenate((y[..., ::2], y[..., 1::2]), -1)
expect(False, "written as", lines({"y": y, "y_other": order}))
one = y.copy()
one[1, 200:] = turn(x, (at + 3)[..., None] * PLAIN)[1, 200:]
expect(False, "batch row 0: as given; batch row 1: as given up to token 199; 3 more from token 200", lines({"y": y, "y_other": one}))

# What is wrong in few tokens, or in size alone, is no match.
y = turn(x, at[..., None] * PLAIN)
for begin, change, words in ((200, lambda v: 0 * v, "as given, but for 112 of 512 tokens; first batch row 0, token 200"),
                             (200, lambda v: np.nan * v, "not finite 112 tokens of a finite input"),
                             (255, lambda v: 3 * v, "but for 2 of 512 tokens; first batch row 0, token 255")):
    wrong = y.copy()
    wrong[:, begin:] = change(wrong[:, begin:])
    expect(False, words, lines({"x": x, "y": wrong}))
pair = y.copy()
pair[..., [5, 37]] *= 2
expect(False, "every pair but 5; first batch row 0, token 0 (position 0): turned by 0 rad times 2 in pair 5", lines({"x": x, "y": pair}))

# A model's scale and window.
LLAMA = {"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "rope_theta": 10000.0,
         "max_position_embeddings": 4096}
expect(True, "inv_freq   the config's", lines({"x": x, "y": y}, LLAMA))
wide = draw.standard_normal((2, T, H, 128)).astype("f4").astype("f8")
turned = wide.copy()
turned[..., 64:] = turn(wide[..., 64:], at[..., None] * PLAIN)
NEOX = {"model_type": "gpt_neox", "hidden_size": 1024, "num_attention_heads": 8, "rotary_pct": 0.5,
        "rotary_emb_base": 10000, "max_position_embeddings": 2048}
expect(False, "64 elements from 64; the others are copied, where the model has 64 elements from 0",
       lines({"x": wide, "y": turned}, NEOX))

# A wrong K leaves Q right.
found = lines({"q": x, "q_out": y, "k": x[:, :, :4], "k_out": turn(x[:, :, :4], (at + 1)[..., None] * PLAIN)})
expect(False, "positions  as given", found)
expect(False, "positions  shifted by +1", found)

# Two heads of K, whose window lies elsewhere, or that are not turned.
k = draw.standard_normal((2, T, 2, 80)).astype("f4").astype("f8")
k_out = k.copy()
k_out[..., 8:72] = turn(k[..., 8:72], at[..., None] * PLAIN)
expect(True, "64 elements from 8", lines({"q": x, "q_out": y, "k": k, "k_out": k_out}))
expect(False, "nothing: y is x", lines({"q": x, "q_out": y, "k": k, "k_out": k}))

# A norm before it, with weights of either sign.
x = draw.standard_normal((2, T, H, D)).astype("f4").astype("f8")
weights = draw.uniform(0.1, 2, D) * np.where(np.arange(D) % 7 == 3, -1, 1)
expect(True, "positions  as given", lines({"x": x, "y": turn(
    x / np.sqrt((x**2).mean(-1, keepdims=True)) * weights, at[..., None] * PLAIN)}))

# Shapes, padding, types.
y = turn(x, at[..., None] * PLAIN)
flat = x[0].reshape(1, T, H, D)
expect(True, "layout     sbhd", lines({"x": x.swapaxes(0, 1), "y": y.swapaxes(0, 1)}, None, {}))
padded, out = x.copy(), y.copy()
padded[0], out[0] = 0, 0
expect(True, "theta 10000", lines({"x": padded, "y": out}))
expect(True, "as given", lines({"x": x, "y": turn(x, (at - 300)[..., None] * PLAIN), "position_ids": at - 300}))
c, s = np.cos(at[..., None] * PLAIN)[:, :, None], np.sin(at[..., None] * PLAIN)[:, :, None]
y = np.concatenate((x[..., :32] * c - x[..., 32:] * s, x[..., 32:] * c + x[..., :32] * s), -1)
found = identify.identify(dump.Dump({"x": x, "y": y}, {"x": "f64", "y": "f64"}, {}))
expect(True, "theta 10000", (found.explained, "\n".join(found.lines)))
one = {"x": x[:1, :1], "y": turn(x[:1, 5:6], at[:1, 5:6, None] * PLAIN), "position_ids": at[:1, 5:6]}
expect(True, "positions  as given", lines({**one, "x": x[:1, 5:6]}, LLAMA))
expect(False, "pairing    unknown", lines({**one, "x": x[:1, 5:6][:, :, ::-1]}, LLAMA))

# Weights that a converter permuted; Q and K that are both written in the other order.
y, words = turn(x, at[..., None] * PLAIN, True), {"layout": "bshd", "weights": "permuted"}
expect(False, "if a converter permuted these weights, as for GGUF, this pairing is right", lines({"x": x, "y": y}, LLAMA))
expect(True, "pairing    interleaved", lines({"x": x, "y": y}, LLAMA, words))
expect(False, "where the model has interleaved", lines({"x": x, "y": turn(x, at[..., None] * PLAIN)}, LLAMA, words))
order = np.concatenate((y[..., ::2], y[..., 1::2]), -1)
expect(True, "q.k is that of the model", lines({"q": x, "q_out": order, "k": x[:, :, :2], "k_out": order[:, :, :2]}))

# Rows and columns of a picture, counted from 1; a norm over the half of a head that is turned.
planes = np.stack([p + np.zeros((1, 8, 32), int) for p in (np.arange(8)[:, None], np.arange(32))]).reshape(2, 1, T)
half, at2 = 10000.0 ** (-np.arange(16) / 16), np.repeat(planes + 1, 16, 0).transpose(1, 2, 0)
found = lines({"x": x[:1], "y": turn(x[:1], at2 * np.tile(half, 2)), "position_ids": planes})
expect(False, "powers of theta 10000 in 2 blocks of 16 pairs", found)
expect(False, "positions  each axis shifted by +1", found)
y = wide.copy()
y[..., :64] = turn(wide[..., :64] / np.sqrt((wide[..., :64] ** 2).mean(-1, keepdims=True)), at[..., None] * PLAIN)
expect(True, "over the turned window of each head, without weights", lines({"x": wide, "y": y}, NEOX))
