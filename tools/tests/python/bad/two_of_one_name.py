import ropewalk


@ropewalk.kernel(pairing="half_split")
def rotate(x, cos, sin):
    return x


@ropewalk.kernel(pairing="interleaved", name="rotate")
def rotate_pairs(x, cos, sin):
    return x
