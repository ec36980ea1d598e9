"""Functions and dumps that differ in a known place. Run with a folder, it writes the dumps; without, it
holds assert_same to what it should say."""
import os
import sys

import numpy as np
import ropewalk


def turn(x, cos, sin):
    a, b = np.split(x, 2, -1)
    return np.concatenate((a * cos - b * sin, b * cos + a * sin), -1)


@ropewalk.kernel(pairing="half_split")
def one(x, cos, sin):
    return turn(x, cos, sin)


@ropewalk.kernel(pairing="half_split")
def alike(x, cos, sin):
    a, b = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return np.concatenate((cos * a - sin * b, cos * b + sin * a), -1)


@ropewalk.kernel(pairing="half_split")
def one_bit(x, cos, sin, positions):
    """Differs by one bit, at one position, in one head."""
    y = turn(x, cos, sin)
    for b, t in np.argwhere(positions == 77777):
        y.view("u4")[b, t, 5:6, 2] ^= 1
    return y


@ropewalk.kernel(pairing="half_split")
def ends(x, cos, sin, positions):
    if positions.max() > 60000:
        os.abort()
    return turn(x, cos, sin)


for name, factor in (("copies", 1), ("shrinks", 0.75)):
    @ropewalk.kernel(name=name, pairing="half_split", whole=True)
    def beside(x, cos, sin, factor=np.float32(factor)):
        """Beside the turned window."""
        at = 2 * cos.shape[-1]
        return np.concatenate((turn(x[..., :at], cos, sin), x[..., at:] * factor), -1)


@ropewalk.kernel(pairing="interleaved")
def other_pairing(x, cos, sin):
    a, b = x[..., ::2], x[..., 1::2]
    return np.stack((a * cos - b * sin, b * cos + a * sin), -1).reshape(x.shape)


class Rotary:
    def __init__(self, theta):
        self.inv_freq = theta ** (-np.arange(16) / 16)

    def __call__(self, positions, dtype):
        angle = (positions.astype("f4")[..., None] * self.inv_freq.astype("f4")).astype("f4")
        return np.cos(angle), np.sin(angle)


CONFIG = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 2, "rope_theta": 10000.0,
          "max_position_embeddings": 4096}


@ropewalk.provider(CONFIG)
def angles(config):
    return Rotary(10000.0)


@ropewalk.provider(CONFIG)
def other_angles(config):
    return Rotary(10001.0)


if __name__ == "__main__" and not sys.argv[1:]:
    ropewalk.assert_same(one, alike)
    try:
        ropewalk.assert_same(one, one_bit)
    except AssertionError as error:
        assert "position 77777" in str(error), error
    else:
        sys.exit("assert_same did not see one bit")
elif __name__ == "__main__":
    from ropewalk import dump

    x = np.random.default_rng(3).standard_normal((1, 64, 4, 32)).astype("f4")
    angle = np.arange(64)[:, None] * 10000.0 ** (-np.arange(16) / 16)
    y = turn(x, np.cos(angle)[:, None].astype("f4"), np.sin(angle)[:, None].astype("f4"))
    z = y.copy()
    z.view("u4")[0, 40, 2, 7] ^= 2
    pair = y.copy()
    pair.view("u4")[0, 40, 2, [7, 23]] ^= 2
    words = {"layout": "bshd"}
    dump.write(f"{sys.argv[1]}/a.safetensors", {"x": x, "y": y}, words)
    dump.write(f"{sys.argv[1]}/b.safetensors", {"x": x, "y": z}, words)
    dump.write(f"{sys.argv[1]}/pair.safetensors", {"x": x, "y": pair}, words)
    dump.write(f"{sys.argv[1]}/other_layout.safetensors", {"y": y}, {"layout": "bhsd"})
    planes = np.arange(64) + np.array([8, 8, 9])[:, None, None]
    for name, of in (("a", y), ("b", z)):
        dump.write(f"{sys.argv[1]}/three_{name}.safetensors", {"x": x, "y": of, "position_ids": planes}, words)
    dump.write(f"{sys.argv[1]}/other_x.safetensors", {"x": x + 1, "y": y}, words)
