"""The WHG1 graph form: writer and load steps 1-6 (§10)."""

import array
import struct
import sys
import zlib

from wai_ops.integers import MAX_DIM
from wai_ops.parameters import OPERATORS, BadParams, read_params, write_params

_HEADER = struct.Struct("<4sHHIIIIQIII16sI")
_INPUT = struct.Struct("<BBHIIIqqII8s")
_NODE = struct.Struct("<HHII")
MAGIC = b"WHG1"


class Input:
    """A data or state input; `init` is None for data."""

    def __init__(self, c, h_cap, w_cap, lo, hi, fixed=0, init=None):
        self.c, self.h_cap, self.w_cap = c, h_cap, w_cap
        self.lo, self.hi = lo, hi
        self.fixed = fixed if init is None else 1
        self.init = init

    @property
    def is_state(self):
        return self.init is not None

    @property
    def shape(self):
        return (self.c, self.h_cap, self.w_cap)


class Node:
    """An operator, its value ids and its parameters by name."""

    def __init__(self, op, args, p):
        self.op, self.args, self.p = op, args, p


class Graph:
    """A graph under construction or as read; values are inputs, then nodes (§10.2)."""

    def __init__(self, max_elems, inputs=(), nodes=(), outputs=(), updates=()):
        self.max_elems = max_elems
        self.inputs, self.nodes = list(inputs), list(nodes)
        self.outputs, self.updates = list(outputs), list(updates)

    def add(self, op, *args, **p):
        """Appends a node and gives its value id; every input is there already."""
        self.nodes.append(Node(op, list(args), p))
        return len(self.inputs) + len(self.nodes) - 1

    def states(self):
        return [i for i, entry in enumerate(self.inputs) if entry.is_state]

    def data_inputs(self):
        return [i for i, entry in enumerate(self.inputs) if not entry.is_state]


def seal(data):
    """The file with both CRCs recomputed, the body's over every byte from 64 on."""
    data = bytearray(data)
    data[40:44] = struct.pack("<I", zlib.crc32(data[64:]))
    data[60:64] = struct.pack("<I", zlib.crc32(data[:60]))
    return bytes(data)


def write_graph(graph):
    """The one WHG1 file of a graph; BadParams or struct.error for a value no field holds."""
    params, size = [], 0
    entries, nodes = [], []
    for entry in graph.inputs:
        init = b""
        if entry.is_state:
            init = struct.pack(f"<{len(entry.init)}q", *entry.init)
        entries.append(_INPUT.pack(int(entry.is_state), entry.fixed, 0, entry.c, entry.h_cap,
                                   entry.w_cap, entry.lo, entry.hi, size if entry.is_state else 0,
                                   len(init), bytes(8)))
        params.append(init)
        size += len(init)
    for node in graph.nodes:
        block = struct.pack(f"<{len(node.args)}I", *node.args) + write_params(node.op, node.p)
        nodes.append(_NODE.pack(OPERATORS.index(node.op) + 1, len(node.args), size, len(block)))
        params.append(block)
        size += len(block)
    ids = graph.outputs + graph.updates
    body = b"".join(entries + nodes) + struct.pack(f"<{len(ids)}I", *ids) + b"".join(params)
    header = _HEADER.pack(MAGIC, 1, 0, len(graph.inputs), len(graph.nodes), len(graph.outputs),
                          len(graph.updates), graph.max_elems, size, 64 + len(body), 0, bytes(16),
                          0)
    return seal(header + body)


class LoadRefused(Exception):
    """A load step's refusal: its code (§4.1) and what failed."""

    def __init__(self, code, what):
        super().__init__(f"{code}: {what}")
        self.code = code


def need(condition, code, what):
    if not condition:
        raise LoadRefused(code, what)


def _read_header(data):
    """Load steps 1 and 2."""
    need(len(data) >= 64, "header", f"{len(data)} bytes, fewer than 64")
    (magic, version, reserved, n_in, n_nodes, n_out, n_state, max_elems, params_len, file_len,
     body_crc, zeros, header_crc) = _HEADER.unpack(data[:64])
    need(magic == MAGIC, "header", "the magic is not WHG1")
    need(version == 1, "header", f"version {version} is not 1")
    need(reserved == 0 and zeros == bytes(16), "header", "a reserved field is not 0")
    need(1 <= n_in <= 256, "header", f"n_in {n_in} is outside 1..256")
    need(1 <= n_nodes <= 65536, "header", f"n_nodes {n_nodes} is outside 1..65536")
    need(1 <= n_out <= 256, "header", f"n_out {n_out} is outside 1..256")
    need(n_state <= n_in, "header", f"n_state {n_state} is above n_in {n_in}")
    need(1 <= max_elems <= (1 << 31) - 1, "header", f"max_elems {max_elems}")
    formula = 64 + 48 * n_in + 12 * n_nodes + 4 * (n_out + n_state) + params_len
    need(file_len == formula, "header", f"file_len {file_len} is not the formula's {formula}")
    need(file_len == len(data), "header", f"file_len {file_len}, but {len(data)} bytes")
    need(header_crc == zlib.crc32(data[:60]), "checksum", "header_crc")
    need(body_crc == zlib.crc32(data[64:]), "checksum", "body_crc")
    return n_in, n_nodes, n_out, n_state, max_elems


def _read_input(entry, max_elems, params, init_end):
    """Load step 3 of one entry; initial values follow one another from params' start."""
    kind, fixed, reserved, c, h_cap, w_cap, lo, hi, init_off, init_len, zeros = entry
    need(kind <= 1 and fixed <= 1, "inputs", f"kind {kind}, fixed {fixed}")
    need(reserved == 0 and zeros == bytes(8), "inputs", "a reserved field is not 0")
    need(all(1 <= d <= MAX_DIM for d in (c, h_cap, w_cap)), "inputs",
          f"shape {(c, h_cap, w_cap)}")
    need(lo <= hi, "inputs", f"range [{lo}, {hi}] is empty")
    if kind == 0:
        need(init_off == init_len == 0, "inputs", "a data input with initial values")
        return Input(c, h_cap, w_cap, lo, hi, fixed)
    count = c * h_cap * w_cap
    need(fixed == 1, "inputs", "a state is not fixed")
    need(count <= max_elems, "inputs", f"a state of {count} elements, max_elems {max_elems}")
    need(init_len == 8 * count, "inputs", f"init_len {init_len} is not {8 * count}")
    need(init_off == init_end and init_off + init_len <= len(params), "inputs",
          f"init_off {init_off}, init_len {init_len}")
    init = array.array("q")
    init.frombytes(params[init_off:init_off + init_len])
    if sys.byteorder == "big":
        init.byteswap()
    need(lo <= min(init) and max(init) <= hi, "inputs", "an initial value outside the range")
    return Input(c, h_cap, w_cap, lo, hi, 1, init)


def _arity_ok(op, n_args):
    if op == "concat":
        return 2 <= n_args <= 16
    return n_args == (2 if op in ("add", "mul") else 1)


def read_graph(data):
    """Load steps 1-6: the graph of a WHG1 file, or LoadRefused."""
    n_in, n_nodes, n_out, n_state, max_elems = _read_header(data)
    nodes_at = 64 + 48 * n_in
    ids_at = nodes_at + 12 * n_nodes
    params = data[ids_at + 4 * (n_out + n_state):]
    graph = Graph(max_elems)
    end = 0
    for entry in _INPUT.iter_unpack(data[64:nodes_at]):
        graph.inputs.append(_read_input(entry, max_elems, params, end))
        end += 8 * len(graph.inputs[-1].init or ())
    need(len(graph.states()) == n_state, "inputs", f"{len(graph.states())} states, not {n_state}")
    blocks = []
    for i, (code, n_args, off, size) in enumerate(_NODE.iter_unpack(data[nodes_at:ids_at])):
        need(1 <= code <= len(OPERATORS), "nodes", f"node {i}: operator {code}")
        op = OPERATORS[code - 1]
        need(_arity_ok(op, n_args), "nodes", f"node {i}: {op} with {n_args} arguments")
        need(off == end, "nodes", f"node {i}: its block is at {off}, not {end}")
        need(size >= 4 * n_args and off + size <= len(params), "nodes", f"node {i}: len {size}")
        end = off + size
        args = list(struct.unpack(f"<{n_args}I", params[off:off + 4 * n_args]))
        need(max(args) < n_in + i, "nodes", f"node {i}: argument {max(args)} is not before it")
        graph.nodes.append(Node(op, args, None))
        blocks.append(params[off + 4 * n_args:end])
    need(end == len(params), "nodes", f"the blocks end at {end}, params at {len(params)}")
    for i, (node, block) in enumerate(zip(graph.nodes, blocks)):
        try:
            node.p = read_params(node.op, block)
        except BadParams as error:
            raise LoadRefused("params", f"node {i}: {node.op}: {error}") from None
    ids = struct.unpack(f"<{n_out + n_state}I", data[ids_at:ids_at + 4 * (n_out + n_state)])
    need(max(ids) < n_in + n_nodes, "outputs", f"output id {max(ids)}")
    graph.outputs, graph.updates = list(ids[:n_out]), list(ids[n_out:])
    used = set(ids).union(*(node.args for node in graph.nodes))
    for i in range(n_nodes):
        need(n_in + i in used, "outputs", f"node {i} is not used")
    return graph
