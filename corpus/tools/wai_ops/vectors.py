"""Vector lines rewritten from their inputs (§14.1)."""

import re

from wai_ops.canonical import canonical, decode_base64, has_keys, is_ints
from wai_ops.certificate import PROFILES, load, meets
from wai_ops.problem import Problem
from wai_ops.run import Instance, RunRefused
from wai_ops.stage import run_stage
from wai_ops.whg1 import LoadRefused

ID_PART = re.compile("[A-Za-z0-9_.]+")


def _tensors(where, value):
    """A decode's `in` as [(shape, elements)]; wrong numbers are the run's to refuse, types not."""
    ok = type(value) is list and all(has_keys(t, ("data", "shape")) and is_ints(t["data"])
                                     and is_ints(t["shape"]) for t in value)
    if not ok:
        raise Problem(where, "in is not a list of {data, shape} of integers")
    return [(t["shape"], t["data"]) for t in value]


def _expect(instance, tensors):
    try:
        outputs = instance.decode(tensors)
    except RunRefused as refusal:
        return {"refuse": refusal.code}
    return {"out": [{"data": list(data), "shape": list(shape)} for shape, data in outputs]}


def rewrite_graph_vector(where, doc):
    """(the vector as its graph and inputs give it, (graph, bounds) or None when refused)."""
    if not has_keys(doc, ("decodes", "graph", "id", "load", "profiles")):
        raise Problem(where, "not the fields of a graph vector")
    data = decode_base64(doc["graph"])
    if data is None:
        raise Problem(where, "graph is not base64")
    if type(doc["decodes"]) is not list:
        raise Problem(where, "decodes is not a list")
    result = {"decodes": [], "graph": doc["graph"], "id": doc["id"], "load": "ok",
              "profiles": list(PROFILES)}
    try:
        graph, bounds = load(data)
    except LoadRefused as refusal:
        result["load"] = refusal.code
        return result, None
    result["profiles"] = [profile for profile in PROFILES if meets(bounds.verdict, profile)]
    instance = Instance(graph)
    for i, decode in enumerate(doc["decodes"]):
        if not has_keys(decode, ("expect", "in")):
            raise Problem(where, f"decode {i} has not the fields expect and in")
        tensors = _tensors(f"{where}: decode {i}", decode["in"])
        result["decodes"].append({"expect": _expect(instance, tensors), "in": decode["in"]})
    return result, (graph, bounds)


def rewrite_stage_vector(where, doc):
    """The vector as its `in` gives it; both modes must agree (§5E.0.2)."""
    if not has_keys(doc, ("expect", "id", "in", "modes", "op", "profiles")):
        raise Problem(where, "not the fields of a stage vector")
    if doc["op"] != doc["id"].split("/")[0]:
        raise Problem(where, f"op {doc['op']!r} is not the id's")
    expect = run_stage(doc["op"], doc["in"], "whole")
    if run_stage(doc["op"], doc["in"], "step") != expect:
        raise Problem(where, "the modes step and whole differ")
    return {"expect": expect, "id": doc["id"], "in": doc["in"], "modes": ["step", "whole"],
            "op": doc["op"], "profiles": list(PROFILES)}


def first_difference(found, expected, path=""):
    """Where and how two values first differ in canonical form, in words, or None."""
    if canonical(found) == canonical(expected):
        return None
    pairs = []
    if type(found) is dict and type(expected) is dict and found.keys() == expected.keys():
        pairs = [(f"{path}.{key}" if path else key, found[key], expected[key])
                 for key in sorted(found)]
    if type(found) is list and type(expected) is list and len(found) == len(expected):
        pairs = [(f"{path}[{i}]", a, b) for i, (a, b) in enumerate(zip(found, expected))]
    inner = (first_difference(a, b, name) for name, a, b in pairs)
    return (next(filter(None, inner), None)
            or f"{path or 'value'} is {short(found)}, and must be {short(expected)}")


def short(value):
    text = canonical(value)
    return text if len(text) <= 80 else text[:77] + "..."
