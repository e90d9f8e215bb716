#!/usr/bin/env python3
"""Cases for helx_ops_differential: differential_cases.py OUT [--seed S] [--count N].

Takes the corpus's vectors and sets, breaks or bends each in one or two places, and writes what the
independent checker (corpus/tools) makes of them, one JSON value a line. The C++ implementation must
make the same of every one: the same code, the same integers, the same certificate, the same lowered
bytes.
"""

import argparse
import base64
import hashlib
import json
import pathlib
import random
import struct
import sys
import zlib

TREE = pathlib.Path(__file__).resolve().parents[3]
CORPUS = TREE / "corpus" / "ops-conformance"
sys.path.insert(0, str(TREE / "corpus" / "tools"))

# pylint: disable=wrong-import-position
from wai_ops.canonical import canonical, canonical_line  # noqa: E402
from wai_ops.certificate import bounds_of, certificate, load  # noqa: E402
from wai_ops.lowerings import LOWERINGS  # noqa: E402
from wai_ops.npu import npu_verdict  # noqa: E402
from wai_ops.sets import LoweringRefused, set_digest  # noqa: E402
from wai_ops.vectors import rewrite_graph_vector, rewrite_stage_vector  # noqa: E402
from wai_ops.whg1 import LoadRefused, read_graph  # noqa: E402

EDGES = sorted({sign * ((1 << bits) + step) for bits in (0, 1, 3, 5, 6, 7, 8, 14, 15, 16, 24, 30, 31,
                                                        32, 62, 63, 64)
                for step in (-1, 0, 1) for sign in (1, -1)})
# Elements beyond which a decode would take long.
FEW_ELEMENTS = 1 << 16


def bent_integer(rng, value):
    return rng.choice([value + 1, value - 1, -value, 2 * value, 0, rng.choice(EDGES),
                       rng.choice(EDGES)])


def places(value, path=()):
    """The paths of every part of a JSON value, the value itself first."""
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], path + (key,))
    elif isinstance(value, list):
        # Of a long list, its ends: the middle is like them.
        indices = range(len(value))
        for index in indices if len(value) <= 12 else [*indices[:4], *indices[-2:]]:
            yield from places(value[index], path + (index,))


def bend(rng, value):
    """A copy of a JSON value, changed in one place."""
    value = json.loads(json.dumps(value))
    path = rng.choice([place for place in places(value) if place])
    holder = value
    for key in path[:-1]:
        holder = holder[key]
    key, old = path[-1], holder[path[-1]]
    kind = rng.random()
    if kind < 0.06:
        del holder[key]
    elif kind < 0.12:
        holder[key] = rng.choice([None, "", "x", [], {}, True, 0, [old], {"a": old}])
    elif isinstance(holder, list) and kind < 0.25:
        holder.insert(key, old)
    elif isinstance(holder, dict) and kind < 0.15:
        holder[key + "x"] = old
    elif isinstance(old, bool):
        holder[key] = not old
    elif isinstance(old, int):
        holder[key] = bent_integer(rng, old)
    elif isinstance(old, str):
        words = ["valid", "same", "none", "relu", "relu6", "double", "single", "acc32", "acc64", "",
                 "int8", "int32", "planar", "interleaved", "conv", "clamp", "ADD", "RESHAPE", "PAD",
                 "MAX_POOL_2D", "AVERAGE_POOL_2D", "CONV_2D", "DEPTHWISE_CONV_2D", "rescale"]
        holder[key] = rng.choice(words)
    elif isinstance(old, list) and old:
        holder[key] = rng.choice([old[:-1], old[1:], old + old[-1:], old[::-1]])
    else:
        holder[key] = rng.choice([None, [0], {"hi": 5, "lo": -5}, {"hi": -5, "lo": 5}])
    return value


def bent(rng, value):
    value = bend(rng, value)
    return bend(rng, value) if rng.random() < 0.2 else value


def bent_bytes(rng, data):
    """Bytes with one to three of a WHG1's fields changed; mostly with right checksums."""
    data = bytearray(data)
    n_in, n_nodes, n_out, n_state = struct.unpack_from("<IIII", data, 8)
    fields = [(at, width) for at, width in ((4, 2), (6, 2), (8, 4), (12, 4), (16, 4), (20, 4), (24, 8),
                                            (32, 4), (44, 8), (56, 4))]
    fields += [(64 + 48 * i + at, width) for i in range(n_in) for at, width in (
        (0, 1), (1, 1), (2, 2), (4, 4), (8, 4), (12, 4), (16, 8), (24, 8), (32, 4), (36, 4), (40, 8))] * 2
    nodes = 64 + 48 * n_in
    fields += [(nodes + 12 * i + at, width) for i in range(n_nodes)
               for at, width in ((0, 2), (2, 2), (4, 4), (8, 4))]
    outputs = nodes + 12 * n_nodes
    fields += [(outputs + 4 * i, 4) for i in range(n_out + n_state)]
    params = outputs + 4 * (n_out + n_state)
    near = range(params, min(len(data), params + 120))
    fields += [(at, rng.choice((1, 2, 4, 8))) for at in near] * 2
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        at, width = rng.choice(fields)
        if at + width > len(data):
            continue
        old = int.from_bytes(data[at:at + width], "little")
        new = bent_integer(rng, old) & ((1 << 8 * width) - 1)
        data[at:at + width] = new.to_bytes(width, "little")
    if rng.random() < 0.05:
        data = data[:rng.randrange(len(data))] if rng.random() < 0.5 else data + b"\0"
    if rng.random() < 0.9 and len(data) >= 64:
        if rng.random() < 0.9:
            data[36:40] = len(data).to_bytes(4, "little")
        data[40:44] = zlib.crc32(data[64:]).to_bytes(4, "little")
        data[60:64] = zlib.crc32(data[:60]).to_bytes(4, "little")
    return bytes(data)


def new_decodes(rng, graph):
    """Decodes of any small shape and of elements at and beside the ranges' ends."""
    decodes = []
    for _ in range(rng.choice((1, 2, 3))):
        tensors = []
        for index in graph.data_inputs():
            entry = graph.inputs[index]
            shape = [entry.c, min(entry.h_cap, rng.randint(1, 6)), min(entry.w_cap, rng.randint(1, 6))]
            if entry.fixed:
                shape = list(entry.shape)
            if rng.random() < 0.1:
                shape[rng.randrange(3)] += rng.choice((1, -1, 4))
            count = max(0, shape[0] * shape[1] * shape[2])
            if count > 4096:
                return []
            pick = rng.choice((lambda e=entry: rng.randint(e.lo, e.hi),
                               lambda e=entry: rng.choice((e.lo, e.hi)),
                               lambda e=entry: max(e.lo, min(e.hi, rng.choice(EDGES)))))
            data = [pick() for _ in range(count)]
            if data and rng.random() < 0.1:
                data[rng.randrange(count)] = rng.choice((entry.lo - 1, entry.hi + 1))
            if rng.random() < 0.05:
                data = data[:-1] + [0] * rng.randint(0, 2)
            tensors.append({"data": data, "shape": shape})
        decodes.append({"expect": {"out": []}, "in": tensors})
    return decodes


def graph_case(rng, doc, unchanged=False):
    data = base64.b64decode(doc["graph"])
    if not unchanged:
        data = bent_bytes(rng, data) if len(data) >= 64 else data
    decodes = []
    try:
        graph, _ = load(data)
        if graph.max_elems <= FEW_ELEMENTS:
            decodes = new_decodes(rng, graph)
    except LoadRefused:
        pass
    given = {**doc, "decodes": decodes, "graph": base64.b64encode(data).decode(), "load": "ok",
             "profiles": []}
    made, loaded = rewrite_graph_vector("", given)
    npu = "" if loaded is None else canonical(npu_verdict(*loaded))
    return {"expect": canonical(made), "kind": "graph", "line": canonical(given), "npu": npu}


def certificate_case(rng, doc):
    data = bent_bytes(rng, base64.b64decode(doc["graph"]))
    try:
        bounds_of(data)
        expect = hashlib.sha256(certificate("", "", set_digest({"g": data}), [("g", data)])[0])
        expect = expect.hexdigest()
    except LoadRefused as refusal:
        expect = refusal.code
    return {"expect": expect, "graph": base64.b64encode(data).decode(), "kind": "certificate"}


def stage_case(rng, doc):
    given = doc["in"]
    if "bytes" in given and rng.random() < 0.4:
        data = bytearray(base64.b64decode(given["bytes"]))
        for _ in range(rng.choice((1, 2))):
            if data:
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        data = rng.choice((data, data[:-1], data[:-4], data + b"\1", data))
        given = {**given, "bytes": base64.b64encode(data).decode()}
    else:
        given = bent(rng, given)
    made = rewrite_stage_vector("", {**doc, "in": given})
    return {"expect": canonical(made), "kind": "stage", "line": canonical({**made, "expect": {}})}


def lowering_case(rng, lowering, members, fields):
    members, fields = dict(members), dict(fields)
    bend_fields = bool(fields) and rng.random() < 0.1
    if bend_fields:
        fields = rng.choice([{}, {"c": bent_integer(rng, fields["c"])}, {**fields, "d": 1}])
    else:
        name = rng.choice(sorted(members))
        kind = rng.random()
        doc = bent(rng, json.loads(members[name]))
        members[name] = canonical_line(doc)
        if kind < 0.02:
            members[name] = members[name][:-1]
        elif kind < 0.04:
            members[rng.choice(("x", "net.whm"))] = members.pop(name)
    if any(not -(1 << 63) <= value < 1 << 63 for value in fields.values()):
        return None
    try:
        roles = LOWERINGS[lowering].apply(members, fields)
        expect = " ".join(f"{role}:{hashlib.sha256(data).hexdigest()}" for role, data in roles)
    except LoweringRefused as refusal:
        expect = refusal.code
    return {"expect": expect, "fields": [[k, v] for k, v in sorted(fields.items())],
            "kind": "lower", "lowering": lowering,
            "members": [[name, base64.b64encode(data).decode()]
                        for name, data in sorted(members.items())]}


def layer_of(node):
    """A node as a WHM layer (section 13.1)."""
    layer = {name: list(value) if hasattr(value, "__len__") else value
             for name, value in node.p.items() if name != "n"}
    if node.op in ("igdn", "chscale"):
        del layer["c"]
    return {"op": node.op, **layer}


def whm_of(doc):
    """int_conv/1's member for a one-node vector, or None."""
    try:
        graph = read_graph(base64.b64decode(doc["graph"]))
    except LoadRefused:
        return None
    if len(graph.nodes) != 1 or len(graph.inputs) != 1 or graph.nodes[0].op in ("mul",):
        return None
    entry = graph.inputs[0]
    return canonical_line(
        {"form": "int_conv", "in": {"c": entry.c, "fixed": entry.fixed, "h_cap": entry.h_cap,
                                    "hi": entry.hi, "lo": entry.lo, "w_cap": entry.w_cap},
         "layers": [layer_of(graph.nodes[0])], "max_elems": graph.max_elems,
         "out": None, "pin": ""})


def documents(folder):
    return [(path.stem, json.loads(line)) for path in sorted((CORPUS / folder).glob("*.jsonl"))
            for line in path.read_text().splitlines()]


def sets():
    for entry in json.loads((CORPUS / "certificates" / "index.json").read_bytes()):
        members = {name: (CORPUS.parent / path).read_bytes() for name, path in entry["members"]}
        fields = {"c": entry["c"]} if "c" in entry else {}
        yield entry["lowering"], members, fields
        if entry["lowering"] == "tflite_int8/1":
            single = members["model.tfq"].replace(b'"double"', b'"single"')
            yield entry["lowering"], {"model.tfq": single}, fields


def cases(rng, count):
    graphs = documents("vectors") + documents("graphs")
    stages = documents("stage")
    every_set = list(sets())
    every_set += [("int_conv/1", {"net.whm": whm}, {}) for _, doc in documents("vectors")
                  for whm in [whm_of(doc)] if whm][::5]
    for _, doc in graphs:
        yield graph_case(rng, doc, unchanged=True)
    for _ in range(count):
        kind = rng.random()
        if kind < 0.4:
            yield graph_case(rng, rng.choice(graphs)[1])
        elif kind < 0.5:
            doc = rng.choice(graphs)[1]
            if len(base64.b64decode(doc["graph"])) >= 64:
                yield certificate_case(rng, doc)
        elif kind < 0.65:
            yield stage_case(rng, rng.choice(stages)[1])
        else:
            pool = every_set[:7] if rng.random() < 0.75 else every_set
            case = lowering_case(rng, *rng.choice(pool))
            if case:
                yield case


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=6000)
    args = parser.parse_args()
    lines = [canonical_line(case) for case in cases(random.Random(args.seed), args.count)]
    args.out.write_bytes(b"".join(lines))
    print(f"{len(lines)} cases in {args.out}")


if __name__ == "__main__":
    main()
