import ropewalk


@ropewalk.kernel(pairing="half_split")
def wrong_dtype(x, cos, sin):
    return x.astype("f8")
