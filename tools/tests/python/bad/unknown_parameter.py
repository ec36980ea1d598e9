import ropewalk


@ropewalk.kernel(pairing="half_split")
def rotate(x, cosine, sine):
    return x
