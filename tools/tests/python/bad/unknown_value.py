import ropewalk


@ropewalk.kernel(pairing="half_split", layout="HTBD")
def rotate(x, cos, sin):
    return x
