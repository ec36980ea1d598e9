import os
os.environ["TRITON_INTERPRET"] = "1"  # before triton is imported
import triton
import triton.language as tl
import ropewalk


@triton.jit
def rotate(x, out, cos, sin, T, H, xb, xt, xh, ob, ot, oh, N: tl.constexpr, HEADS: tl.constexpr,
           PAIRS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)  # a token; offsets may pass 2^31
    h, i = tl.arange(0, HEADS).to(tl.int64)[:, None], tl.arange(0, PAIRS)[None, :]
    b, t, ok = row // T, row % T, (h < H) & (i < N)
    x, out = x + b * xb + t * xt + h * xh + i, out + b * ob + t * ot + h * oh + i
    c, s = tl.load(cos + row * N + i, i < N), tl.load(sin + row * N + i, i < N)
    u, v = tl.load(x, ok).to(c.dtype), tl.load(x + N, ok).to(c.dtype)
    tl.store(out, u * c - v * s, ok)
    tl.store(out + N, v * c + u * s, ok)


@ropewalk.kernel(pairing="half_split", arrays="torch", dtypes=("f64", "f32", "f16"),
                 interpreter=True, thread_safe=False)
def triton_rope(x, cos, sin, out):
    B, T, H, n = *x.shape[:3], cos.shape[-1]
    rotate[(B * T,)](x, out, cos.contiguous(), sin.contiguous(), T, H, *x.stride()[:3],
                     *out.stride()[:3], n, triton.next_power_of_2(H), triton.next_power_of_2(n))
