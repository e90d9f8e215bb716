"""Documents: read, changed, written."""

import hashlib
import os
import tempfile
import unittest
from pathlib import Path

from helx import _jobs
from helx.api import (
    ComparisonPolicy,
    EstimateRequest,
    ExperimentConfig,
    FvpConfig,
    InvalidInput,
    ReferenceOrigin,
    ReferenceOutputs,
    RunConfig,
    Settings,
    TensorData,
    TensorFile,
    TensorIOPolicy,
    TensorLiteral,
    TensorReference,
    TensorSpec,
    TensorTolerance,
    Tolerance,
    load_request,
    model_tensors,
    save_request,
)

DIGITS = Path(__file__).resolve().parents[3] / "corpus" / "models" / "digits"
IMAGE = TensorSpec(0, "image", "int8", (1, 8, 8, 1))
SCORES = TensorSpec(0, "Identity", "int8", (1, 10))


class ExperimentTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "model.tflite").write_bytes((DIGITS / "digits.tflite").read_bytes())

    def load(self, text):
        path = self.folder / "experiment.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load_request(path)

    def refuses(self, code, call, *arguments):
        with self.assertRaises(InvalidInput) as caught:
            call(*arguments)
        self.assertEqual(caught.exception.code, code, caught.exception)
        return str(caught.exception)

    def test_what_is_written_is_read(self):
        request = self.load("""
name: trial
model: [model.tflite]
defaults:
  platform: corstone-300
  samples: 2
  fvp:
    tensor_io:
      comparison:
        default: {absolute: 0.1}
        per_tensor: [{output: 1, relative: 5e-324}]
        nan: match_both
runs:
  - {name: a, state: carry}
  - {name: b, fvp: {enabled: false}}
""")
        self.assertEqual(request.base_dir, self.folder)
        comparison = ComparisonPolicy(
            Tolerance(0.1), (TensorTolerance(1, Tolerance(0, 5e-324)),), "match_both"
        )
        self.assertEqual(
            request.config,
            ExperimentConfig(
                "trial",
                ["model.tflite"],
                Settings(
                    platform="corstone-300",
                    samples=2,
                    fvp=FvpConfig(tensor_io=TensorIOPolicy(comparison=comparison)),
                ),
                [
                    RunConfig(name="a", state="carry"),
                    RunConfig(name="b", fvp=FvpConfig(enabled=False)),
                ],
            ),
        )

    def test_defaults_can_be_changed_where_none_are_written(self):
        request = self.load("name: trial\nmodel: model.tflite\n")
        self.assertEqual(request.config.to_json(), {"name": "trial", "model": "model.tflite"})
        self.assertFalse(request.parse().describe()["jobs"][0]["captured"])
        request.config.defaults.fvp.tensor_io = TensorIOPolicy()
        self.assertEqual(request.config.to_json()["defaults"], {"fvp": {"tensor_io": {}}})
        self.assertTrue(request.parse().describe()["jobs"][0]["captured"])

    def test_load_save_load_gives_the_same_work(self):
        request = load_request(DIGITS / "experiment.yaml")
        self.assertEqual(len(request.config.runs), 16)
        self.assertIsInstance(request.config.runs[0].fvp.tensor_io.inputs[0], TensorFile)
        saved = self.folder / "saved.yaml"
        save_request(request, saved)
        again = load_request(saved)
        literal = again.config.runs[3].fvp.tensor_io.inputs[0]
        self.assertEqual(
            literal.to_tensor(), TensorData(IMAGE, (DIGITS / "inputs" / "03.bin").read_bytes())
        )
        os.link(self.folder / "model.tflite", self.folder / "digits.tflite")
        before, after = _jobs.prepare(request), _jobs.prepare(again)
        self.assertEqual(
            [job.document for job in before.jobs], [job.document for job in after.jobs]
        )
        self.assertEqual(
            {blob.digest for blob in before.blobs}, {blob.digest for blob in after.blobs}
        )

    def test_prepared_jobs_name_every_blob(self):
        request = self.load("name: trial\nmodel: model.tflite\n")
        data = (DIGITS / "inputs" / "00.bin").read_bytes()
        expected = TensorData(SCORES, (DIGITS / "expected" / "s00" / "output-0.bin").read_bytes())
        request.config.defaults.fvp.tensor_io = TensorIOPolicy(
            inputs=(TensorLiteral.from_tensor(TensorData(IMAGE, data)),),
            references=(
                TensorReference.from_reference(
                    ReferenceOutputs(
                        (expected,), ReferenceOrigin.OTHER, "Überprüfung \u2028 \x7f \\ \""
                    )
                ),
            ),
        )
        prepared = _jobs.prepare(request)
        contents = [(DIGITS / "digits.tflite").read_bytes(), data, expected.data]
        self.assertEqual(
            {blob.digest.hash for blob in prepared.blobs},
            {hashlib.sha256(content).hexdigest() for content in contents},
        )
        self.assertEqual([job.bundle_path for job in prepared.jobs], ["trial"])
        self.assertIn("Überprüfung".encode(), prepared.jobs[0].document)

    def test_a_missing_tensor_file_is_an_error_only_when_it_is_used(self):
        request = self.load(
            "name: trial\nmodel: model.tflite\ndefaults: {fvp: {tensor_io: {inputs: [{"
            "index: 0, name: image, dtype: int8, shape: [1, 8, 8, 1], file: later.bin}]}}}\n"
        )
        self.assertIn("later.bin", self.refuses("unreadable_file", request.parse))
        (self.folder / "later.bin").write_bytes(bytes(64))
        request.parse()

    def test_refused_documents_name_place_and_remedy(self):
        message = self.refuses(
            "unknown_key", self.load, "name: trial\nmodel: model.tflite\nsample: 1\n"
        )
        self.assertIn("experiment.yaml:3", message)
        for code, text in [
            ("missing_key", "name: trial\n"),
            ("empty_document", ""),
            ("wrong_name", "name: a/b\nmodel: m\n"),
            ("reserved_fvp_fence", "name: trial\nmodel: m\ndefaults: {fvp: {fence: true}}\n"),
            ("wrong_type", "name: trial\nmodel: m\ndefaults: {fvp: {tensor_io: }}\n"),
            ("anchor", "name: &a trial\nmodel: *a\n"),
            ("not_utf8", b"name: \xff\nmodel: m\n"),
        ]:
            with self.subTest(text=text):
                self.refuses(code, self.load, text)

    def test_refused_objects(self):
        def request(**named):
            return EstimateRequest(
                ExperimentConfig(**{"name": "trial", "model": "model.tflite", **named}), self.folder
            )

        self.refuses("wrong_type", request(defaults={"samples": 1}).parse)
        self.refuses("wrong_type", request(defaults=Settings(fvp={"tensor_io": {}})).parse)
        self.refuses("wrong_type", request(defaults=Settings(fvp=FvpConfig(tensor_io={}))).parse)
        self.refuses("wrong_type", request(runs=[Settings()]).parse)
        self.refuses("wrong_type", request(name=object()).parse)
        self.refuses("wrong_type", request(defaults=Settings(samples=float("nan"))).parse)
        self.refuses("not_utf8", request(model="\udcff").parse)
        self.refuses("wrong_type", request(defaults=Settings(samples="2")).parse)
        self.refuses("out_of_range", request(defaults=Settings(samples=0)).parse)
        self.refuses("out_of_range", request(defaults=Settings(samples=10**30)).parse)
        self.refuses("wrong_type", EstimateRequest, {"name": "trial"})
        self.refuses("wrong_path", EstimateRequest, ExperimentConfig("trial", "m"), "a\0b")
        self.refuses("wrong_type", load_request, 7)
        self.refuses("wrong_path", load_request, "")
        self.refuses("unreadable_file", load_request, self.folder)
        self.refuses("unreadable_file", load_request, self.folder / "absent.yaml")

    def test_reference_count_must_be_that_of_the_samples(self):
        reference = TensorReference.from_reference(
            ReferenceOutputs((TensorData(SCORES, bytes(10)),), "files", "d")
        )
        config = ExperimentConfig(
            "trial",
            "model.tflite",
            Settings(samples=2, fvp=FvpConfig(tensor_io=TensorIOPolicy(references=(reference,)))),
        )
        self.refuses("reference_count", EstimateRequest(config, self.folder).parse)

    def test_a_model_must_be_a_file(self):
        request = self.load("name: trial\nmodel: absent.tflite\n")
        self.assertIn("absent.tflite", self.refuses("unreadable_file", _jobs.prepare, request))
        os.mkfifo(self.folder / "fifo.tflite")
        request.config.model = "fifo.tflite"
        self.refuses("unreadable_file", _jobs.prepare, request)

    def test_model_tensors(self):
        inputs, outputs = model_tensors(DIGITS / "digits.tflite")
        self.assertEqual((inputs, outputs), ((IMAGE,), (SCORES,)))
        self.assertEqual(model_tensors((DIGITS / "digits.tflite").read_bytes()), (inputs, outputs))
        with self.assertRaises(InvalidInput):
            model_tensors(b"no model")
        with self.assertRaises(InvalidInput):
            model_tensors((DIGITS / "digits.tflite").read_bytes()[:5000])
        self.refuses("unreadable_file", model_tensors, self.folder / "absent")


if __name__ == "__main__":
    unittest.main()
