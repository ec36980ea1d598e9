"""rope_kernel.h in ctypes, with its names (`in` and `out` of operands: input and output)."""

import ctypes as C
from ctypes import c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint32, c_void_p

import numpy as np

from . import decorator

OK, UNSUPPORTED, FAILED = 0, 1, 2
DTYPES = (*decorator.DTYPES, "i32", "i64")
ROW_BY_TOKEN = 1
EXT_AXES, EXT_NORM, EXT_APPEND = 1, 2, 3


def _fields(*groups):
    return [(name, kind) for kind, names in groups for name in names.split()]


class Tensor(C.Structure):
    _fields_ = _fields((c_int64, "heads head_dim rotary_offset"),
                       (c_int64, "in_batch_stride in_token_stride in_head_stride"),
                       (c_int64, "out_batch_stride out_token_stride out_head_stride"),
                       (c_int32, "in_dtype out_dtype rotate in_place"),
                       (c_int64 * 4, "reserved"))

    def strides(self, side):
        """Of its "in" or "out": batch, token, head, element."""
        return *(getattr(self, f"{side}_{axis}_stride") for axis in ("batch", "token", "head")), 1


def _extension(name, *groups):
    head = (c_uint32, "kind struct_size"), (c_void_p, "next")
    return type(name, (C.Structure,), {"_fields_": _fields(*head, *groups)})


Axes = _extension("Axes", (c_int32, "axes reserved"),
                  (c_int64, "position_axis_stride table_axis_stride"), (c_void_p, "map_address"))
Norm = _extension("Norm", (c_double, "epsilon"), (c_uint32, "tensors"),
                  (c_int32, "weight_dtype weight_plus_one reserved"))
NormOperands = _extension("NormOperands", (c_void_p * 4, "weight"))
Append = _extension("Append", (c_uint32, "tensors"), (c_int32, "slot_dtype"),
                    (c_int64, "pages page_size"), (c_int64 * 4, "page_stride slot_stride head_stride"))
AppendOperands = _extension("AppendOperands", (c_void_p, "slot"), (c_void_p * 4, "cache"))


def _in_chain(kind, struct):
    """A copy of its extension of this kind; or None."""

    def found(self):
        at = self.next
        while at and (node := struct.from_address(at)).kind != kind:
            at = node.next
        return struct.from_buffer_copy(node) if at else None

    return property(found)


class Problem(C.Structure):
    _fields_ = _fields((c_uint32, "struct_size abi_version"),
                       (c_int32, "operation pairing angle_source table_dtype table_rows_by position_dtype"),
                       (c_int64, "batch tokens rotary_dim position_batch_stride position_token_stride"),
                       (c_int64, "min_position max_position table_rows table_row_stride"),
                       (c_void_p, "inv_freq_address"),
                       (c_double, "attention_scale"),
                       (c_uint32, "tensor_count reserved"),
                       (Tensor * 4, "tensor"),
                       (c_void_p, "next"))

    @property
    def inv_freq(self):
        """A copy of the rotary_dim / 2 frequencies, which a function may keep; or None."""
        if not self.inv_freq_address:
            return None
        return np.array((c_double * (self.rotary_dim // 2)).from_address(self.inv_freq_address))

    @property
    def axis_of_pair(self):
        """A copy of the map of the pairs to axes, int64; zeros without axes."""
        if not (axes := self.axes):
            return getattr(self, "kept_map", np.zeros(self.rotary_dim // 2, "i8"))
        return np.array((C.c_uint8 * (self.rotary_dim // 2)).from_address(axes.map_address), "i8")

    tensors = property(lambda self: self.tensor[: self.tensor_count])
    rotated = property(lambda self: [t for t in self.tensors if t.rotate])
    dtype = property(lambda self: DTYPES[self.tensor[0].in_dtype])
    has_table = property(lambda self: self.angle_source == 0)
    weight_type = property(lambda self: DTYPES[self.norm.weight_dtype])
    table_type = property(lambda self: DTYPES[self.table_dtype])
    axes, norm = _in_chain(EXT_AXES, Axes), _in_chain(EXT_NORM, Norm)
    append = _in_chain(EXT_APPEND, Append)


class Place(C.Structure):
    _fields_ = _fields((c_void_p, "input output cos sin"))


class Operands(C.Structure):
    _fields_ = _fields((c_uint32, "struct_size reserved"), (c_void_p, "positions"),
                       (Place * 4, "tensor"), (c_void_p, "workspace stream next"))
    norm = _in_chain(EXT_NORM, NormOperands)
    append = _in_chain(EXT_APPEND, AppendOperands)

    def key(self):  # all that is given, but not where extensions lie
        return bytes(self)[:-8], *(bytes(one)[16:] for one in (self.norm, self.append) if one)


SUPPORTS = PREPARE = C.CFUNCTYPE(c_int32, c_void_p, c_void_p)
RELEASE = C.CFUNCTYPE(None, c_void_p)


class KernelEntry(C.Structure):
    _fields_ = _fields((c_uint32, "struct_size abi_version"),
                       (c_char_p, "name summary source cpu_features"),
                       (c_int32, "memory angle_contract"),
                       (c_uint32, "flags extensions"),
                       (c_double, "error_bound"),
                       (SUPPORTS, "supports"),
                       (c_void_p, "workspace_bytes"),
                       (PREPARE, "prepare"),
                       (c_void_p, "apply"),
                       (RELEASE, "release"),
                       (c_uint32, "exceptions reads_past"))


class KernelList(C.Structure):
    _fields_ = _fields((c_uint32, "struct_size abi_version"), (c_size_t, "count"),
                       (C.POINTER(C.POINTER(KernelEntry)), "kernels"))


structs = Tensor, Axes, Norm, NormOperands, Append, AppendOperands, Problem, Operands, KernelEntry
assert [C.sizeof(s) for s in structs] == [120, 48, 40, 48, 136, 56, 616, 168, 112]
