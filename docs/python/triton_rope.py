import os
HAS_GPU = os.path.exists("/dev/nvidiactl")
if not HAS_GPU:
    os.environ["TRITON_INTERPRET"] = "1"  # before triton is imported
import triton
import triton.language as tl
import ropewalk


@triton.jit
def rotate(x, out, cos, sin, T, H, rows, xb, xt, xh, ob, ot, oh, ROWS: tl.constexpr,
           N: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]  # many at a time
    i = tl.arange(0, BLOCK)[None, :]
    b, t, h = row // (H * T), row // H % T, row % H
    x, out = x + b * xb + t * xt + h * xh + i, out + b * ob + t * ot + h * oh + i
    at, here = (b * T + t) * N + i, (row < rows) & (i < N)
    c, s = tl.load(cos + at, here), tl.load(sin + at, here)
    u, v = tl.load(x, here).to(c.dtype), tl.load(x + N, here).to(c.dtype)
    tl.store(out, u * c - v * s, here)
    tl.store(out + N, v * c + u * s, here)


@ropewalk.kernel(pairing="half_split", arrays="torch", device="cuda" if HAS_GPU else None,
                 dtypes=("f64", "f32", "f16", *(["bf16"] if HAS_GPU else [])),
                 interpreter=not HAS_GPU, thread_safe=HAS_GPU)
def triton_rope(x, cos, sin, out):
    B, T, H, n = *x.shape[:3], cos.shape[-1]
    rotate[(triton.cdiv(B * T * H, 256),)](
        x, out, cos.contiguous(), sin.contiguous(), T, H, B * T * H, *x.stride()[:3],
        *out.stride()[:3], 256, n, triton.next_power_of_2(n))
