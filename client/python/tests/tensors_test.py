"""Tensors, literals, policies and comparison."""

import random
import struct
import unittest
from fractions import Fraction

from helx import _core
from helx.api import (
    ComparisonPolicy,
    DType,
    HelxError,
    InvalidInput,
    NaNPolicy,
    ReferenceOrigin,
    ReferenceOutputs,
    TensorData,
    TensorFile,
    TensorIOPolicy,
    TensorLiteral,
    TensorReference,
    TensorSpec,
    TensorTolerance,
    Tolerance,
    compare_tensors,
)

INT8 = TensorSpec(0, "input", DType.INT8, (2, 3))


class RefusalTest(unittest.TestCase):
    def refuses(self, code, call, *arguments, **named):
        with self.assertRaises(InvalidInput) as caught:
            call(*arguments, **named)
        self.assertEqual(caught.exception.code, code, caught.exception)
        return caught.exception

    def test_specs(self):
        self.assertEqual(TensorSpec(0, "x", "float16", [1, 2]).shape, (1, 2))
        self.assertIs(TensorSpec(0, "x", "float16", ()).dtype, DType.FLOAT16)
        for code, arguments in [
            ("out_of_range", (-1, "x", "int8", (1,))),
            ("out_of_range", (2**31, "x", "int8", (1,))),
            ("out_of_range", (0, "x", "int8", (2**64 + 1,))),
            ("wrong_type", (0.0, "x", "int8", (1,))),
            ("wrong_type", (True, "x", "int8", (1,))),
            ("wrong_type", (0, b"x", "int8", (1,))),
            ("not_utf8", (0, "\udc80", "int8", (1,))),
            ("not_allowed", (0, "x", "float64", (1,))),
            ("not_allowed", (0, "x", None, (1,))),
            ("wrong_type", (0, "x", "int8", 3)),
            ("wrong_type", (0, "x", "int8", "12")),
            ("out_of_range", (0, "x", "int8", (0,))),
            ("wrong_type", (0, "x", "int8", (1.5,))),
        ]:
            with self.subTest(arguments=arguments):
                self.refuses(code, TensorSpec, *arguments)

    def test_storage_is_checked_by_the_core(self):
        self.refuses("wrong_length", TensorData, INT8, b"12345")
        self.refuses("wrong_length", TensorData, INT8, b"1234567")
        self.refuses("wrong_length", TensorData, INT8, b"")
        self.refuses("wrong_type", TensorData, INT8, "123456")
        self.refuses("wrong_type", TensorData, "int8[2, 3]", b"123456")
        error = self.refuses(
            "boolean_byte", TensorData, TensorSpec(0, "b", "bool", (3,)), b"\x00\x01\x02"
        )
        self.assertIn("2", str(error))
        # 2^60 elements: refused, whatever is given.
        with self.assertRaises(InvalidInput):
            TensorData(TensorSpec(0, "x", "int8", (1 << 30, 1 << 30)), b"1")

    def test_sizes_are_those_of_the_core(self):
        for dtype in DType:
            spec = TensorSpec(0, "x", dtype, (2, 3))
            checked = _core.check_tensor(spec.to_json(), bytes(spec.size_bytes))
            self.assertEqual(
                (checked["elements"], checked["size_bytes"]), (spec.elements, spec.size_bytes)
            )

    def test_bytes_like_data_is_kept_as_bytes(self):
        for data in (bytearray(b"123456"), memoryview(b"123456"), memoryview(b"1-2-3-4-5-6-")[::2]):
            self.assertEqual(TensorData(INT8, data).data, b"123456")

    def test_literals(self):
        literal = TensorLiteral.from_tensor(TensorData(INT8, bytes([0, 255, 1, 2, 3, 16])))
        self.assertEqual(literal.hex, "00ff01020310")
        self.assertEqual(literal.to_tensor().data, bytes([0, 255, 1, 2, 3, 16]))
        self.assertEqual(literal.to_tensor().spec, INT8)
        for text, code in [
            ("00ff0102031", "wrong_hex"),
            ("00FF01020310", "wrong_hex"),
            ("00 ff 01 02 03 10", "wrong_hex"),
            ("0x0001020304", "wrong_hex"),
            ("00ff010203", "wrong_length"),
            (b"00ff01020310", "wrong_type"),
        ]:
            with self.subTest(text=text):
                self.refuses(code, TensorLiteral, 0, "input", "int8", (2, 3), text)

    def test_tolerances(self):
        Tolerance(5e-324, 1.7976931348623157e308)
        for value, code in [
            (float("nan"), "not_finite"),
            (float("inf"), "not_finite"),
            (10**400, "not_finite"),
            (10**5000, "not_finite"),
            (-(10**400), "not_finite"),
            (2**1024, "not_finite"),
            (-(2**64), "negative_number"),
            (-1e-300, "negative_number"),
            (-1, "negative_number"),
            (True, "wrong_type"),
            ("1", "wrong_type"),
            (None, "wrong_type"),
        ]:
            with self.subTest(value=value):
                self.refuses(code, Tolerance, absolute=value)
                self.refuses(code, Tolerance, relative=value)

    def test_a_refused_tolerance_is_named_as_it_was_given(self):
        with self.assertRaisesRegex(InvalidInput, "absolute: found \"17976931348.*a double cannot hold"):
            Tolerance(absolute=2**1024 - 1)
        with self.assertRaisesRegex(InvalidInput, "relative: found an integer of 16610 bits"):
            Tolerance(relative=10**5000)

    def test_tolerances_beyond_64_bits(self):
        # 127 - (-128) = 255 <= 2**64, whichever way the number is written.
        actual, reference = TensorData(INT8, b"\x7f" * 6), TensorData(INT8, b"\x80" * 6)
        for number in (2**64, float(2**64), 2**64 + 1, 10**300, 255):
            tolerance = Tolerance(absolute=number)
            self.assertTrue(
                compare_tensors(actual, reference, ComparisonPolicy(default=tolerance)).matched
            )
            self.assertEqual(Tolerance.from_json(tolerance.to_json()), tolerance)
        self.assertFalse(
            compare_tensors(
                actual, reference, ComparisonPolicy(default=Tolerance(absolute=254))
            ).matched
        )

    def test_an_input_sequence_is_absent_or_has_sets(self):
        self.assertIsNone(TensorIOPolicy().input_sequence)
        self.refuses("empty_list", TensorIOPolicy, input_sequence=())
        self.refuses("empty_list", TensorIOPolicy.from_json, {"input_sequence": []})

    def test_policies_take_their_own_kinds_only(self):
        tensor = TensorData(INT8, b"123456")
        self.refuses("wrong_type", TensorIOPolicy, inputs=(tensor,))
        self.refuses("wrong_type", TensorIOPolicy, inputs="ab")
        self.refuses("wrong_type", TensorIOPolicy, references=(b"1",))
        self.refuses("wrong_type", TensorIOPolicy, comparison={"default": 0})
        self.refuses("wrong_type", TensorReference.from_reference, tensor)
        self.refuses("not_allowed", ReferenceOutputs, (tensor,), "guess", "who knows")
        self.refuses("not_allowed", ComparisonPolicy, nan="sometimes")
        self.refuses("wrong_type", ComparisonPolicy, per_tensor=((0, Tolerance()),))
        self.refuses("wrong_path", TensorFile, 0, "x", "int8", (1,), "a\0b")

    def test_values_do_not_print_their_bytes(self):
        tensor = TensorData(TensorSpec(0, "x", "int8", (1000,)), bytes(1000))
        self.assertLess(len(repr(tensor)), 200)
        self.assertLess(len(repr(TensorLiteral.from_tensor(tensor))), 200)


class DocumentFormTest(unittest.TestCase):
    def test_a_policy_survives_its_document_form(self):
        tensor = TensorData(INT8, b"123456")
        reference = ReferenceOutputs((tensor,), ReferenceOrigin.OTHER, "mühsam \"quoted\"\n")
        policy = TensorIOPolicy(
            inputs=(TensorLiteral.from_tensor(tensor), TensorFile(1, "y", "bool", (), "y.bin")),
            references=(TensorReference.from_reference(reference),),
            comparison=ComparisonPolicy(
                Tolerance(1, 0.25), (TensorTolerance(3, Tolerance(0.1)),), NaNPolicy.MATCH_BOTH
            ),
        )
        self.assertEqual(TensorIOPolicy.from_json(policy.to_json()), policy)
        self.assertEqual(TensorIOPolicy().to_json(), {})
        sequence = TensorIOPolicy(input_sequence=[[TensorLiteral.from_tensor(tensor)]] * 2)
        self.assertEqual(TensorIOPolicy.from_json(sequence.to_json()), sequence)


class ComparisonTest(unittest.TestCase):
    FORMATS = {
        DType.INT8: "b",
        DType.UINT8: "B",
        DType.INT16: "h",
        DType.INT32: "i",
        DType.INT64: "q",
        DType.FLOAT16: "e",
        DType.FLOAT32: "f",
    }

    def data(self, dtype, values):
        packed = struct.pack(f"<{len(values)}{self.FORMATS[dtype]}", *values)
        return TensorData(TensorSpec(0, "x", dtype, (len(values),)), packed)

    def test_verdicts_are_those_of_exact_fractions(self):
        chance = random.Random(20240607)
        for dtype, form in self.FORMATS.items():
            size = struct.calcsize(form)
            for _ in range(20):
                count = 50
                raw = [
                    struct.unpack(f"<{count}{form}", chance.randbytes(size * count))
                    for _ in range(2)
                ]
                pairs = [(a, b) for a, b in zip(*raw) if abs(a) < 1e30 and abs(b) < 1e30]
                pairs += [
                    (b + chance.choice((-1, 0, 1)) if 0 < b < 100 else b, b) for _, b in pairs
                ]
                absolute, relative = chance.choice((0, 1, 0.1, 64)), chance.choice((0, 0.5, 1e-3))
                actual = self.data(dtype, [a for a, _ in pairs])
                reference = self.data(dtype, [b for _, b in pairs])
                stored = zip(
                    struct.unpack(f"<{len(pairs)}{form}", actual.data),
                    struct.unpack(f"<{len(pairs)}{form}", reference.data),
                )
                errors = [
                    (
                        abs(Fraction(a) - Fraction(b)),
                        Fraction(absolute) + Fraction(relative) * abs(Fraction(b)),
                    )
                    for a, b in stored
                ]
                verdict = compare_tensors(
                    actual, reference, ComparisonPolicy(Tolerance(absolute, relative))
                )
                with self.subTest(dtype=dtype, absolute=absolute, relative=relative):
                    self.assertEqual(verdict.elements, len(pairs))
                    self.assertEqual(verdict.mismatches, sum(e > t for e, t in errors))
                    self.assertEqual(verdict.nonfinite_pairs, 0)
                    self.assertEqual(Fraction(verdict.max_abs_error), max(e for e, _ in errors))

    def test_int64_beyond_2_53(self):
        actual, reference = self.data(DType.INT64, [2**53 + 1]), self.data(DType.INT64, [2**53])
        verdict = compare_tensors(actual, reference)
        self.assertFalse(verdict.matched)
        self.assertEqual(verdict.max_abs_error, "1")
        self.assertEqual(verdict.first_difference.position, (0,))
        self.assertEqual(verdict.first_difference.actual, "9007199254740993")
        self.assertEqual(verdict.first_difference.reference, "9007199254740992")

    def test_nonfinite_values(self):
        inf, nan = float("inf"), float("nan")
        actual = self.data(DType.FLOAT32, [inf, -inf, inf, nan, nan, 1.0])
        reference = self.data(DType.FLOAT32, [inf, -inf, -inf, nan, 1.0, 1.0])
        never = compare_tensors(actual, reference)
        self.assertEqual((never.mismatches, never.nonfinite_pairs), (3, 5))
        both = compare_tensors(actual, reference, ComparisonPolicy(nan=NaNPolicy.MATCH_BOTH))
        self.assertEqual((both.mismatches, both.nonfinite_pairs), (2, 5))
        self.assertEqual(both.max_abs_error, "0")
        # +inf against -inf at 2: the stored little-endian bytes.
        self.assertEqual(both.first_difference.position, (2,))
        self.assertEqual(both.first_difference.actual, "0000807f")
        self.assertEqual(both.first_difference.reference, "000080ff")

    def test_overrides_go_by_output(self):
        spec = TensorSpec(3, "x", "int8", (1,))
        actual, reference = TensorData(spec, b"\x05"), TensorData(spec, b"\x04")
        one = Tolerance(absolute=1)
        for overrides, matched in [
            ((), False),
            ((TensorTolerance(3, one),), True),
            ((TensorTolerance(2, one),), False),
        ]:
            verdict = compare_tensors(actual, reference, ComparisonPolicy(per_tensor=overrides))
            self.assertEqual((verdict.matched, verdict.output), (matched, 3))
        with self.assertRaises(InvalidInput):
            compare_tensors(
                actual, reference, ComparisonPolicy(per_tensor=(TensorTolerance(3, one),) * 2)
            )

    def test_specs_must_agree(self):
        with self.assertRaises(InvalidInput) as caught:
            compare_tensors(self.data(DType.INT8, [1]), self.data(DType.UINT8, [1]))
        self.assertEqual(caught.exception.code, "wrong_spec")


class IdentityTest(unittest.TestCase):
    def test_the_published_preimage(self):
        # The example of the tensor-io specification, with the SHA-256 of two zero bytes.
        zeros = "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7"
        identity = _core.input_identity(
            [[{"dtype": "int8", "index": 0, "name": "input", "shape": [2], "sha256": zeros}]]
        )
        self.assertEqual(
            identity["canonical_json"],
            '{"inputs":[{"dtype":"int8","index":0,"name":"input","sha256":"'
            + zeros
            + '","shape":[2]}],"schema":"helx.inputs/v1","storage":"little-endian"}',
        )
        # printf '%s' "$preimage" | sha256sum
        self.assertRegex(identity["value"], "^helx.inputs/v1:sha256:[0-9a-f]{64}$")
        self.assertIsNone(identity["unavailable_reason"])


class ErrorTest(unittest.TestCase):
    def test_kinds(self):
        error = HelxError("what", "code")
        self.assertEqual((str(error), error.code), ("what", "code"))
        self.assertTrue(issubclass(InvalidInput, ValueError))


if __name__ == "__main__":
    unittest.main()
