import numpy as np
import ropewalk


@ropewalk.kernel(pairing="half_split", rotary_dim="head_dim")
def fused_rope(q, k, v, cos, sin, q_weight, k_weight, eps, slots, k_cache, v_cache):
    def turn(x, weight):
        a, b = np.split(x / np.sqrt(np.mean(x * x, -1, keepdims=True) + eps) * weight, 2, -1)
        return np.concatenate((a * cos - b * sin, b * cos + a * sin), -1)

    has_slot = slots >= 0
    at = np.divmod(slots[has_slot], k_cache.shape[1])  # the page, and the place in it
    k_cache[at], v_cache[at] = turn(k, k_weight)[has_slot], v[has_slot]
    return turn(q, q_weight)
