import ropewalk


@ropewalk.kernel(pairing="half_split", name="Rotate It")
def rotate(x, cos, sin):
    return x
