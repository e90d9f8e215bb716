"""WHM and the lowerings of int_conv, int_hyper, world_model, gru_cell and int_mlp (§13.1-13.5)."""

import math

from wai_ops.canonical import has_keys, is_int, is_ints
from wai_ops.integers import HALF_UP, MAX_DIM
from wai_ops.parameters import (OPERATORS, PARAMETERS, BadParams, Records, Scalar, conv_params,
                                write_params)
from wai_ops.sets import LoweringRefused, require
from wai_ops.shapes import ShapeRule, output_shape
from wai_ops.whg1 import Graph, Input, Node

# What a LAYER or CONV holds: the operator's parameters, but for the counts its arrays give.
_DERIVED = {"rescale": {"n": "mult"}, "conv": {"n": "mult"}, "conv_transpose": {"n": "mult"},
            "igdn": {"c": "beta"}, "chscale": {"c": "m"}}
_LAYER_OPERATORS = [op for op in OPERATORS if op not in ("add", "mul", "concat")]


def _layer_ok(fields, op):
    """Whether a LAYER's fields, without `op`, are §5's parameters by name and JSON type."""
    kinds = {}
    for item in PARAMETERS[op]:
        if isinstance(item, Scalar):
            kinds[item.name] = is_int
        elif isinstance(item, Records):
            kinds.update((column.name, is_ints) for column in item.columns)
    for derived in _DERIVED.get(op, ()):
        del kinds[derived]
    return has_keys(fields, kinds) and all(ok(fields[name]) for name, ok in kinds.items())


def _with_counts(op, fields):
    return {**fields, **{name: len(fields[array_name])
                         for name, array_name in _DERIVED.get(op, {}).items()}}


def _range_ok(value, nullable=True):
    if value is None:
        return nullable
    return has_keys(value, ("hi", "lo")) and all(map(is_int, value.values()))


def _in_ok(value):
    return (has_keys(value, ("c", "fixed", "h_cap", "hi", "lo", "w_cap"))
            and all(map(is_int, value.values())))


def _head_ok(doc, form, keys):
    """What every form but TFQ shares."""
    return (has_keys(doc, {"form", "in", "max_elems", "pin", *keys}) and doc["form"] == form
            and is_int(doc["max_elems"]) and doc["pin"] in ("acc32", "acc64", ""))


def whm_form(form, extra=()):
    def check(doc):
        return (_head_ok(doc, form, {"layers", "out", *extra}) and _in_ok(doc["in"])
                and _range_ok(doc["out"]) and type(doc["layers"]) is list)
    return check


def int_hyper_h_form(doc):
    # A null OUT is a JSON type outside the layers that is not as stated, hence `form`.
    return whm_form("int_hyper_h")(doc) and doc["out"] is not None


def world_t_form(doc):
    if not (_head_ok(doc, "world_t", {"layers", "out", "state", "limit"})
            and (doc["in"] is None or _in_ok(doc["in"])) and doc["out"] is None
            and type(doc["layers"]) is list and _range_ok(doc["limit"], nullable=False)):
        return False
    state = doc["state"]
    return (has_keys(state, ("h", "hi", "init", "lo", "w")) and is_ints(state["init"])
            and all(is_int(state[key]) for key in ("h", "hi", "lo", "w")))


def gru_form(doc):
    return (_head_ok(doc, "gru_cell", {"f", "h", "n", "o", "r", "z"}) and _in_ok(doc["in"])
            and is_int(doc["f"]) and is_int(doc["o"])
            and has_keys(doc["h"], ("c", "init")) and all(map(is_int, doc["h"].values())))


def whm_layers(doc):
    for i, layer in enumerate(doc["layers"]):
        known = type(layer) is dict and layer.get("op") in _LAYER_OPERATORS
        require(known, "layer", f"layer {i} is not an operator that a layer may be")
        fields = {name: value for name, value in layer.items() if name != "op"}
        require(_layer_ok(fields, layer["op"]), "layer",
                 f"layer {i}: the fields are not {layer['op']}'s")


def int_hyper_g_layers(doc):
    whm_layers(doc)
    require(doc["layers"] and doc["layers"][-1]["op"] == "clamp", "layer",
             "the last layer is not a clamp")


def gru_layers(doc):
    for name in "zrn":
        require(_layer_ok(doc[name], "conv"), "layer", f"{name}: the fields are not a conv's")


def mlp_layers(doc):
    for i, layer in enumerate(doc["layers"]):
        ok = (has_keys(layer, ("act", "bias", "cout", "mult", "rnd", "shift", "w"))
              and _range_ok(layer["act"]) and is_int(layer["cout"]) and is_int(layer["rnd"])
              and all(is_ints(layer[name]) for name in ("bias", "mult", "shift", "w")))
        require(ok, "layer", f"layer {i}: the fields are not a layer's")


def _data_input(value):
    return Input(value["c"], value["h_cap"], value["w_cap"], value["lo"], value["hi"],
                 value["fixed"])


def _state_input(c, h, w, lo, hi, init):
    return Input(c, h, w, lo, hi, init=init)


def _add_layers(graph, layers, value):
    for layer in layers:
        fields = {name: field for name, field in layer.items() if name != "op"}
        value = graph.add(layer["op"], value, **_with_counts(layer["op"], fields))
    return value


def _finish_chain(graph, value, out):
    if out is not None:
        value = graph.add("check", value, lo=out["lo"], hi=out["hi"])
    graph.outputs = [value]
    return graph


def lower_whm(doc, _):
    graph = Graph(doc["max_elems"], [_data_input(doc["in"])])
    return _finish_chain(graph, _add_layers(graph, doc["layers"], 0), doc["out"])


def lower_world_t(doc, entry):
    state, action = doc["state"], doc["in"]
    dims = (entry["c"], state["h"], state["w"])
    require(all(1 <= d <= MAX_DIM for d in dims) and len(state["init"]) == math.prod(dims),
             "limit", f"init has {len(state['init'])} integers for (c, h, w) {dims}")
    graph = Graph(doc["max_elems"], [_state_input(*dims, state["lo"], state["hi"], state["init"])])
    value = 0
    if action is not None:
        require(action["fixed"] == 1 and (action["h_cap"], action["w_cap"]) == dims[1:], "limit",
                 "the action is not fixed to the state's h and w")
        graph.inputs.append(_data_input(action))
        value = graph.add("concat", 0, 1)
    total = graph.add("add", 0, _add_layers(graph, doc["layers"], value))
    limit = graph.add("clamp", total, lo=doc["limit"]["lo"], hi=doc["limit"]["hi"])
    graph.outputs, graph.updates = [limit], [limit]
    return graph


def _gru_conv(doc, name):
    conv, given, hidden = _with_counts("conv", doc[name]), doc["in"], doc["h"]["c"]
    require(conv["cout"] == hidden and conv["cin"] == given["c"] + hidden, "limit",
             f"{name}: cin {conv['cin']}, cout {conv['cout']}")
    try:
        write_params("conv", conv)
        shape = output_shape(Node("conv", [], conv), [(conv["cin"], given["h_cap"],
                                                       given["w_cap"])])
    except (BadParams, ShapeRule) as error:
        raise LoweringRefused("limit", f"{name}: {error}") from None
    require(shape[1:] == (given["h_cap"], given["w_cap"]), "limit",
             f"{name}: an output of {shape[1:]}, not of the input's size")
    return conv


def lower_gru(doc, _):
    given, hidden, f, o = doc["in"], doc["h"], doc["f"], doc["o"]
    require(given["fixed"] == 1, "limit", "the input is not fixed")
    require(1 <= f <= 26 and 1 <= o <= 30, "limit", f"f {f} or o {o}")
    dims = (hidden["c"], given["h_cap"], given["w_cap"])
    require(all(1 <= d <= MAX_DIM for d in dims) and math.prod(dims) <= doc["max_elems"]
             and math.prod(dims) < 1 << 29, "limit", f"a hidden state of {dims}")
    one = 1 << o
    graph = Graph(doc["max_elems"],
                  [_data_input(given),
                   _state_input(*dims, -one, one, [hidden["init"]] * math.prod(dims))])
    x, h = 0, 1
    half_up_one = {"rnd": HALF_UP, "mult": 1, "shift": o}

    def rescale(value, mult, post_bias):
        return graph.add("rescale", value, rnd=HALF_UP, n=1, mult=[mult], shift=[0],
                         post_bias=[post_bias])

    joined = graph.add("concat", x, h)
    update = graph.add("sigmoid", graph.add("conv", joined, **_gru_conv(doc, "z")), f=f, o=o)
    reset = graph.add("sigmoid", graph.add("conv", joined, **_gru_conv(doc, "r")), f=f, o=o)
    kept = graph.add("concat", x, graph.add("mul", reset, h, **half_up_one))
    candidate = graph.add("sigmoid", graph.add("conv", kept, **_gru_conv(doc, "n")), f=f - 1, o=o)
    tanh = rescale(candidate, 2, -one)
    change = graph.add("add", tanh, rescale(h, -1, 0))
    moved = graph.add("add", h, graph.add("mul", update, change, **half_up_one))
    result = graph.add("clamp", moved, lo=-one, hi=one)
    graph.outputs, graph.updates = [result], [result]
    return graph


def lower_mlp(doc, _):
    given = doc["in"]
    require((given["fixed"], given["h_cap"], given["w_cap"]) == (1, 1, 1), "limit",
             "the input is not fixed to 1x1")
    graph = Graph(doc["max_elems"], [_data_input(given)])
    value, channels = 0, given["c"]
    for layer in doc["layers"]:
        rqb = (layer["rnd"], layer["mult"], layer["shift"], [0] * len(layer["mult"]))
        value = graph.add("conv", value, **conv_params(channels, layer["cout"], (1, 1),
                                                        layer["w"], layer["bias"], rqb))
        channels = layer["cout"]
        if layer["act"] is not None:
            value = graph.add("clamp", value, lo=layer["act"]["lo"], hi=layer["act"]["hi"])
    return _finish_chain(graph, value, doc["out"])
