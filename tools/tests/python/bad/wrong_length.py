import ropewalk


@ropewalk.kernel(pairing="half_split")
def wrong_length(q, k, cos, sin):
    return [q]
