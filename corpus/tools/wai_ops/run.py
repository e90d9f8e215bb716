"""The run of a loaded graph and its states (§4, §6)."""

import math

from wai_ops.evaluate import EVALUATE, RunRefused
from wai_ops.integers import I64, MAX_DIM, fits
from wai_ops.shapes import ShapeRule, output_shape

# A graph with a larger value is declined as a whole, which §4 lets a caller do.
EVALUATED_ELEMS = 1 << 24


class Instance:
    """A loaded graph and its states."""

    def __init__(self, graph):
        self.graph = graph
        self.states = {i: list(graph.inputs[i].init) for i in graph.states()}

    def decode(self, tensors):
        """One decode of [(shape, elements)], one per data input; the outputs, or RunRefused."""
        graph = self.graph
        entries = [graph.inputs[i] for i in graph.data_inputs()]
        self._inputs(entries, tensors)
        for entry, (_, data) in zip(entries, tensors):
            if not all(entry.lo <= v <= entry.hi for v in data):
                raise RunRefused("range")
        shapes = self._shapes(entries, tensors)
        values = [(graph.inputs[i].shape, self.states[i]) if i in self.states else None
                  for i in range(len(graph.inputs))]
        for i, (shape, data) in zip(graph.data_inputs(), tensors):
            values[i] = (tuple(shape), data)
        for node in graph.nodes:
            shape = shapes[len(values)]
            args = [values[arg] for arg in node.args]
            values.append((shape, EVALUATE[node.op](node, *args, shape)))
        for state, update in zip(graph.states(), graph.updates):
            self.states[state] = values[update][1]
        return [values[i] for i in graph.outputs]

    @staticmethod
    def _inputs(entries, tensors):
        """Step 1."""
        if len(tensors) != len(entries):
            raise RunRefused("inputs")
        for shape, data in tensors:
            if len(shape) != 3 or not all(1 <= d <= MAX_DIM for d in shape):
                raise RunRefused("inputs")
            if len(data) != math.prod(shape) or not all(fits(v, I64) for v in data):
                raise RunRefused("inputs")

    def _shapes(self, entries, tensors):
        """Step 3: caps, then the shape rule, then max_elems."""
        for entry, ((_, h, w), _) in zip(entries, tensors):
            if h > entry.h_cap or w > entry.w_cap:
                raise RunRefused("caps")
        for entry, (shape, _) in zip(entries, tensors):
            if shape[0] != entry.c or (entry.fixed and tuple(shape) != entry.shape):
                raise RunRefused("shape")
        shapes = [entry.shape for entry in self.graph.inputs]
        for i, (shape, _) in zip(self.graph.data_inputs(), tensors):
            shapes[i] = tuple(shape)
        for node in self.graph.nodes:
            try:
                shapes.append(output_shape(node, [shapes[arg] for arg in node.args]))
            except ShapeRule:
                raise RunRefused("shape") from None
        largest = max(map(math.prod, shapes))
        if largest > self.graph.max_elems:
            raise RunRefused("max_elems")
        if largest > EVALUATED_ELEMS:
            raise MemoryError(f"a value of {largest} elements")
        return shapes
