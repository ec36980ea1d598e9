"""onnxruntime: RotaryEmbedding of ONNX (opset 23) and of com.microsoft, in models of one node."""

import os
from functools import cache, partial
from itertools import product

import numpy as np

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # else it keeps a database, and a thread
import onnxruntime
from onnx import TensorProto, helper

import ropewalk

PACKAGE = "onnxruntime"
TRIED = ("1.32.0",)
NOT_COVERED = "CUDA and other providers, packed batches, scales, windows of a head"
TYPES_OF = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16}


@cache
def session(domain, dtype, interleaved, cache_rows):
    """A model of one node; with `cache_rows`, it reads them by position."""
    names = ["x", "position_ids", "cos", "sin"] if domain else ["x", "cos", "sin", "position_ids"]
    names = names if cache_rows else names[:3]
    node = helper.make_node("RotaryEmbedding", names, ["y"], domain=domain, interleaved=interleaved)
    kinds = {"position_ids": TensorProto.INT64}
    values = [helper.make_tensor_value_info(n, kinds.get(n, TYPES_OF[dtype]), None)
              for n in (*names, "y")]
    graph = helper.make_graph([node], "rope", values[:-1], values[-1:])
    opsets = [helper.make_opsetid("", 23), helper.make_opsetid("com.microsoft", 1)]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()
    return onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])


for choice in product(("", "com.microsoft"), ("float32", "float16"), (0, 1), (False, True)):
    if choice[0] == "" or choice[3]:  # com.microsoft has no other form
        session(*choice)


def refused(problem):
    if problem.attention_scale not in (0, 1):
        return "has no attention scale"
    return "needs as many rows as tokens" if problem.tokens > problem.table_rows else None


WORDS = {"pairing": "both", "layout": "BHTD", "heads_axis": False, "tables_dtype": "data",
         "dtypes": ("f32", "f16"), "inverse": "none", "supports": refused}


@ropewalk.kernel(name="onnx", **WORDS)
def onnx_rows(x, cos, sin, half_split):
    given = {"x": x, "cos": cos, "sin": sin}
    return session("", x.dtype.name, int(not half_split), False).run(None, given)[0]


def by_cache(domain, x, table, position_ids, half_split):
    cos, sin = (np.ascontiguousarray(a) for a in np.split(table, 2, axis=1))
    given = {"x": x, "cos": cos, "sin": sin, "position_ids": position_ids}
    return session(domain, x.dtype.name, int(not half_split), True).run(None, given)[0]


for name, domain in (("onnx_cache", ""), ("microsoft_cache", "com.microsoft")):
    ropewalk.kernel(name=name, tables="cache", **WORDS)(partial(by_cache, domain))
