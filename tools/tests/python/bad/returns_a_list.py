import ropewalk


@ropewalk.kernel(pairing="half_split")
def returns_a_list(x, cos, sin):
    return x.tolist()
