"""rope_kernel.h in ctypes, made of contract_layout.inc. `in` and `out` of operands are input and output
here; the address of an array ends in _address."""

import ctypes as C
import os
import re
from itertools import groupby

import numpy as np

from . import decorator

DTYPES = (*decorator.DTYPES, "i32", "i64")
TYPES = {"u4": C.c_uint32, "u8": C.c_uint64, "i4": C.c_int32, "i8": C.c_int64, "f8": C.c_double,
         "p8": C.c_void_p, "z8": C.c_char_p}
NAMES = {"in": "input", "out": "output", "inv_freq": "inv_freq_address",
         "axis_of_pair": "map_address"}
with open(os.path.join(os.path.dirname(__file__), "contract_layout.inc"), encoding="ascii") as _file:
    _text = _file.read()
NUMBERS = {name: int(value) for name, value in re.findall(r"CONSTANT\(ROPE_(\w+), (\d+)\)", _text)}
OK, UNSUPPORTED, FAILED, ROW_BY_TOKEN, EXT_AXES, EXT_NORM, EXT_APPEND = (
    NUMBERS[name] for name in ("OK", "UNSUPPORTED", "FAILED", "ROW_BY_TOKEN", "EXT_AXES", "EXT_NORM", "EXT_APPEND"))


def _class(name, fields):
    """A structure of (field, type, bytes); fields like tensor[2].in are of an array of structures."""
    members = []
    for (outer, nested), group in groupby(fields, lambda f: (f[0].split("[")[0], "[" in f[0])):
        group = list(group)
        if nested:
            inner = [(f.split(".")[1], *rest) for f, *rest in group if f.startswith(f"{outer}[0]")]
            kind, count = _class(outer, inner), len(group) // len(inner)
        else:
            kind = TYPES[group[0][1]]
            count = int(group[0][2]) // C.sizeof(kind)
        members.append((NAMES.get(outer, outer), kind * count if count > 1 else kind))
    anonymous = ["ext"] if members[0][0] == "ext" else []
    return type(name, (C.Structure,), {"_anonymous_": anonymous, "_fields_": members})


for _name, _fields in groupby(re.findall(r"FIELD\((\w+), ([^,]+), (\w+), \d+, (\d+)\)", _text), lambda f: f[0]):
    TYPES[_name] = _class(_name, [f[1:] for f in _fields])
NormOperands, AppendOperands = TYPES["rope_norm_operands"], TYPES["rope_append_operands"]
Axes, KernelEntry, KernelList = TYPES["rope_axes"], TYPES["rope_kernel"], TYPES["rope_kernel_list"]


def strides(tensor, side):
    """Of its "in" or "out": batch, token, head, element."""
    return *(getattr(tensor, f"{side}_{axis}_stride") for axis in ("batch", "token", "head")), 1


def _in_chain(kind, struct):
    """A copy of its extension of this kind; or None."""

    def found(self):
        at = self.next
        while at and (node := struct.from_address(at)).kind != kind:
            at = node.next
        return struct.from_buffer_copy(node) if at else None

    return property(found)


class Problem(TYPES["rope_problem"]):
    @property
    def inv_freq(self):
        """A copy of the rotary_dim / 2 frequencies, which a function may keep; or None."""
        if not self.inv_freq_address:
            return None
        return np.array((C.c_double * (self.rotary_dim // 2)).from_address(self.inv_freq_address))

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
    axes, norm = _in_chain(EXT_AXES, Axes), _in_chain(EXT_NORM, TYPES["rope_norm"])
    append = _in_chain(EXT_APPEND, TYPES["rope_append"])


class Operands(TYPES["rope_operands"]):
    norm = _in_chain(EXT_NORM, NormOperands)
    append = _in_chain(EXT_APPEND, AppendOperands)

    def key(self):  # all that is given, but not where extensions lie
        return bytes(self)[:-8], *(bytes(one)[16:] for one in (self.norm, self.append) if one)


SUPPORTS = PREPARE = C.CFUNCTYPE(C.c_int32, C.c_void_p, C.c_void_p)
RELEASE = C.CFUNCTYPE(None, C.c_void_p)
assert all(C.sizeof(TYPES[name]) == int(size) for name, size in re.findall(r"STRUCT\((\w+), (\d+)\)", _text))
