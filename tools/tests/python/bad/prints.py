import numpy as np
import ropewalk

print("hello from the import")


@ropewalk.kernel(pairing="half_split")
def right(x, cos, sin):
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate((a * cos - b * sin, b * cos + a * sin), axis=-1)
