"""Functions that normalize q and k, turn them, and append k and v to caches. One twin adds epsilon
behind the root, one takes the slot of the next token."""
import numpy as np
import ropewalk

WORDS = {"pairing": "half_split", "rotary_dim": "head_dim", "dtypes": ("f32", "f16")}

for twin, inside, later in (("right", 1, 0), ("wrong_root", 0, 0), ("wrong_slot", 1, 1)):
    @ropewalk.kernel(name=f"{twin}_fused", **WORDS)
    def fused(q, k, v, cos, sin, q_weight, k_weight, eps, slots, k_cache, v_cache, inside=inside,
              later=later):
        def turn(x, weight):
            x = x.astype(cos.dtype)
            root = np.sqrt(np.mean(x * x, -1, keepdims=True) + eps * inside) + eps * (1 - inside)
            a, b = np.split(x / root * weight.astype(x.dtype), 2, -1)
            return np.concatenate((a * cos - b * sin, b * cos + a * sin), -1).astype(q.dtype)

        given = np.roll(slots, -later)
        has_slot = given >= 0
        at = np.divmod(given[has_slot], k_cache.shape[1])
        k_cache[at], v_cache[at] = turn(k, k_weight)[has_slot], v[has_slot]
        return turn(q, q_weight)

# Weights to which a function always adds 1, as Gemma's; and a twin that does not.
for name, more in (("right_plus_one", 1), ("wrong_plus_one", 0)):
    @ropewalk.kernel(name=name, tables="complex", weight_plus_one=True, **{**WORDS, "dtypes": "f32"})
    def plus_one(q, k, table, q_weight, k_weight, eps, more=np.float32(more)):
        roots = [np.sqrt((x * x).mean(-1, keepdims=True) + eps) for x in (q, k)]
        parts = [np.split(x / r * (w + more), 2, -1) for x, r, w in zip((q, k), roots, (q_weight, k_weight))]
        turned = [(a + 1j * b) * table for a, b in parts]
        return [np.concatenate((y.real, y.imag), -1).astype("f4") for y in turned]
