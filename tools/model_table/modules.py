"""What the modules of an installed transformers do with a config: built without weights, run once.

A forward pass on the meta device shows each call of a rotation: its heads, sizes and the tables it
was given. The rotation itself is then replayed on unit vectors at position 1 with real tables, so
that partners, directions and angles come from the model's own function.
"""

import importlib
import inspect
import logging
import os
import re
import warnings

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
warnings.filterwarnings("ignore")

import torch  # noqa: E402
import transformers  # noqa: E402
import transformers.utils.import_utils as import_utils  # noqa: E402
from transformers.models.auto.configuration_auto import CONFIG_MAPPING  # noqa: E402

torch.set_num_threads(1)
logging.disable(logging.CRITICAL)
import_utils.is_cuda_stream_capturing = lambda: False  # asks a driver that need not be there
ROTATION = re.compile(r"^(vision_)?apply_\w*(rot|rope)\w*$")
TOKENS = 11  # no model has as many heads


def config_of(model_type, keys=None):
    return CONFIG_MAPPING[model_type](**(keys or {}))


def is_rotary(module):
    name = type(module).__name__
    return re.search("Rotary|RoPE|Rope", name) is not None and "Attention" not in name


def build(config):
    """The smallest model class of this config, on the meta device; the error of the best one."""
    name = type(config).__name__
    try:
        place = type(config).__module__.replace("configuration_", "modeling_")
        space = importlib.import_module(place)
    except ModuleNotFoundError:  # such as internlm3, whose model is Llama's
        with torch.device("meta"):
            return transformers.MODEL_MAPPING[type(config)](config).eval()
    classes = [
        c
        for c in vars(space).values()
        if inspect.isclass(c)
        and issubclass(c, transformers.PreTrainedModel)
        and c.__module__ == space.__name__
        and "PreTrained" not in c.__name__
        and (getattr(c, "config_class", None) is type(config)
             or name in str(c.__init__.__annotations__.get("config", "")))
    ]
    classes.sort(key=lambda c: (getattr(c, "config_class", None) is not type(config),
                                "For" in c.__name__, len(c.__name__)))
    error = LookupError(f"no model class takes {name}")
    for index, model_class in enumerate(classes):
        try:
            with torch.device("meta"):
                return model_class(config).eval()
        except Exception as fault:  # noqa: BLE001
            error = fault if index == 0 else error
    raise error


def calls_of(model):
    """[(module, function, args, keywords)] of every rotation of one forward pass, and behind them
    what it raised, if it did."""
    calls, stack, undo = [], [], []
    spaces = {inspect.getmodule(type(m)) for m in model.modules()}
    for space in [s for s in spaces if s and s.__name__.startswith("transformers.models")]:
        for name, old in list(vars(space).items()):
            if re.match(r"create_\w*mask\w*$", name):
                undo.append((space, name, old))
                setattr(space, name, lambda *a, **k: None)
            elif callable(old) and ROTATION.match(name):
                undo.append((space, name, old))

                def record(*args, _old=old, **keywords):
                    calls.append((stack[-1], _old, args, keywords))
                    return _old(*args, **keywords)

                setattr(space, name, record)
    for module in model.modules():
        module.register_forward_pre_hook(lambda m, a: stack.append(m))
        module.register_forward_hook(lambda m, a, o: stack.pop() and None)
        if is_rotary(module):

            # Without the update of dynamic rules, which looks at positions: here they have none.
            plain = inspect.unwrap(type(module).forward)

            def tagged(*args, _old=plain, _module=module, **keywords):
                words = [w for w in (*args, *keywords.values()) if isinstance(w, str)]
                try:
                    out = _old(_module, *args, **keywords)
                except RuntimeError:  # it asks for the longest position
                    out = [t.to("meta") for t in real_tables(_module, *(words or [None]), 0)[0]]
                    out = tuple(out)
                for index, table in enumerate(out if isinstance(out, tuple) else (out,)):
                    table.source = (_module, words[0] if words else None, index)
                return out

            module.forward = tagged
    ids = torch.zeros(1, TOKENS, dtype=torch.long, device="meta")
    try:
        with torch.no_grad():
            model(**({"input_ids": ids} if has(model, "input_ids") else
                     {"inputs_embeds": torch.zeros(1, TOKENS, width_of(model), device="meta")}),
                  **({"use_cache": False} if has(model, "use_cache") else {}))
    except Exception as fault:  # noqa: BLE001
        if not calls:
            call_alone(model, {old.__name__ for _, _, old in undo if ROTATION.match(old.__name__)})
        calls.append(fault)  # what was seen before it stands
    for space, name, old in undo:
        setattr(space, name, old)
    return calls


def call_alone(model, rotations):
    """Calls each attention of a model whose input is no text, with the tables of its rotary."""
    rotary = next((m for m in model.modules() if is_rotary(m)), None)
    for module in model.modules():
        try:
            names = inspect.signature(module.forward).parameters
            if not any(r in inspect.getsource(type(module).forward) for r in rotations):
                continue
            wide = next(m for m in module.modules() if isinstance(m, torch.nn.Linear)).in_features
            keywords = {n: None for n, p in names.items() if p.default is p.empty and p.kind < 4
                        and p.kind != p.VAR_POSITIONAL}
            keywords["hidden_states"] = torch.zeros(1, TOKENS, wide, device="meta")
            ids = torch.zeros(1, TOKENS, dtype=torch.long, device="meta")
            keywords |= {"position_ids": ids} if "position_ids" in names else {}
            if rotary is not None and "position_embeddings" in names:
                keywords["position_embeddings"] = rotary(keywords["hidden_states"], ids)
            module(**keywords)
        except Exception:  # noqa: BLE001
            continue


def has(model, name):
    return name in inspect.signature(model.forward).parameters


def width_of(model):
    return getattr(model.config, "hidden_size", None) or model.config.d_model


def real_tables(module, word, context):
    """(tables, inv_freq, attention scale) with positions of 1, and the last one context - 1."""
    real = type(module)(module.config)
    keywords = {} if word is None else {"layer_type": word}
    ids = torch.ones(1, TOKENS, dtype=torch.long)
    ids[0, -1] = max(context - 1, 1)
    out = real(torch.zeros(1, TOKENS, 1), ids, **keywords)
    prefix = f"{word}_" if word and hasattr(real, f"{word}_inv_freq") else ""
    scale = getattr(real, f"{prefix}attention_scaling", 1.0)
    return out if isinstance(out, tuple) else (out,), getattr(real, f"{prefix}inv_freq"), scale


def axes_of(source):
    """The position axis of each pair, where a rotary has several; NULL where it has one."""
    real = type(source[0])(source[0].config)
    sections = getattr(real, "mrope_section", None)
    if isinstance(sections, dict):
        sections = sections[source[1]]
    if not sections:
        return None, None
    axes, keywords = {}, {} if source[1] is None else {"layer_type": source[1]}
    for axis in range(len(sections)):
        ids = torch.zeros(len(sections), 1, TOKENS, dtype=torch.long)
        ids[axis] = 1
        sin = real(torch.zeros(1, TOKENS, 1), ids, **keywords)[1][0, 0].double()
        axes |= {i: axis for i in sin.nonzero().flatten().tolist()}
    size = len(axes)
    split = sin_is_halved(axes, size)
    pairs = [axes[i if split else 2 * i] for i in range(size // 2)]
    return list(sections), pairs


def tower_of(config):
    """Of a vision tower: how it pairs elements, and the axis and frequency of each pair."""
    space = importlib.import_module(type(config).__module__.replace("configuration_", "modeling_"))
    real = next(c for c in vars(space).values() if hasattr(c, "compute_axial_rope_parameters")
                and c.__init__.__annotations__["config"] in (type(config), type(config).__name__))
    real = real(config)
    head = getattr(config, "head_dim", None)
    head = head or getattr(config, "embed_dim", config.hidden_size) // config.num_attention_heads
    count = max(2, head // (2 * len(real.inv_freq)))
    axis, angle = {}, {}
    for turned in range(count):
        ids = torch.zeros(1, count, dtype=torch.long)
        ids[0, turned] = 1
        cos, sin = (t[0].double() for t in real(torch.zeros(1, 1), ids))
        axis |= {i: turned for i in sin.nonzero().flatten().tolist()}
        angle |= {i: torch.atan2(sin[i], cos[i]).item() for i in sin.nonzero().flatten().tolist()}
    tables = real(torch.zeros(1, 1), torch.ones(1, count, dtype=torch.long))
    named = [n for n in vars(space) if ROTATION.match(n)]
    function = vars(space)[max(named, key=lambda n: n.endswith("vision"))]
    units = torch.eye(head)[None]
    turned = function(units, units, *tables)[0][0]
    half = len(axis) // 2
    for pairing, first, apart in (("half_split", range(half), half),
                                  ("interleaved", range(0, 2 * half, 2), 1)):
        if all(abs(turned[i, i + apart] - tables[1][0, i]) < 1e-6 and turned[i, i + apart] != 0
               for i in first):
            return pairing, [axis[i] for i in first], [angle[i] for i in first]
    raise ValueError("no known pairing")


def sin_is_halved(axes, size):
    """Whether a table repeats its halves; otherwise it repeats each element."""
    return all(axes[i] == axes[i + size // 2] for i in range(size // 2))


def replay(function, args, keywords, context):
    """Rotates the unit vectors: (matrix, inv_freq, scale). The tables of a call without a rotary
    module are computed as its code does."""
    tables = [a for a in (*args, *keywords.values()) if isinstance(a, torch.Tensor)]
    source = next((t.source for t in tables if hasattr(t, "source")), None)
    if source is None:
        space = inspect.getmodule(function)
        row = space.create_sinusoidal_positions(2, 2 * tables[-1].shape[-1])[1]
        sin, cos = (t.expand(1, TOKENS, -1) for t in row.chunk(2))
        real, inv_freq, scale = {1: sin, 2: cos}, torch.atan2(*row.double().chunk(2)), 1.0
        swap = lambda index, t: real.get(index, t)  # noqa: E731
    else:
        outs, inv_freq, scale = real_tables(source[0], source[1], context)
        swap = lambda index, t: outs[t.source[2]] if hasattr(t, "source") else t  # noqa: E731

    def real_of(index, value):
        if not isinstance(value, torch.Tensor):
            return value
        value = swap(index, value)
        if value.device.type != "meta":
            return value
        size, shape = value.shape[-1], [TOKENS if n == TOKENS else 1 for n in value.shape[:-1]]
        heads = next(i for i in (1, 2) if value.shape[i] != TOKENS)
        return torch.eye(size).reshape([size if i == heads else 1 for i in range(3)] + [size]) \
            .expand([size if i == heads else n for i, n in enumerate(shape)] + [size]).clone()

    args = [real_of(i, a) for i, a in enumerate(args)]
    out = function(*args, **{k: real_of(None, v) for k, v in keywords.items()})
    out = (out[0] if isinstance(out, tuple) else out).double()
    rows = out[0, :, 0] if out.shape[1] != TOKENS else out[0, 0]
    return rows, inv_freq, scale


def pairs_of(matrix):
    """[(first, second, angle, length)] of the pairs that turn, by first element; the first goes
    towards the second. An element of weight one that stays alone is not rotated."""
    size, pairs = len(matrix), {}
    for index in range(size):
        places = tuple(matrix[index].nonzero().flatten().tolist())
        pairs.setdefault(places, []).append(index)
    out = []
    for places, both in pairs.items():
        if len(places) != 2 or len(both) != 2:
            if len(places) == 1 and len(both) == 1:
                continue
            return None
        turned = [matrix[i][list(places)].tolist() for i in both]
        # (c, s) and (-s, c): the row whose off-diagonal product with c is positive is first.
        for (a, b), order in ((turned, both), (turned[::-1], both[::-1])):
            if abs(a[0] - b[1]) < 1e-6 and abs(a[1] + b[0]) < 1e-6:
                angle = torch.atan2(torch.tensor(a[1]).double(), torch.tensor(a[0]).double()).item()
                if angle < 0:
                    order, angle = order[::-1], -angle
                out.append((*order, angle, (a[0] ** 2 + a[1] ** 2) ** 0.5))
                break
        else:
            return None
    return sorted(out)


def window_of(module, tensor):
    """(heads, head_dim, offset) of what is rotated, as one row of a head lies in memory."""
    heads = next((n for n in tensor.shape[1:-1] if n != TOKENS), 1)
    size = getattr(module, "qk_head_dim", None) or getattr(module, "head_dim", None)
    if hasattr(module, "kv_lora_rank") or hasattr(module, "qk_nope_head_dim"):
        if heads == 1:
            return 1, tensor.shape[-1], 0
        # The end of a head, by where it lies; a product, such as a scaled one, lies alone.
        return heads, size, tensor.storage_offset() or getattr(module, "qk_nope_head_dim", 0)
    return heads, size or tensor.shape[-1], 0


def facts(config, context=0):
    """What is rotated: [{name, count, q_heads, ...}], one entry for each kind of layer, in order of
    the layers, and the number of attention modules that are not rotated. Raises what transformers
    raises, and ValueError for a rotation that is none."""
    calls = calls_of(build(config))
    fault = calls.pop() if calls and isinstance(calls[-1], Exception) else None
    kinds, seen = {}, {}
    for module, function, args, keywords in calls:
        if re.search("Indexer|Compressor|Decoder$", type(module).__name__):
            continue
        tensors = [a for a in (*args, *keywords.values()) if isinstance(a, torch.Tensor)]
        plain = [t for t in tensors if not hasattr(t, "source") and t.dim() == 4]
        word = next((t.source[1] for t in tensors if hasattr(t, "source")), None)
        seen.setdefault(module, []).extend((function, args, keywords, word, t) for t in plain[:2])
    for module, rotated in seen.items():
        if len(rotated) < 2:  # it takes the K of an earlier layer
            continue
        # Q first; where it is not, as in GPT-J, K has the same heads.
        q, k = (window_of(module, r[4]) for r in rotated[:2])
        function, args, keywords, word, _ = rotated[0]
        name = word or getattr(module, "layer_type", None) or ""
        config = next((id(t.source[0].config) for t in args if hasattr(t, "source")), 0)
        key = (name, q, k, config)
        if key not in kinds:
            kinds[key] = one_kind(name, q, k, replay(function, args, keywords, context))
            source = next((t.source for t in args if hasattr(t, "source")), None)
            sections, axes = axes_of(source) if source else (None, None)
            kinds[key] |= {"sections": sections, "axes": axes} if axes else {}
        kinds[key]["count"] += 1
    if not kinds and fault is not None:
        raise fault
    return list(kinds.values())


def one_kind(name, q, k, replayed):
    matrix, inv_freq, scale = replayed
    pairs = pairs_of(matrix)
    if pairs is None:
        raise ValueError("not a rotation of pairs")
    turned = 2 * len(inv_freq)
    first = [p[0] for p in pairs]
    start = min((min(p[0], p[1]) for p in pairs), default=0)
    kinds = {"half_split": lambda i: (start + i, start + i + turned // 2),
             "interleaved": lambda i: (start + 2 * i, start + 2 * i + 1),
             "half_split, turned back": lambda i: (start + i + turned // 2, start + i)}
    fits = [kind for kind, place in kinds.items()
            if {p[:2] for p in pairs} <= {place(i) for i in range(turned // 2)}]
    place = kinds[fits[0]] if fits else None
    angles = {p[:2]: p[2] for p in pairs}
    used = []
    for i in range(turned // 2 if fits else 0):
        angle = angles.get(place(i), 0.0)
        nearest = min(inv_freq.double().tolist(), key=lambda f: abs(f - angle))
        if abs(nearest - angle) > 1e-5 * max(angle, 1e-12) + 1e-12:
            nearest = angle  # the module multiplies its buffer by something
        used.append(nearest)
    lengths = {round(p[3], 6) for p in pairs}
    scale = scale if lengths and abs(max(lengths) - scale) < 1e-5 else max(lengths, default=1.0)
    return {"name": name, "count": 0, "q_heads": q[0], "k_heads": k[0], "head_dim": q[1],
            "k_head_dim": k[1], "rotary_dim": turned, "q_offset": q[2] + start,
            "k_offset": k[2] + start, "pairing": fits[0] if fits else "unknown",
            "attention_scale": float(scale), "inv_freq": used, "pairs": len(first)}
