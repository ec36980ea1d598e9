"""Providers that harm the process in which they run. The last one is right."""
import ctypes
import os
import sys
import time

import numpy as np
import ropewalk

CONFIG = {"model_type": "../../escaped", "head_dim": 64, "num_attention_heads": 1,
          "num_key_value_heads": 1, "rope_theta": 10000.0}
WORDS = {"angles": "exact", "pairing": "half_split"}


class Right:
    def __init__(self, config):
        self.freq = config["rope_theta"] ** (-np.arange(32) / 32)

    def once(self):
        pass

    def __call__(self, positions, dtype):
        if not hasattr(type(self), "was_here"):
            type(self).was_here = True
            self.once()
        return np.exp(1j * np.multiply.outer(positions, self.freq)).astype("c8")


@ropewalk.provider(CONFIG, name="forks\x1b[2J", **WORDS)
class Forks(Right):
    def once(self):
        os.fork()


@ropewalk.provider(CONFIG, name="crashes", **WORDS)
class Crashes(Right):
    def once(self):
        ctypes.string_at(0)


@ropewalk.provider(CONFIG, name="leaves_a_process", **WORDS)
class Leaves(Right):
    def once(self):
        if not os.fork():
            os.setsid()
            if not os.fork():
                with open(os.environ["LEFT"], "w") as file:
                    file.write(str(os.getpid()))
                time.sleep(600)
            os._exit(0)


@ropewalk.provider(CONFIG, name="exits", **WORDS)
class Exits(Right):
    def once(self):
        os._exit(7)


@ropewalk.provider(CONFIG, name="sleeps", **WORDS)
class Sleeps(Right):
    def once(self):
        time.sleep(float(os.environ.get("SLEEPS", "0")))


@ropewalk.provider(CONFIG, name="right", **WORDS)
class WithoutTorch(Right):
    def once(self):
        sys.modules["torch"] = None
