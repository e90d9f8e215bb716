"""Shape rules and the plan, load step 7 (§5, §10.6)."""

import itertools
import math

from wai_ops.integers import MAX_DIM
from wai_ops.whg1 import LoadRefused, need


class ShapeRule(Exception):
    """A clause of a shape rule that fails."""


def _clause(condition, what):
    if not condition:
        raise ShapeRule(what)


def window(size, before, after, kernel, stride, dilation=1):
    """Output size of a window over a padded axis; None for an axis not known."""
    if size is None:
        return None
    extent = (kernel - 1) * dilation + 1
    padded = size + before + after
    _clause(padded >= extent, f"{padded} is smaller than the kernel's {extent}")
    return (padded - extent) // stride + 1


def _transposed(size, before, after, kernel, stride):
    if size is None:
        return None
    out = (size - 1) * stride + kernel - before - after
    _clause(out >= 1, f"{out} elements are left")
    return out


def _cut(size, before, after):
    if size is None:
        return None
    _clause(size - before - after >= 1, f"{size - before - after} elements are left")
    return size - before - after


def _scaled(size, factor, plus=0):
    return None if size is None else size * factor + plus


def _same(first, second):
    _clause(first is None or second is None or first == second, f"{first} differs from {second}")


def output_shape(node, shapes):
    """The shape a node gives; an axis that is None is not known, and no clause on it is tried."""
    op, p = node.op, node.p
    c, h, w = shapes[0]
    if op in ("conv", "conv_transpose"):
        _clause(c == p["cin"], f"{c} channels, cin {p['cin']}")
        c = p["cout"]
    if op == "conv":
        h = window(h, p["pt"], p["pb"], p["kh"], p["sh"], p["dh"])
        w = window(w, p["pl"], p["pr"], p["kw"], p["sw"], p["dw"])
    elif op == "conv_transpose":
        h = _transposed(h, p["pt"], p["pb"], p["kh"], p["sh"])
        w = _transposed(w, p["pl"], p["pr"], p["kw"], p["sw"])
    elif op == "maxpool":
        h = window(h, p["pt"], p["pb"], p["kh"], p["sh"])
        w = window(w, p["pl"], p["pr"], p["kw"], p["sw"])
    elif op == "rescale":
        _clause(p["n"] in (1, c), f"n {p['n']} with {c} channels")
    elif op in ("add", "mul"):
        for a, b in zip(*shapes):
            _same(a, b)
    elif op == "concat":
        for axis in (1, 2):
            for a, b in itertools.combinations([shape[axis] for shape in shapes], 2):
                _same(a, b)
        c = sum(shape[0] for shape in shapes)
    elif op == "crop":
        h, w = _cut(h, p["pt"], p["pb"]), _cut(w, p["pl"], p["pr"])
    elif op == "pad":
        h, w = _scaled(h, 1, p["pt"] + p["pb"]), _scaled(w, 1, p["pl"] + p["pr"])
    elif op == "slice":
        _clause(p["c1"] <= c, f"c1 {p['c1']} with {c} channels")
        c = p["c1"] - p["c0"]
    elif op == "pixel_shuffle":
        _clause(c % p["r"] ** 2 == 0, f"{c} channels, r {p['r']}")
        c, h, w = c // p["r"] ** 2, _scaled(h, p["r"]), _scaled(w, p["r"])
    elif op in ("igdn", "chscale"):
        _clause(c == p["c"], f"{c} channels, c {p['c']}")
    for dim in (c, h, w):
        _clause(dim is None or 1 <= dim <= MAX_DIM, f"an output dim of {dim}")
    return (c, h, w)


def plan(graph):
    """Load step 7: the shape of every value, None where an axis is not known."""
    shapes = [entry.shape if entry.fixed else (entry.c, None, None) for entry in graph.inputs]
    for i, node in enumerate(graph.nodes):
        try:
            shape = output_shape(node, [shapes[arg] for arg in node.args])
        except ShapeRule as error:
            raise LoadRefused("plan", f"node {i}: {node.op}: {error}") from None
        if None not in shape:
            need(math.prod(shape) <= graph.max_elems, "plan",
                  f"node {i}: {math.prod(shape)} elements, max_elems {graph.max_elems}")
        shapes.append(shape)
    for state, update in zip(graph.states(), graph.updates):
        need(shapes[update] == shapes[state], "plan",
              f"update {update} of shape {shapes[update]}, state {shapes[state]}")
    return shapes
