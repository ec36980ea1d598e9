import ropewalk


@ropewalk.kernel(pairing="half_split")
def returns_none(x, cos, sin):
    x + 1
