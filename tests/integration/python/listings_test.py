"""The three listings of the tensor-io documentation, run unchanged, each as a program."""

import hashlib
import json
import unittest
from pathlib import Path

from service import DIGITS, ServiceTest

LISTINGS = Path(__file__).resolve().parent / "listings"


class ListingsTest(ServiceTest):
    def listing(self, name):
        done = self.run_python(LISTINGS / f"{name}.py")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        return done.stdout

    def test_the_listings(self):
        Path("experiment.yaml").write_text("name: my-run\nmodel: model.tflite\n")
        image = (DIGITS / "inputs" / "05.bin").read_bytes()
        scores = (DIGITS / "expected" / "s05" / "output-0.bin").read_bytes()
        Path("input-0.bin").write_bytes(image)
        self.assertEqual(self.listing("supply_inputs"), "")
        self.assertEqual(Path("results/my-run/tensors/outputs/0/output-0.bin").read_bytes(), scores)

        # The listing allows an absolute difference of 1.
        within = bytes([scores[0] ^ 1]) + scores[1:]
        Path("reference-0.bin").write_bytes(within)
        self.assertTrue(
            self.listing("compare_outputs").startswith("True (TensorVerdict(output=0, ")
        )
        beyond = scores[:4] + bytes([scores[4] ^ 2]) + scores[5:]
        Path("reference-0.bin").write_bytes(beyond)
        printed = self.listing("compare_outputs")
        self.assertTrue(
            printed.startswith("False (TensorVerdict(output=0, elements=10, mismatches=1, ")
        )
        self.assertIn("max_abs_error='2'", printed)
        self.assertIn("position=(0, 4)", printed)

        # The identity, computed here from its definition.
        preimage = json.dumps(
            {
                "inputs": [
                    {
                        "dtype": "int8",
                        "index": 0,
                        "name": "image",
                        "shape": [1, 8, 8, 1],
                        "sha256": hashlib.sha256(image).hexdigest(),
                    }
                ],
                "schema": "helx.inputs/v1",
                "storage": "little-endian",
            },
            sort_keys=True,
            separators=(",", ":"),
            ensure_ascii=False,
        )
        value = "helx.inputs/v1:sha256:" + hashlib.sha256(preimage.encode()).hexdigest()
        self.assertEqual(
            self.listing("input_identity"), f"{value} None\n{value}\n0 not_compared None\n"
        )

    def test_the_listings_are_those_of_the_documentation(self):
        # Their digests were taken from the documentation's own text.
        digests = {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in LISTINGS.glob("*.py")
        }
        self.assertEqual(digests, DIGESTS)


DIGESTS = {
    "compare_outputs.py": "4520108f24dc434d5a4fd03617b4003abca1c360fab15406fc8d97452e711bb3",
    "input_identity.py": "be7896ab1726ff2313cb651b7fbcd91bad898a6e42acfb3cf752e585b546888e",
    "supply_inputs.py": "42c921c1a50f3723ea6dbdc9c4d880fe9b6c2348e99974f555277d9b0764c95b",
}

if __name__ == "__main__":
    unittest.main()
