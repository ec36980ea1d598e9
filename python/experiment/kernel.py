"""A Ropewalk kernel of a plugin as a function that torch can differentiate.

A problem is [batch, tokens, heads, head_dim] in f32, out of place, with positions 0 .. tokens - 1
and a table of one row for each. One call rotates q and k. States live as long as the process."""

import ctypes as C
import os
import sys
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


def refuse(text):
    sys.stderr.write(f"experiment: {text}\n")
    sys.exit(2)


try:
    import torch
    from ropewalk import contract as c
except ImportError as error:
    refuse(f"{error}: it needs torch and numpy")

torch.set_num_threads(1)
torch.use_deterministic_algorithms(True)

FORWARD, TRANSPOSE = c.NUMBERS["FORWARD"], c.NUMBERS["TRANSPOSE"]
HALF_SPLIT, ANGLES_TABLE, OUT_OF_PLACE = (
    c.NUMBERS[name] for name in ("HALF_SPLIT", "ANGLES_TABLE", "OUT_OF_PLACE")
)
F32, I64 = c.DTYPES.index("f32"), c.DTYPES.index("i64")
BASE = 10000.0
APPLY = C.CFUNCTYPE(C.c_int32, C.c_void_p, C.c_void_p, C.c_void_p)
WORKSPACE = C.CFUNCTYPE(C.c_size_t, C.c_void_p)


def kernels_of(path):
    """The kernels of a plugin by name."""
    try:
        listed = C.CDLL(os.path.abspath(path)).rope_kernels_v1
    except (OSError, AttributeError) as error:
        refuse(f"{path} is not a plugin: {error}")
    listed.restype = C.POINTER(c.KernelList)
    kernels = listed().contents
    addresses = (C.c_void_p * kernels.count).from_address(kernels.kernels)
    entries = [c.KernelEntry.from_address(address) for address in addresses]
    return {entry.name.decode(): entry for entry in entries}


def find(plugins, names):
    """One Kernel for each name, from the first plugin that has it."""
    there = {}
    for path in plugins:
        there = kernels_of(path) | there
    for name in names:
        if name not in there:
            has = ", ".join(sorted(there)[:12]) + (", ..." if len(there) > 12 else "")
            refuse(f"no kernel {name} in {', '.join(plugins)}: {len(there)} there, {has}")
    return [Kernel(name, there[name]) for name in names]


def processor():
    """The words of this processor, without underscores as in cpu_features."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    flags = next((line for line in lines if line.startswith("flags")), "")
    return set(flags.replace("_", "").split())


class Kernel:
    def __init__(self, name, entry):
        self.name, self.entry, self.calls = name, entry, {}
        newest = entry.struct_size >= C.sizeof(c.KernelEntry)
        for wrong, why in (
            (entry.memory, "takes device memory"),
            (not entry.flags & OUT_OF_PLACE, "works in place alone"),
            (newest and entry.reads_past, "reads past the end"),
        ):
            if wrong:
                refuse(f"{name} {why}")
        needs = (entry.cpu_features or b"").decode().replace("_", "").split(",")
        missing = set(needs) - processor() - {""}
        if missing:
            refuse(f"{name} needs {', '.join(sorted(missing))}, which this processor lacks")
        self.apply = C.cast(entry.apply, APPLY)

    def prepared(self, shape, operation):
        """The problem of a shape with its state, and the arrays that they point to."""
        batch, tokens, heads, dim = shape
        half = dim // 2
        inv_freq = BASE ** (-torch.arange(half, dtype=torch.float64) / half)
        angles = torch.arange(tokens, dtype=torch.float64)[:, None] * inv_freq
        arrays = [inv_freq, torch.arange(tokens), angles.cos().float(), angles.sin().float()]
        strides = [tokens * heads * dim, heads * dim, dim]
        size = C.sizeof(c.Problem)
        problem = c.Problem(size, 1, operation, HALF_SPLIT, ANGLES_TABLE, F32)
        problem.position_dtype, problem.position_token_stride = I64, 1
        problem.batch, problem.tokens, _, problem.rotary_dim = shape
        problem.max_position, problem.table_rows = tokens - 1, tokens
        problem.table_row_stride = half
        problem.inv_freq_address, problem.attention_scale, problem.tensor_count = inv_freq.data_ptr(), 1, 2
        for i in range(2):
            problem.tensor[i] = c.TYPES["rope_tensor"](heads, dim, 0, *strides, *strides, F32, F32, 1, 0)
        address, reason, state = C.addressof(problem), C.c_char_p(), C.c_void_p()
        if c.SUPPORTS(self.entry.supports)(address, C.addressof(reason)) != c.OK:
            refuse(f"{self.name} refuses {list(shape)}: {(reason.value or b'').decode()}")
        size = self.entry.workspace_bytes
        size = C.cast(size, WORKSPACE)(address) if size else 0
        arrays.append(torch.empty(size, dtype=torch.uint8))
        if self.entry.prepare and c.PREPARE(self.entry.prepare)(address, C.addressof(state)) != c.OK:
            refuse(f"{self.name} failed to prepare {list(shape)}")
        return problem, state, arrays

    def rotate(self, q, k, operation):
        """R q and R k, or with TRANSPOSE the same of R^T, in one call."""
        key = (*q.shape, operation)
        if key not in self.calls:
            self.calls[key] = self.prepared(q.shape, operation)
        problem, state, (_, positions, cos, sin, workspace) = self.calls[key]
        inputs = [q.contiguous(), k.contiguous()]
        outputs = [torch.empty_like(x) for x in inputs]
        operands = c.Operands(struct_size=C.sizeof(c.Operands), positions=positions.data_ptr())
        operands.workspace = workspace.data_ptr() if len(workspace) else None
        for i, (x, y) in enumerate(zip(inputs, outputs)):
            operands.tensor[i] = (x.data_ptr(), y.data_ptr(), cos.data_ptr(), sin.data_ptr())
        if self.apply(C.addressof(problem), C.addressof(operands), state) != c.OK:
            raise RuntimeError(f"apply of {self.name} failed")
        return tuple(outputs)

    def __call__(self, q, k):
        return Rotation.apply(q, k, self)


class Rotation(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, kernel):
        ctx.kernel = kernel
        return kernel.rotate(q, k, FORWARD)

    @staticmethod
    def backward(ctx, dq, dk):
        return (*ctx.kernel.rotate(dq, dk, TRANSPOSE), None)
