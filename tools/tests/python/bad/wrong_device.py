import ropewalk


@ropewalk.kernel(pairing="half_split", arrays="torch")
def wrong_device(x, cos, sin):
    return x.to("meta")
