import os
os.environ["TRITON_INTERPRET"] = "1"  # before triton is imported
import triton
import triton.language as tl
import ropewalk


@triton.jit
def rotate(x, out, cos, sin, T, H, xb, xt, xh, ob, ot, oh, N: tl.constexpr, BLOCK: tl.constexpr):
    row, i = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)  # strides may pass 2^31
    b, t, h = row // (H * T), row // H % T, row % H
    x, out = x + b * xb + t * xt + h * xh + i, out + b * ob + t * ot + h * oh + i
    at = (b * T + t) * N + i
    c, s = tl.load(cos + at, i < N), tl.load(sin + at, i < N)
    u, v = tl.load(x, i < N).to(c.dtype), tl.load(x + N, i < N).to(c.dtype)
    tl.store(out, u * c - v * s, i < N)
    tl.store(out + N, v * c + u * s, i < N)


@ropewalk.kernel(pairing="half_split", arrays="torch", dtypes=("f64", "f32", "f16"),
                 interpreter=True, thread_safe=False)
def triton_rope(x, cos, sin, out):
    B, T, H, n = *x.shape[:3], cos.shape[-1]
    rotate[(B * T * H,)](x, out, cos.contiguous(), sin.contiguous(), T, H, *x.stride()[:3],
                         *out.stride()[:3], n, triton.next_power_of_2(n))
