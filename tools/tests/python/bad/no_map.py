import ropewalk


@ropewalk.kernel(pairing="half_split", axes=3)
def rotate(x, cos, sin):
    return x
