import ropewalk


@ropewalk.kernel(pairing="half_split")
def plain(q, k, v, cos, sin, slots, k_cache):
    return q
