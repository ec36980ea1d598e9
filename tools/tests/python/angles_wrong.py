"""Planted errors of providers. The law that must see each is its name up to the double underscore."""
import numpy as np
import ropewalk

LLAMA = {"model_type": "llama", "hidden_size": 256, "num_attention_heads": 4,
         "num_key_value_heads": 4, "max_position_embeddings": 4096, "rope_theta": 10000.0}
DYNAMIC = {**LLAMA, "rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}
YARN = {**LLAMA, "max_position_embeddings": 8192, "rope_scaling": {
    "rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 4096}}
STORED = {}


def bf16(x):
    bits = np.asarray(x, "f4").view("u4").astype("u8")
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype("u4").view("f4")


class Right:
    """The rotary of Llama. Each planted error replaces one of its methods."""

    def __init__(self, config):
        self.theta, self.dim = config["rope_theta"], 64
        self.inv_freq = self.frequencies()

    def frequencies(self):
        return (1 / np.float32(self.theta) ** (np.arange(0, self.dim, 2, dtype="f4") / self.dim)).astype("f4")

    def angles(self, positions):
        return positions[..., None].astype("f4") * self.inv_freq

    def __call__(self, positions, dtype):
        a = self.angles(positions).astype("f8")
        stored = bf16 if dtype == "bf16" else np.float32
        return stored(np.cos(a)), stored(np.sin(a))

    def cast(self, dtype):
        pass

    def rotate(self, q, k, positions, dtype):
        cos, sin = (t[0][:, None] for t in self(positions[None], "f32"))
        out = []
        for x in (q, k):
            a, b = np.split(x, 2, -1)
            y = np.concatenate((a * cos - b * sin, b * cos + a * sin), -1)
            out.append(bf16(y) if dtype == "bf16" else y.astype("f4"))
        return out


def plant(config=LLAMA, **words):
    def offer(wrong):
        ropewalk.provider(config, name=wrong.__name__, dtypes=("f32", "bf16"), **words)(wrong)

    return offer


@plant()
class inv_freq__theta_lost(Right):
    def frequencies(self):
        self.theta = 500000.0
        return super().frequencies()


@plant(YARN)
class inv_freq__rule_lost(Right):
    pass


@plant()
class inv_freq__in_bf16(Right):
    def frequencies(self):
        return bf16(super().frequencies())


@plant({**LLAMA, "max_position_embeddings": 64, "torch_dtype": "bfloat16"})
class inv_freq__16_bits(Right):
    def frequencies(self):
        return (super().frequencies().view("u4") & 0xFFFFFF00).view("f4")


@plant({**LLAMA, "model_type": "gpt_neox", "rotary_pct": 0.25})
class pairs__whole_head(Right):
    pass


@plant()
class pairs__last_one_stays(Right):
    def angles(self, positions):
        return super().angles(positions) * (np.arange(32) < 31)


@plant()
class tables__of_bf16(Right):
    def __call__(self, positions, dtype):
        return super().__call__(positions, "bf16")


@plant()
class tables__of_bf16_positions(Right):
    def angles(self, positions):
        return super().angles(bf16(positions))


@plant()
class tables__backwards(Right):
    def angles(self, positions):
        return -super().angles(positions)


@plant({**YARN, "rope_scaling": {**YARN["rope_scaling"], "rope_type": "linear"}})
class tables__off_by_one(Right):
    def frequencies(self):
        return super().frequencies() / np.float32(2)

    def angles(self, positions):
        return super().angles(positions + 1)


@plant()
class beyond_context__wraps(Right):
    def angles(self, positions):
        return super().angles(positions % 4096)


@plant()
class negative_positions__without_sign(Right):
    def angles(self, positions):
        return super().angles(abs(positions))


class Dynamic(Right):
    """The base grows with the length beyond the original context."""

    def stretch(self, tokens):
        factor = (2.0 * tokens / 4096 - 1) ** (self.dim / (self.dim - 2)) if tokens > 4096 else 1.0
        exponents = np.arange(0, self.dim, 2) / self.dim
        self.inv_freq = ((self.theta * factor) ** -exponents).astype("f4")

    def angles(self, positions):
        self.stretch(positions.max() + 1)
        return super().angles(positions)


@plant(DYNAMIC)
class context_edges__a_token_early(Dynamic):
    def stretch(self, tokens):
        super().stretch(8192 if tokens == 4096 else tokens)


@plant(DYNAMIC)
class shorter_after_longer__stays_stretched(Dynamic):
    longest = 0

    def stretch(self, tokens):
        self.longest = max(self.longest, tokens)
        super().stretch(self.longest)


@plant()
class batch_rows__first_for_all(Right):
    def angles(self, positions):
        return super().angles(np.broadcast_to(positions[:1], positions.shape))


@plant()
class decode__from_zero(Right):
    def angles(self, positions):
        alone = positions.shape[1] == 1 and 0 < positions[0, 0] < 17
        return super().angles(positions - positions[:, :1] * alone)


@plant()
class second_config__one_for_all(Right):
    def frequencies(self):
        return STORED.setdefault("frequencies", super().frequencies())


@plant()
class second_dtype__stays_narrow(Right):
    narrow = False

    def __call__(self, positions, dtype):
        self.narrow = self.narrow or dtype == "bf16"
        return super().__call__(positions, "bf16" if self.narrow else dtype)


@plant()
class cast__narrows_frequencies(Right):
    def cast(self, dtype):
        self.inv_freq = bf16(self.inv_freq)


@plant()
class rebuilt__another_each_time(Right):
    def frequencies(self):
        STORED["built"] = STORED.get("built", 0) + 1
        return np.nextafter(super().frequencies(), np.float32(STORED["built"] % 2))


@plant()
class rotation__other_pairs(Right):
    def rotate(self, q, k, positions, dtype):
        order = np.arange(64).reshape(32, 2).T.ravel()
        y = super().rotate(q[..., order], k[..., order], positions, dtype)
        return [a[..., np.argsort(order)] for a in y]


@plant()
class rotation__key_backwards(Right):
    def rotate(self, q, k, positions, dtype):
        return [super(type(self), self).rotate(q, k, p, dtype)[i] for i, p in ((0, positions), (1, -positions))]


@plant()
class exact_angles__in_f32(Right):
    pass


@plant(angles="exact")
class tables__exact_declared(Right):
    def frequencies(self):
        return self.theta ** (-np.arange(0, self.dim, 2) / self.dim)

    def angles(self, positions):
        return super().angles(positions).astype("f4")
