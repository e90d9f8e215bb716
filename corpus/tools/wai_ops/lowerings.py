"""The lowerings by id: capability, members, fields and roles (§13.0)."""

import struct

from wai_ops import tflite, whm
from wai_ops.canonical import NotCanonical, is_int, parse_canonical_file
from wai_ops.parameters import BadParams
from wai_ops.sets import LoweringRefused, require
from wai_ops.whg1 import LoadRefused, read_graph, write_graph


class Member:
    """A member of a form: how it is checked, in the refusals' order, and lowered to its role."""

    def __init__(self, name, role, form_ok, layers, lower, support=None):
        self.name, self.role = name, role
        self.form_ok, self.layers, self.lower, self.support = form_ok, layers, lower, support


class Lowering:
    """A lowering's capability, members in role order, and entry fields."""

    def __init__(self, capability, *members, fields=()):
        self.capability, self.members, self.fields = capability, members, fields

    def apply(self, files, entry):
        """[(role, WHG1 bytes)] of {name: bytes} and {field: integer}, or LoweringRefused."""
        names = [member.name for member in self.members]
        require(files.keys() == set(names), "member",
                 f"the set has {sorted(files)}, the form {sorted(names)}")
        docs = {}
        for member in self.members:
            try:
                docs[member.name] = parse_canonical_file(files[member.name])
            except NotCanonical as error:
                raise LoweringRefused("form", f"{member.name}: {error}") from None
        for member in self.members:
            require(member.form_ok(docs[member.name]), "form",
                     f"{member.name}: the keys, types or fixed strings are not as §13 states")
        for stage in ("layers", "support"):
            for member in self.members:
                check = getattr(member, stage)
                if check:
                    self._named(member.name, check, docs[member.name])
        require(entry.keys() == set(self.fields) and all(map(is_int, entry.values())), "limit",
                 f"the entry's fields are {sorted(entry)}, not {sorted(self.fields)}")
        return [(member.role, self._named(member.name, self._lower, member, docs[member.name],
                                          entry)) for member in self.members]

    @staticmethod
    def _named(name, function, *args):
        try:
            return function(*args)
        except LoweringRefused as refusal:
            raise LoweringRefused(refusal.code, f"{name}: {refusal}") from None

    @staticmethod
    def _lower(member, doc, entry):
        try:
            data = write_graph(member.lower(doc, entry))
            read_graph(data)
        except (BadParams, LoadRefused) as error:
            raise LoweringRefused("limit", str(error)) from None
        except (struct.error, OverflowError) as error:
            raise LoweringRefused("limit", f"a field that cannot hold its number: {error}"
                                  ) from None
        return data


LOWERINGS = {
    "int_conv/1": Lowering(
        "wai.neural.int_conv",
        Member("net.whm", "net", whm.whm_form("int_conv"), whm.whm_layers, whm.lower_whm)),
    "int_hyper/1": Lowering(
        "wai.neural.int_hyper",
        Member("h_s.whm", "h_s", whm.int_hyper_h_form, whm.whm_layers, whm.lower_whm),
        Member("g_s.whm", "g_s", whm.whm_form("int_hyper_g"), whm.int_hyper_g_layers,
               whm.lower_whm)),
    "world_model/1": Lowering(
        "wai.world.model",
        Member("T.whm", "T", whm.world_t_form, whm.whm_layers, whm.lower_world_t),
        Member("g_s.whm", "g_s", whm.whm_form("world_g"), whm.whm_layers, whm.lower_whm),
        fields=("c",)),
    "gru_cell/1": Lowering(
        "wai.neural.gru", Member("cell.whm", "cell", whm.gru_form, whm.gru_layers, whm.lower_gru)),
    "int_mlp/1": Lowering(
        "wai.neural.mlp",
        Member("net.whm", "net", whm.whm_form("int_mlp"), whm.mlp_layers, whm.lower_mlp)),
    "tflite_int8/1": Lowering(
        "wai.neural.tflite_int8",
        Member("model.tfq", "main", tflite.tfq_form, tflite.tfq_layers,
               lambda doc, _: tflite.TfqLowering(doc).graph, support=tflite.TfqSupport)),
}
