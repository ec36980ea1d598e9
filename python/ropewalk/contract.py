"""rope_kernel.h in ctypes, with its names (`in` and `out` of operands: input and output)."""

import ctypes as C

OK, UNSUPPORTED, FAILED = 0, 1, 2
TRANSPOSE = 1
HALF_SPLIT = 1  # 0: interleaved
DTYPES = ("f64", "f32", "f16", "bf16", "i32", "i64")
ANGLES_TABLE = 0
ROW_BY_TOKEN = 1
ANGLE_CONTRACTS = ("table", "exact", "f32")
IN_PLACE, OUT_OF_PLACE, THREAD_SAFE, BITWISE_INVARIANT = 1 << 0, 1 << 1, 1 << 2, 1 << 3
MIXES_PAIRS, FLUSHES_SUBNORMALS = 1 << 4, 1 << 5
INTERPRETED, OWN_THREADS = 1 << 8, 1 << 9


def _fields(kind, names):
    return [(name, kind) for name in names.split()]


class Tensor(C.Structure):
    _fields_ = [
        *_fields(C.c_int64, "heads head_dim rotary_offset"),
        *_fields(C.c_int64, "in_batch_stride in_token_stride in_head_stride"),
        *_fields(C.c_int64, "out_batch_stride out_token_stride out_head_stride"),
        *_fields(C.c_int32, "in_dtype out_dtype rotate in_place"),
        ("reserved", C.c_int64 * 4),
    ]


class Problem(C.Structure):
    _fields_ = [
        *_fields(C.c_uint32, "struct_size abi_version"),
        *_fields(C.c_int32, "operation pairing angle_source table_dtype"),
        *_fields(C.c_int32, "table_rows_by position_dtype"),
        *_fields(C.c_int64, "batch tokens rotary_dim position_batch_stride position_token_stride"),
        *_fields(C.c_int64, "min_position max_position table_rows table_row_stride"),
        ("inv_freq", C.c_void_p),
        ("attention_scale", C.c_double),
        *_fields(C.c_uint32, "tensor_count reserved"),
        ("tensor", Tensor * 4),
        ("next", C.c_void_p),
    ]


class Place(C.Structure):
    _fields_ = _fields(C.c_void_p, "input output cos sin")


class Operands(C.Structure):
    _fields_ = [
        *_fields(C.c_uint32, "struct_size reserved"),
        ("positions", C.c_void_p),
        ("tensor", Place * 4),
        *_fields(C.c_void_p, "workspace stream next"),
    ]


SUPPORTS = C.CFUNCTYPE(C.c_int32, C.c_void_p, C.c_void_p)
PREPARE = C.CFUNCTYPE(C.c_int32, C.c_void_p, C.c_void_p)
RELEASE = C.CFUNCTYPE(None, C.c_void_p)


class KernelEntry(C.Structure):
    _fields_ = [
        *_fields(C.c_uint32, "struct_size abi_version"),
        *_fields(C.c_char_p, "name summary source cpu_features"),
        *_fields(C.c_int32, "memory angle_contract"),
        *_fields(C.c_uint32, "flags extensions"),
        ("error_bound", C.c_double),
        ("supports", SUPPORTS),
        ("workspace_bytes", C.c_void_p),
        ("prepare", PREPARE),
        ("apply", C.c_void_p),
        ("release", RELEASE),
    ]


class KernelList(C.Structure):
    _fields_ = [
        *_fields(C.c_uint32, "struct_size abi_version"),
        ("count", C.c_size_t),
        ("kernels", C.POINTER(C.POINTER(KernelEntry))),
    ]


assert [C.sizeof(s) for s in (Tensor, Problem, Operands, KernelEntry)] == [120, 616, 168, 104]
