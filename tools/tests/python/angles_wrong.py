"""Planted errors of providers. The law that must see each is its name up to the double underscore."""
import numpy as np
import ropewalk

LLAMA = {"model_type": "llama", "hidden_size": 256, "num_attention_heads": 4,
         "num_key_value_heads": 4, "max_position_embeddings": 4096, "rope_theta": 10000.0}
LINEAR = {**LLAMA, "rope_scaling": {"rope_type": "linear", "factor": 2.0}}
DYNAMIC = {**LLAMA, "rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}
YARN = {**LLAMA, "max_position_embeddings": 8192, "rope_scaling": {
    "rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 4096}}
NEOX = {**LLAMA, "model_type": "gpt_neox", "rotary_pct": 0.25}
FACTOR = {**LLAMA, "original_max_position_embeddings": 2048, "rope_scaling": {
    "rope_type": "longrope", "short_factor": [1.0] * 32, "long_factor": [1.0] * 32}}
SHORT = {**LLAMA, "max_position_embeddings": 64, "torch_dtype": "bfloat16"}
STORED = {}


def bf16(x):
    bits = np.asarray(x, "f4").view("u4").astype("u8")
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype("u4").view("f4")


class Right:
    """The rotary of Llama. Each planted error replaces a method."""

    def __init__(self, config):
        self.theta, self.longest, self.narrow = config["rope_theta"], 0, False
        self.inv_freq = self.frequencies()

    def frequencies(self):
        return (1 / np.float32(self.theta) ** (np.arange(0, 64, 2, dtype="f4") / 64)).astype("f4")

    def angles(self, positions):
        return positions[..., None].astype("f4") * self.inv_freq

    def __call__(self, positions, dtype):
        a, stored = self.angles(positions).astype("f8"), bf16 if dtype == "bf16" else np.float32
        return stored(np.cos(a)), stored(np.sin(a))

    def cast(self, dtype):
        pass

    def rotate(self, q, k, positions, dtype):
        cos, sin = (t[0][:, None] for t in Right.__call__(self, positions[None], "f32"))
        for x in (q, k):
            a, b = np.split(x, 2, -1)
            y = np.concatenate((a * cos - b * sin, b * cos + a * sin), -1)
            yield bf16(y) if dtype == "bf16" else y.astype("f4")


def plant(name, config=LLAMA, declared="f32", elsewhere=False, **methods):
    wrong = type(name, (Right,), methods)
    ropewalk.provider(config, name=name, dtypes=("f32", "bf16"), angles=declared,
                      scale_elsewhere=elsewhere)(wrong)


def stretched(s, tokens):
    factor = (2.0 * tokens / 4096 - 1) ** (64 / 62) if tokens > 4096 else 1.0
    s.inv_freq = ((s.theta * factor) ** (-np.arange(0, 64, 2) / 64)).astype("f4")


def longest_so_far(s, p):
    s.longest = max(s.longest, p.max() + 1)
    stretched(s, s.longest)
    return Right.angles(s, p)


def a_token_early(s, p):
    stretched(s, 8192 if p.max() == 4095 else p.max() + 1)
    return Right.angles(s, p)


def narrow_for_ever(s, p, dtype):
    s.narrow = s.narrow or dtype == "bf16"
    return Right.__call__(s, p, "bf16" if s.narrow else dtype)


def another_each_time(s):
    STORED["built"] = STORED.get("built", 0) + 1
    return np.nextafter(Right.frequencies(s), np.float32(STORED["built"] % 2))


def other_pairs(s, q, k, positions, dtype):
    order = np.arange(64).reshape(32, 2).T.ravel()
    turned = Right.rotate(s, q[..., order], k[..., order], positions, dtype)
    return [a[..., np.argsort(order)] for a in turned]


def key_backwards(s, q, k, p, dtype):
    q, _ = Right.rotate(s, q, k, p, dtype)
    return q, [*Right.rotate(s, k, k, -p, dtype)][1]


def longest_beyond(s, p):
    """As dynamic code that begins anew within the original context alone."""
    s.longest = max(s.longest, p.max() + 1) if p.max() >= 4096 else 0
    stretched(s, s.longest)
    return Right.angles(s, p)


def rows_of_first_type(s, p, dtype):
    """Rows are made once, in the type that asks for them."""
    if p.max() >= s.longest:
        s.longest, s.narrow = p.max() + 1, dtype == "bf16"
    return Right.__call__(s, p, "bf16" if s.narrow else dtype)


f, a, call = Right.frequencies, Right.angles, Right.__call__
plant("inv_freq__theta_lost", frequencies=lambda s: setattr(s, "theta", 500000.0) or f(s))
plant("inv_freq__rule_lost", YARN)
plant("inv_freq__in_bf16", frequencies=lambda s: bf16(f(s)))
plant("inv_freq__16_bits", SHORT, frequencies=lambda s: (f(s).view("u4") & 0xFFFFFF00).view("f4"))
plant("pairs__whole_head", NEOX)
plant("pairs__last_one_stays", angles=lambda s, p: a(s, p) * (np.arange(32) < 31))
plant("tables__of_bf16", __call__=lambda s, p, dtype: call(s, p, "bf16"))
plant("tables__of_bf16_positions", angles=lambda s, p: a(s, bf16(p)))
plant("tables__backwards", angles=lambda s, p: -a(s, p))
plant("tables__off_by_one", LINEAR, frequencies=lambda s: f(s) / np.float32(2),
      angles=lambda s, p: a(s, p + 1))
plant("tables__factor_missing", FACTOR)
plant("tables__factor_is_here", FACTOR, elsewhere=True,
      __call__=lambda s, p, dtype: [x * np.float32(1.04447) for x in call(s, p, dtype)])
plant("tables__a_third", angles=lambda s, p: a(s, p) / np.float32(3))
plant("tables__exact_declared", declared="exact", angles=lambda s, p: a(s, p).astype("f4"),
      frequencies=lambda s: s.theta ** (-np.arange(0, 64, 2) / 64))
plant("tables__product_for_division", declared="division")
plant("beyond_context__wraps", angles=lambda s, p: a(s, p % 4096))
plant("negative_positions__without_sign", angles=lambda s, p: a(s, abs(p)))
plant("context_edges__a_token_early", DYNAMIC, angles=a_token_early)
plant("shorter_after_longer__stays_stretched", DYNAMIC, angles=longest_so_far)
plant("batch_rows__first_for_all", angles=lambda s, p: a(s, np.broadcast_to(p[:1], p.shape)))
plant("decode__from_zero", angles=lambda s, p: a(s, p * (p.shape[1] > 1 or p.max() > 17)))
plant("second_config__one_for_all", frequencies=lambda s: STORED.setdefault("first", f(s)))
plant("second_dtype__stays_narrow", __call__=narrow_for_ever)
plant("cast__narrows_frequencies", cast=lambda s, dtype: setattr(s, "inv_freq", bf16(s.inv_freq)))
plant("rebuilt__another_each_time", frequencies=another_each_time)
plant("rotation__other_pairs", rotate=other_pairs)
plant("rotation__key_backwards", rotate=key_backwards)
plant("exact_angles__in_f32")
plant("tables__first_row_of_1500", angles=lambda s, p: a(s, np.where(p % 1500, p, 0)))
plant("beyond_context__first_rows_of_2048", angles=lambda s, p: a(s, np.where(p < 4096, p, p - p % 64)))


def left_padded(s, positions):
    """A position that repeats ends the row before it."""
    repeats = (np.diff(positions, axis=1, prepend=-1) == 0).any(axis=1, keepdims=True)
    return a(s, np.where(repeats & (len(positions) > 1), positions + 1, positions))


plant("shorter_after_longer__beyond", DYNAMIC, angles=longest_beyond)
plant("second_dtype__rows_of_first_type", __call__=rows_of_first_type)
plant("batch_rows__repeats", angles=left_padded)
plant("decode__bf16", __call__=lambda s, p, d: call(s, p + (d == "bf16" and p.size == 1), d))
