"""Functions as people have them, by the words of the decorator. Each has a twin that is wrong in
what its words say."""
import numpy as np
import ropewalk


def turned(a, b, cos, sin):
    return a * cos - b * sin, b * cos + a * sin


def whole_split(x, cos, sin):
    return np.concatenate(turned(*np.split(x, 2, axis=-1), cos, sin), axis=-1)


for twin in ("right", "wrong"):
    wrong = twin == "wrong"

    # As DeepSeek's attention: heads of 192 whose last 64 turn, and one key of 64.
    @ropewalk.kernel(name=f"{twin}_last_64_of_192", pairing="interleaved", layout="THD", whole=True,
                     inverse="none", head_dims=(192, 64), rotary_dim=64, rotary_offset=(128, 0),
                     names={"k_pe": "k"})
    def last_64_of_192(q, k_pe, cos, sin, at=0 if wrong else 128):
        q, k_pe = q.copy(), k_pe.copy()
        for x in (q[..., at : at + 64], k_pe):
            x[..., 0::2], x[..., 1::2] = turned(x[..., 0::2], x[..., 1::2].copy(), cos, sin)
        return q, k_pe

    # As vLLM's operator: in place, on [tokens, heads * head_dim], with the cache of all positions.
    @ropewalk.kernel(name=f"{twin}_packed_cache", pairing="both", layout="TD", tables="cache",
                     returns="in_place", names={"positions": "position_ids", "cache": "table",
                                                "head_size": "head_dim", "neox": "half_split"})
    def packed_cache(positions, q, k, head_size, cache, neox, shift=int(wrong)):
        n = cache.shape[-1] // 2
        rows = cache[np.maximum(positions - shift, 0)][:, None]
        for x in (q, k):
            x = x.reshape(len(x), -1, head_size)[..., : 2 * n]
            a, b = (x[..., :n], x[..., n:]) if neox else (x[..., 0::2], x[..., 1::2])
            a[...], b[...] = turned(a, b.copy(), rows[..., :n], rows[..., n:])

    # One buffer of q, k and v for each token.
    @ropewalk.kernel(name=f"{twin}_qkv", pairing="half_split", rotary_dim="head_dim",
                     heads_axis=False, names={"hq": "q_heads", "hk": "k_heads", "d": "head_dim"})
    def one_buffer(qkv, cos, sin, hq, hk, d, too_many=int(wrong)):
        for h in range(hq + hk + too_many):  # the head after those of k is the first of v
            qkv[:, h * d : (h + 1) * d] = whole_split(qkv[:, h * d : (h + 1) * d], cos, sin)

    # As FlashAttention: [batch, tokens, 3, heads, dim].
    @ropewalk.kernel(name=f"{twin}_stacked", pairing="half_split", layout="BT3HD",
                     rotary_dim="head_dim", heads_axis=False)
    def stacked(qkv, cos, sin, turned=slice(3 if wrong else 2)):
        qkv[:, :, turned] = whole_split(qkv[:, :, turned], cos[:, None, None], sin[:, None, None])

    # As Megatron: [sequence, batch, heads, dim].
    @ropewalk.kernel(name=f"{twin}_sbhd", pairing="half_split", layout="TBHD", heads_axis=False)
    def sbhd(x, cos, sin, token=slice(0, 1) if wrong else slice(None)):  # the angles of token 0
        return whole_split(x, cos[token, :, None], sin[token, :, None])

    # As transformers: cos and sin are rotary_dim wide and have no axis of heads.
    @ropewalk.kernel(name=f"{twin}_hf", pairing="half_split", layout="BHTD", tables="full",
                     heads_axis=False)
    def hf(q, k, cos, sin, step=-1 if wrong else 1):
        cos, sin = cos[:, None, ::step], sin[:, None, ::step]

        def turn(x):
            a, b = np.split(x, 2, axis=-1)
            return x * cos + np.concatenate((-b, a), axis=-1) * sin

        return turn(q), turn(k)

    # As Meta's Llama: complex numbers, and a table [tokens, n] without a batch.
    @ropewalk.kernel(name=f"{twin}_meta", pairing="interleaved", layout="1THD", tables="complex",
                     heads_axis=False, names={"xq": "q", "xk": "k", "freqs_cis": "table"})
    def meta(xq, xk, freqs_cis, turn_k=np.conj if wrong else np.positive):
        assert freqs_cis.shape == (xq.shape[1], xq.shape[-1] // 2)
        table = freqs_cis[None, :, None]

        def turn(x, table):
            z = (x[..., 0::2] + 1j * x[..., 1::2]) * table
            return np.stack((z.real, z.imag), axis=-1).reshape(x.shape).astype(x.dtype)

        return turn(xq, table), turn(xk, turn_k(table))

    # As GLM: adjacent pairs, and half a row of cos twice over, in the type of the data.
    @ropewalk.kernel(name=f"{twin}_glm", pairing="interleaved", tables="twice", dtypes="f16",
                     tables_dtype="data", error_bound=3.3)
    def glm(x, cos, sin, as_it_is=wrong):
        assert cos.dtype == x.dtype == np.float16
        rows = [np.repeat(t[..., : t.shape[-1] // 2], 2, -1) for t in (cos, sin)]
        cos, sin = (cos, sin) if as_it_is else rows
        return x * cos + np.stack((-x[..., 1::2], x[..., 0::2]), -1).reshape(x.shape) * sin
