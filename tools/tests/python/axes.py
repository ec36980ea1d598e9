"""Functions whose positions have axes. Each has a twin that turns all pairs by the first axis."""
import numpy as np
import ropewalk
from right import rotate

SECTIONS = (2, 3, 3)
OWN = tuple(a for a, n in enumerate(SECTIONS) for _ in range(n))

for twin, keep in (("right", 1), ("wrong", 0)):
    @ropewalk.kernel(name=f"{twin}_own_angles", pairing="half_split", axes=(2, 3, 4), angles="exact")
    def own_angles(x, positions, inv_freq, axis_of_pair, out, pairing, inverse, scale, keep=keep):
        at = np.moveaxis(positions[axis_of_pair * keep], 0, -1)[:, :, None]
        angle = at.astype(np.longdouble) * inv_freq
        cos, sin = np.cos(angle) * scale, np.sin(angle) * scale
        rotate(x, cos, -sin if inverse else sin, out, pairing)

    # A row for each batch row, and a map that is told.
    @ropewalk.kernel(name=f"{twin}_told", pairing="half_split", layout="THD", axes=3)
    def told(x, cos, sin, axis_of_pair, out, keep=keep):
        assert cos.shape == (3, len(x), 1, x.shape[-1] // 2) and axis_of_pair.dtype == np.int64
        pair = np.arange(len(axis_of_pair))
        cos, sin = (np.moveaxis(t[axis_of_pair * keep, ..., pair], 0, -1) for t in (cos, sin))
        rotate(x, cos, sin, out, "half_split")

    # As Qwen2-VL in transformers, whose sections are the function's own.
    @ropewalk.kernel(name=f"{twin}_sections", pairing="half_split", layout="BHTD", tables="full",
                     heads_axis=False, axes=3, axis_of_pair=OWN)
    def sections(q, k, cos, sin, keep=keep):
        ends = np.cumsum(SECTIONS * 2)[:-1]

        def mixed(t):
            parts = np.split(t, ends, axis=-1)
            return np.concatenate([m[i % 3 * keep] for i, m in enumerate(parts)], axis=-1)[:, None]

        def turn(x):
            a, b = np.split(x, 2, axis=-1)
            return x * mixed(cos) + np.concatenate((-b, a), axis=-1) * mixed(sin)

        return turn(q), turn(k)

    # Angles and sections of the function's own.
    @ropewalk.kernel(name=f"{twin}_own_map", pairing="half_split", axes=3, axis_of_pair=OWN, angles="exact")
    def own_map(x, positions, inv_freq, keep=keep):
        at = np.moveaxis(positions[np.array(OWN) * keep], 0, -1)[:, :, None]
        turn = np.exp(1j * (at.astype(np.longdouble) * inv_freq))
        y = (x[..., :8] + 1j * x[..., 8:]) * turn
        return np.concatenate((y.real, y.imag), -1).astype(x.dtype)
