"""Load step 8, profiles and certificates (§7, §8.5)."""

from wai_ops.bounds import Bounds
from wai_ops.canonical import canonical_line, has_keys, is_int, is_ints, is_str
from wai_ops.shapes import plan
from wai_ops.whg1 import LoadRefused, read_graph

PROFILES = ("acc32", "acc64")
_STRENGTH = {"none": 0, "acc64": 1, "acc32": 2}


def meets(verdict, profile):
    return _STRENGTH[verdict] >= _STRENGTH[profile]


def bounds_of(data):
    """Load steps 1-7 and the bounds pass: (graph, bounds), or LoadRefused."""
    graph = read_graph(data)
    return graph, Bounds(graph, plan(graph))


def load(data):
    """Load steps 1-8: (graph, bounds), or LoadRefused."""
    graph, bounds = bounds_of(data)
    if not meets(bounds.verdict, "acc64"):
        raise LoadRefused("bounds", f"acc64 fails at {bounds.fail_acc64}")
    return graph, bounds


def certificate(capability, lowering, digest, graphs):
    """The certificate's bytes and verdict for [(role, WHG1 bytes)]; LoadRefused by steps 1-7."""
    roles = []
    for role, data in graphs:
        try:
            roles.append(bounds_of(data)[1].role(role))
        except LoadRefused as refusal:
            raise LoadRefused(refusal.code, f"role {role}: {refusal}") from None
    verdict = min((role["verdict"] for role in roles), key=_STRENGTH.get)
    value = {"capability": capability, "cert": "wai-ops-bounds/1", "lowering": lowering,
             "roles": roles, "set": digest, "verdict": verdict}
    return canonical_line(value), verdict


def certificate_fault(value):
    """Why a value has not §8.5's form, its verdicts included, or None."""
    if not has_keys(value, ("capability", "cert", "lowering", "roles", "set", "verdict")):
        return "not the fields of a certificate"
    if value["cert"] != "wai-ops-bounds/1" or type(value["roles"]) is not list:
        return "cert or roles"
    if not all(is_str(value[key]) for key in ("capability", "lowering", "set")):
        return "capability, lowering or set is not a string"
    for role in value["roles"]:
        if not (has_keys(role, ("fail_acc32", "fail_acc64", "role", "values", "verdict"))
                and is_str(role["role"])):
            return "not the fields of a role"
        for key in ("fail_acc32", "fail_acc64"):
            if type(role[key]) is not list or not all(
                    type(f) is list and len(f) == 2 and is_int(f[0]) and is_str(f[1])
                    for f in role[key]):
                return f"{key} is not a list of [id, name]"
        verdict = ("acc32" if not role["fail_acc32"] else
                   "acc64" if not role["fail_acc64"] else "none")
        if role["verdict"] != verdict or not _values_ok(role["values"]):
            return "a role's verdict or values"
    verdicts = [role["verdict"] for role in value["roles"]]
    if not verdicts or value["verdict"] != min(verdicts, key=_STRENGTH.get):
        return "the verdict is not the weakest of the roles'"
    return None


def _values_ok(values):
    return type(values) is list and all(
        has_keys(value, ("id", "named", "op")) and is_int(value["id"]) and value["id"] == i
        and is_str(value["op"])
        and type(value["named"]) is list
        and all(type(named) is list and len(named) == 3 and is_str(named[0])
                and is_ints(named[1:]) for named in value["named"])
        for i, value in enumerate(values))
