import ropewalk


@ropewalk.kernel(pairing="half_split")
def wrong_shape(x, cos, sin):
    return x[..., : x.shape[-1] // 2]
