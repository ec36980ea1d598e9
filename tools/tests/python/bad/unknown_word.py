import ropewalk


@ropewalk.kernel(pairing="half_split", dtype="f32")
def rotate(x, cos, sin):
    return x
