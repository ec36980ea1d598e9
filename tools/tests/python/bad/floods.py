import sys
import numpy as np
import ropewalk

for _ in range(30_000):
    print("a warning of some library, hundreds of times over", file=sys.stderr)
    print("and on the standard output as well, line by line")


@ropewalk.kernel(pairing="half_split")
def right(x, cos, sin):
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate((a * cos - b * sin, b * cos + a * sin), axis=-1)
