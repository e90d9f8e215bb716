"""Inputs the tests share: the text's worked bytes, base parameters, graphs of one operator."""

import base64

from wai_ops.bounds import Bounds
from wai_ops.canonical import parse_canonical_file
from wai_ops.run import Instance
from wai_ops.shapes import plan
from wai_ops.whg1 import Graph, Input, read_graph, write_graph

MIN64 = -(1 << 63)
RQB = {"rnd": 1, "n": 1, "mult": [1], "shift": [0], "post_bias": [0]}
WINDOW = {"kh": 1, "kw": 1, "sh": 1, "sw": 1, "pt": 0, "pb": 0, "pl": 0, "pr": 0}
CONV = {**WINDOW, **RQB, "cin": 1, "cout": 1, "groups": 1, "dh": 1, "dw": 1, "bias": [0], "w": [1]}
TRANSPOSE = {**WINDOW, **RQB, "cin": 1, "cout": 1, "bias": [0], "w": [1]}

# Annex B.1, base(rescale), and the member and certificate of Annex B.3.
B1 = bytes.fromhex(
    "57484731" "0100" "0000" "01000000" "01000000" "01000000" "00000000" "0010000000000000"
    "1a000000" "9a000000" "322d9dbd" "00000000000000000000000000000000" "e4ad3d1f"
    "00" "00" "0000" "02000000" "08000000" "08000000" "9cffffffffffffff" "6400000000000000"
    "00000000" "00000000" "0000000000000000" "0300" "0100" "00000000" "1a000000" "01000000"
    "00000000" "01" "01000000" "0100000000000000" "0000000000000000" "00")
B3_MEMBER = (
    b'{"form":"int_conv","in":{"c":2,"fixed":1,"h_cap":1,"hi":65536,"lo":0,"w_cap":1},"layers":'
    b'[{"bias":[0],"cin":2,"cout":1,"dh":1,"dw":1,"groups":1,"kh":1,"kw":1,"mult":[1],"op":"conv"'
    b',"pb":0,"pl":0,"post_bias":[0],"pr":0,"pt":0,"rnd":1,"sh":1,"shift":[16],"sw":1,"w":[32767,'
    b'1]}],"max_elems":4096,"out":null,"pin":"acc32"}\n')
B3_CERTIFICATE = (
    b'{"capability":"wai.neural.int_conv","cert":"wai-ops-bounds/1","lowering":"int_conv/1",'
    b'"roles":[{"fail_acc32":[[1,"part"],[1,"acc"]],"fail_acc64":[],"role":"net","values":[{"id":'
    b'0,"named":[["x",0,65536]],"op":"input"},{"id":1,"named":[["part",0,2147483648],["acc",0,'
    b'2147483648],["~p",0,2147483648],["q",0,32768],["y",0,32768]],"op":"conv"}],"verdict":'
    b'"acc64"}],"set":"57cf65fcf37b6d6d31efc44329428b1f92f461dfc4029692b3443418a2c5e69f",'
    b'"verdict":"acc64"}\n')


def one_node(op, params, *inputs, max_elems=4096):
    graph = Graph(max_elems, inputs)
    graph.outputs = [graph.add(op, *range(len(inputs)), **params)]
    return graph


def evaluate(op, params, *tensors):
    """The elements and shape that an operator gives on [(shape, data)...], through bytes."""
    inputs = [Input(*shape, MIN64, -MIN64 - 1) for shape, _ in tensors]
    graph = read_graph(write_graph(one_node(op, params, *inputs)))
    ((shape, data),) = Instance(graph).decode([(list(s), list(d)) for s, d in tensors])
    return list(data), shape


def bounds_of(op, params, *ranges, channels=1):
    graph = one_node(op, params, *(Input(channels, 8, 8, lo, hi) for lo, hi in ranges))
    return Bounds(graph, plan(graph))


def named(bounds, value=-1):
    return {name: (lo, hi) for name, lo, hi in bounds.values[value]["named"]}


def whm(**change):
    return {**parse_canonical_file(B3_MEMBER), **change}


def layer(**change):
    return {**parse_canonical_file(B3_MEMBER)["layers"][0], **change}


def b64(data):
    return base64.b64encode(bytes(data)).decode()
