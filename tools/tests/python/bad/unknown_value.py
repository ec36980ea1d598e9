import ropewalk


@ropewalk.kernel(pairing="half_split", layout="TBHD")
def rotate(x, cos, sin):
    return x
