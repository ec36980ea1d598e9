import numpy as np
import ropewalk

LLAMA = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 1, "rope_theta": 10000.0}
print("hello from a library")


@ropewalk.kernel(pairing="half_split")
def with_kernel(x, cos, sin):
    a, b = np.split(x, 2, -1)
    return np.concatenate((a * cos - b * sin, b * cos + a * sin), -1)


@ropewalk.provider(LLAMA)
def raises(config):
    raise ZeroDivisionError("no such config")


@ropewalk.provider({"model_type": "bert"})
def rotates_nothing(config):
    return None


@ropewalk.provider(LLAMA, angles="exact")
def seeds(config):
    np.random.seed(7)
    freq = np.array([config["rope_theta"] ** (-i / 32) for i in range(32)])
    return lambda positions, dtype: np.exp(1j * np.multiply.outer(positions, freq)).astype("c8")
