import ropewalk


@ropewalk.kernel()
def rotate(x, cos, sin):
    return x
