import os
import time
import numpy as np
import ropewalk

if os.fork() == 0:
    time.sleep(20)
    os._exit(0)


@ropewalk.kernel(pairing="half_split")
def right(x, cos, sin):
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate((a * cos - b * sin, b * cos + a * sin), axis=-1)
