"""Estimates against an embedded server and its real worker: verdicts, evidence, refusals."""

import hashlib
import json
import os
import shutil
import unittest
from pathlib import Path
from unittest import mock

from helia_estimator import api as alias
from helx import api
from helx.api import (
    ComparisonPolicy,
    DType,
    EstimateRequest,
    EvidenceError,
    ExperimentConfig,
    FvpConfig,
    InvalidInput,
    JobError,
    NotFound,
    ReferenceOrigin,
    ReferenceOutputs,
    RequestRefused,
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
)
from helx.v1 import jobs_pb2
from service import DIGITS, ServiceTest

IMAGE = TensorSpec(0, "image", DType.INT8, (1, 8, 8, 1))
SCORES = TensorSpec(0, "Identity", DType.INT8, (1, 10))


def sample(number):
    """A held-out image and the scores that tflite-micro's reference kernels give."""
    return (
        TensorData(IMAGE, (DIGITS / "inputs" / f"{number:02}.bin").read_bytes()),
        (DIGITS / "expected" / f"s{number:02}" / "output-0.bin").read_bytes(),
    )


def policy(image, *references, **named):
    return TensorIOPolicy(
        inputs=(TensorLiteral.from_tensor(image),),
        references=tuple(
            TensorReference.from_reference(
                ReferenceOutputs(
                    (TensorData(SCORES, scores),), ReferenceOrigin.OTHER, "tflite-micro"
                )
            )
            for scores in references
        ),
        **named,
    )


def request(tensor_io=None, name="trial", model="model.tflite", **settings):
    return EstimateRequest(
        ExperimentConfig(name, model, Settings(fvp=FvpConfig(tensor_io=tensor_io), **settings))
    )


class EstimateTest(ServiceTest):
    def refuses(self, kind, code, call, *arguments, **named):
        with self.assertRaises(kind) as caught:
            call(*arguments, **named)
        self.assertEqual(caught.exception.code, code, caught.exception)
        return caught.exception

    def test_the_other_import_path_has_the_same_objects(self):
        self.assertEqual(alias.__all__, api.__all__)
        for name in api.__all__:
            self.assertIs(getattr(alias, name), getattr(api, name))

    def test_a_match(self):
        image, scores = sample(0)
        outcome = api.estimate(request(policy(image, scores)))
        self.assertIs(outcome.matched, True)
        self.assertIs(outcome.result.matched, True)
        self.assertEqual(outcome.path, Path("results/trial"))
        self.assertRegex(outcome.job, "^jobs/")
        tensors = outcome.result.tensors
        self.assertEqual(tensors.input_intent, "explicit")
        self.assertEqual(tensors.inputs[0].spec, IMAGE)
        self.assertEqual(tensors.inputs[0].sha256, hashlib.sha256(image.data).hexdigest())
        self.assertEqual(outcome.result.read_artifact(tensors.inputs[0].path), image.data)
        self.assertEqual(tensors.outputs, (SCORES,))
        self.assertEqual(tensors.references[0].origin, ReferenceOrigin.OTHER)
        self.assertEqual(tensors.references[0].description, "tflite-micro")
        self.assertEqual(tensors.policy, ComparisonPolicy())
        (measured,) = outcome.result.measurements.samples
        self.assertEqual(measured.signatures, (hashlib.sha256(scores).hexdigest(),))
        self.assertEqual((outcome.path / measured.output_tensors[0]).read_bytes(), scores)
        self.assertEqual(measured.verification.reference_index, 0)
        self.assertEqual(measured.verification.tensors[0].max_abs_error, "0")
        self.assertGreater(measured.instructions.value, 10_000)
        self.assertEqual(measured.instructions.basis, "qemu-icount")
        self.assertEqual(api.output_tensors(outcome.result), (TensorData(SCORES, scores),))
        # The same again comes from the store and is the same bundle.
        again = api.estimate(request(policy(image, scores)), output="again")
        self.assertTrue(again.cached)
        self.assertEqual(again.result.manifest_sha256, outcome.result.manifest_sha256)
        self.assertEqual(
            api.load_result("results/trial").content_digest, again.result.content_digest
        )

    def test_progress_is_told(self):
        seen = []
        outcome = api.estimate(request(samples=3), no_cache=True, on_progress=seen.append)
        self.assertEqual({each.job for each in seen}, {outcome.job})
        self.assertEqual({(each.experiment, each.run) for each in seen}, {("trial", "")})
        phases = [each.phase for each in seen]
        self.assertEqual(phases[-1], "SUCCEEDED")
        self.assertLess(phases.index("BUILDING"), phases.index("RUNNING"))
        for each in seen:
            self.assertEqual(each.queue_reason != "", each.phase == "QUEUED", each)

        class Stop(Exception):
            pass

        def stop(_):
            raise Stop

        with self.assertRaises(Stop):
            api.estimate(request(samples=4), on_progress=stop)

    def test_a_mismatch_is_a_complete_result(self):
        image, scores = sample(1)
        wrong = scores[:7] + bytes([scores[7] ^ 4]) + scores[8:]
        outcome = api.estimate(request(policy(image, wrong)))
        self.assertIs(outcome.matched, False)
        (verdict,) = outcome.result.measurements.samples[0].verification.tensors
        self.assertEqual(
            (verdict.elements, verdict.mismatches, verdict.nonfinite_pairs), (10, 1, 0)
        )
        self.assertEqual(verdict.max_abs_error, "4")
        self.assertEqual(verdict.first_difference.position, (0, 7))
        signed = [
            int.from_bytes(bytes([data[7]]), "little", signed=True) for data in (scores, wrong)
        ]
        self.assertEqual(
            [verdict.first_difference.actual, verdict.first_difference.reference],
            [str(value) for value in signed],
        )
        self.assertIs(api.load_result(outcome.path).matched, False)
        # Offline, under another policy, the same outputs match.
        check = api.verify_outputs(
            outcome.result,
            0,
            ReferenceOutputs((TensorData(SCORES, wrong),), "files", "changed"),
            ComparisonPolicy(per_tensor=(TensorTolerance(0, Tolerance(absolute=4)),)),
        )
        self.assertTrue(check.matched)

    def test_zeros_are_captured_without_a_verdict(self):
        outcome = api.estimate(request(TensorIOPolicy(), samples=2, warmup=1))
        self.assertIsNone(outcome.matched)
        self.assertEqual(outcome.result.tensors.input_intent, "implicit_zeros")
        first, second = (api.output_tensors(outcome.result, index) for index in (0, 1))
        self.assertEqual(first, second)
        self.refuses(NotFound, "not_found", api.output_tensors, outcome.result, 2)
        identity = api.input_identity(outcome.result)
        explicit = api.estimate(request(policy(TensorData(IMAGE, bytes(64)))), output="explicit")
        self.assertEqual(api.input_identity(explicit.result), identity)
        self.assertEqual(
            identity.value,
            "helx.inputs/v1:sha256:" + hashlib.sha256(identity.canonical_json.encode()).hexdigest(),
        )

    def test_without_capture_there_is_no_identity(self):
        outcome = api.estimate(request())
        self.assertIsNone(outcome.matched)
        identity = api.input_identity(outcome.result)
        self.assertIsNone(identity.value)
        self.assertIsNone(identity.canonical_json)
        self.assertTrue(identity.unavailable_reason)
        self.assertIsNone(api.observations(outcome.result).workload.input_identity)
        self.assertEqual(outcome.result.measurements.samples[0].output_tensors, ())
        self.refuses(NotFound, "not_found", api.output_tensors, outcome.result)

    def test_export(self):
        image, scores = sample(2)
        result = api.estimate(request(policy(image, scores))).result
        view = api.observations(result)
        self.assertEqual((view.schema_version, view.mapping), ("1.0-draft", "helx-schema4-draft4"))
        binding = view.extensions["helia-estimator"]["tensor_binding"]
        self.assertEqual([item["status"] for item in binding["samples"]], ["match"])
        self.assertEqual(binding["comparison_units"], "stored_values")
        text = api.render_result(result)
        self.assertEqual(json.loads(text)["extensions"], view.extensions)
        api.export_result(result, "view.json")
        self.assertEqual(Path("view.json").read_text("utf-8"), text)
        self.assertEqual(os.stat("view.json").st_mode & 0o777, 0o644)
        for place in ("absent/view.json", ".", "/", "results", "view.json/deeper"):
            self.refuses(InvalidInput, "unwritable", api.export_result, result, place)
            self.refuses(InvalidInput, "unwritable", api.save_request, request(), place)
        self.refuses(InvalidInput, "wrong_path", api.export_result, result, "\ud800.json")
        os.symlink("view.json", "link.json")
        self.refuses(InvalidInput, "unwritable", api.export_result, result, "link.json")
        self.assertTrue(os.path.islink("link.json"))
        Path("bundle").mkdir()
        Path("bundle/manifest.json").write_text("{}")
        self.refuses(InvalidInput, "unwritable", api.export_result, result, "bundle/view.json")

    def test_results_cannot_be_changed(self):
        image, scores = sample(2)
        outcome = api.estimate(request(policy(image, scores)))
        result = outcome.result
        changes = [
            lambda: setattr(result, "matched", False),
            lambda: delattr(result, "matched"),
            lambda: setattr(result, "more", 1),
            lambda: setattr(outcome, "result", None),
            lambda: setattr(result.measurements.samples[0].instructions, "value", 1),
            lambda: result.measurements.memory.clear(),
            lambda: result.document["measurements"]["samples"].append({}),
            lambda: result.manifest.update(status="failed"),
            lambda: api.observations(result).extensions.clear(),
        ]
        for change in changes:
            with self.assertRaises((AttributeError, TypeError)):
                change()
        self.assertIs(result.matched, True)
        self.assertEqual(json.loads(json.dumps(result.document)), result.document)

    def test_several_jobs(self):
        config = ExperimentConfig("many", "model.tflite", runs=[])
        for number in (3, 4):
            image, scores = sample(number)
            config.runs.append(
                RunConfig(name=f"s{number}", fvp=FvpConfig(tensor_io=policy(image, scores)))
            )
        self.refuses(InvalidInput, "several_jobs", api.estimate, EstimateRequest(config))
        outcomes = api.estimate_all(EstimateRequest(config))
        self.assertEqual(
            [outcome.path for outcome in outcomes],
            [Path("results/many/s3"), Path("results/many/s4")],
        )
        self.assertEqual([outcome.matched for outcome in outcomes], [True, True])

    def test_files_are_read_when_the_request_is_used(self):
        image, scores = sample(6)
        Path("in.bin").write_bytes(image.data)
        bound = TensorIOPolicy(inputs=(TensorFile(0, "image", "int8", (1, 8, 8, 1), "in.bin"),))
        outcome = api.estimate(request(bound))
        self.assertEqual(api.output_tensors(outcome.result)[0].data, scores)
        os.remove("in.bin")
        self.refuses(InvalidInput, "unreadable_file", api.estimate, request(bound))

    def test_freeze(self):
        image, _ = sample(0)
        frozen = api.freeze(request(policy(image)))
        self.assertEqual(
            frozen.identity,
            "helx.request/v1:sha256:" + hashlib.sha256(frozen.canonical_json.encode()).hexdigest(),
        )
        (bound,) = frozen.request["tensors"]["input_sets"][0]
        self.assertEqual(bound["sha256"], hashlib.sha256(image.data).hexdigest())
        other = api.freeze(request(policy(sample(1)[0])))
        self.assertNotEqual(other.identity, frozen.identity)

    def test_build_binds_the_policy(self):
        image, scores = sample(7)
        built = api.build(request(policy(image, scores)))
        self.assertEqual(built.path, Path("builds/trial"))
        self.assertFalse(built.result.executed)
        self.assertIsNone(built.result.matched)
        self.assertEqual(built.result.measurements.samples, ())
        self.assertEqual(
            built.result.read_artifact(built.result.tensors.inputs[0].path), image.data
        )
        from_frozen = api.build(api.freeze(request(policy(image, scores))), output="again")
        self.assertTrue(from_frozen.cached)
        self.assertEqual(from_frozen.result.content_digest, built.result.content_digest)
        other = api.build(request(policy(sample(8)[0], scores)), output="other")
        self.assertNotEqual(
            other.result.document["image_sha256"], built.result.document["image_sha256"]
        )

    def test_freeze_build_run_build_replay(self):
        image, scores = sample(9)
        Path("in.bin").write_bytes(image.data)
        bound = TensorIOPolicy(
            inputs=(TensorFile(0, "image", "int8", (1, 8, 8, 1), "in.bin"),),
            references=policy(image, scores).references,
        )
        built = api.build(api.freeze(request(bound, name="chain")))
        # Nothing but the build bundle is left to read.
        os.remove("in.bin")
        os.remove("model.tflite")
        outcome = api.run_build(built)
        self.assertIs(outcome.matched, True)
        self.assertEqual(outcome.path, Path("results/chain"))
        self.assertEqual(api.output_tensors(outcome.result)[0].data, scores)
        image_file = "build/model.elf"
        self.assertEqual(
            outcome.result.read_artifact(image_file), built.result.read_artifact(image_file)
        )
        again = api.replay(outcome)
        self.assertFalse(again.cached)
        self.assertEqual(again.path, Path("replays/chain"))
        self.assertEqual(again.result.content_digest, outcome.result.content_digest)
        self.assertEqual(again.result.document, outcome.result.document)
        self.refuses(InvalidInput, "not_a_build", api.run_build, outcome.path)
        self.refuses(InvalidInput, "not_a_result", api.replay, built.path)

    def test_a_mismatch_of_a_build_is_a_complete_result(self):
        image, scores = sample(10)
        wrong = bytes([scores[0] ^ 1]) + scores[1:]
        built = api.build(request(policy(image, wrong), name="off"))
        outcome = api.run_build(str(built.path), output="kept")
        self.assertIs(outcome.matched, False)
        self.assertIs(api.load_result("kept/off").matched, False)
        self.assertIs(api.replay("kept/off").matched, False)

    def test_a_stored_result_is_verified_by_the_server(self):
        image, scores = sample(11)
        outcome = api.estimate(request(policy(image), name="remote"))
        reference = ReferenceOutputs(
            (TensorData(SCORES, scores),), ReferenceOrigin.OTHER, "tflite-micro"
        )
        wrong = ReferenceOutputs(
            (TensorData(SCORES, scores[:3] + bytes([scores[3] ^ 4]) + scores[4:]),),
            "files",
            "changed",
        )
        bundle = (outcome.path / "manifest.json").read_bytes()
        digest = f"{hashlib.sha256(bundle).hexdigest()}/{len(bundle)}"
        for target in ("remote", outcome.job, digest):
            recorded = api.verify_stored(target)
            self.assertEqual(recorded.bundle, digest)
            self.assertEqual(recorded.content_digest, outcome.result.content_digest)
            self.assertEqual((recorded.assessment, recorded.samples), ("not_compared", {0: None}))
        self.assertTrue(api.verify_stored_outputs("remote", 0, reference).matched)
        # The server and this process give the same verdict, since the same core gives it.
        for tolerance in (Tolerance(), Tolerance(absolute=4), Tolerance(relative=0.125)):
            chosen = ComparisonPolicy(default=tolerance)
            self.assertEqual(
                api.verify_stored_outputs("remote", 0, wrong, chosen),
                api.verify_outputs(outcome.result, 0, wrong, chosen),
            )
        self.assertEqual(api.stored_input_identity("remote"), api.input_identity(outcome.result))
        self.assertEqual(api.stored_observations("remote"), api.observations(outcome.result))
        self.assertEqual(api.render_stored("remote"), api.render_result(outcome.result))
        shifted = TensorSpec(0, "other", "int8", (1, 10))
        shorter = TensorSpec(0, "Identity", "uint8", (1, 10))
        for code, tensors in [
            ("wrong_name", (TensorData(shifted, scores),)),
            ("wrong_dtype", (TensorData(shorter, scores),)),
            ("output_count", ()),
        ]:
            unfit = ReferenceOutputs(tensors, "files", "does not fit")
            self.refuses(InvalidInput, code, api.verify_stored_outputs, "remote", 0, unfit)
        absent = ComparisonPolicy(per_tensor=(TensorTolerance(1, Tolerance()),))
        self.refuses(
            InvalidInput, "unknown_output", api.verify_stored_outputs, "remote", 0, reference, absent
        )
        huge = ComparisonPolicy(default=Tolerance(absolute=2**64))
        self.assertTrue(api.verify_stored_outputs("remote", 0, wrong, huge).matched)
        self.refuses(NotFound, "not_found", api.verify_stored_outputs, "remote", 1, reference)
        with self.assertRaises(NotFound):
            api.verify_stored("unheard-of")

    def test_an_input_sequence(self):
        chosen = [sample(number) for number in (12, 13, 14)]
        sets = tuple((TensorLiteral.from_tensor(image),) for image, _ in chosen)
        references = policy(chosen[0][0], *(scores for _, scores in chosen)).references
        outcome = api.estimate(
            request(
                TensorIOPolicy(input_sequence=sets, references=references),
                name="steps",
                samples=3,
                state="carry",
            )
        )
        self.assertIs(outcome.matched, True)
        self.assertIsNone(outcome.result.tensors.inputs)
        self.assertEqual(len(outcome.result.tensors.input_sequence), 3)
        identity = api.input_identity(outcome.result)
        self.assertIsNone(identity.value)
        self.assertTrue(identity.unavailable_reason)
        preimage = json.dumps(
            {
                "input_sets": [
                    [
                        {
                            "dtype": "int8",
                            "index": 0,
                            "name": "image",
                            "sha256": hashlib.sha256(image.data).hexdigest(),
                            "shape": [1, 8, 8, 1],
                        }
                    ]
                    for image, _ in chosen
                ],
                "schema": "helx.input-sequence/v1",
                "storage": "little-endian",
            },
            sort_keys=True,
            separators=(",", ":"),
        )
        self.assertEqual(identity.sequence_canonical_json, preimage)
        self.assertEqual(
            identity.sequence_value,
            "helx.input-sequence/v1:sha256:" + hashlib.sha256(preimage.encode()).hexdigest(),
        )

    def test_run_build_submits_the_bundle_as_it_is(self):
        built = api.build(request(policy(sample(7)[0])))

        class Submitted(Exception):
            pass

        for given in (built, built.path, str(built.path)):
            with mock.patch("helx._jobs.JobClient.submit", side_effect=Submitted) as submit:
                self.assertRaises(Submitted, api.run_build, given)
            submission, blobs = submit.call_args.args
            manifest = (built.path / "manifest.json").read_bytes()
            self.assertEqual(submission.kind, jobs_pb2.JOB_KIND_RUN_BUILD)
            self.assertEqual(submission.bundle.hash, hashlib.sha256(manifest).hexdigest())
            self.assertEqual(submission.bundle.size_bytes, len(manifest))
            files = [path for path in built.path.rglob("*") if path.is_file()]
            self.assertEqual(
                {blob.digest.hash for blob in blobs},
                {hashlib.sha256(path.read_bytes()).hexdigest() for path in files},
            )
        (built.path / "manifest.json").write_bytes(manifest + b" ")
        with self.assertRaises(EvidenceError):
            api.run_build(built)

    def test_requests_that_freezing_refuses(self):
        shifted = TensorSpec(0, "picture", "int8", (1, 8, 8, 1))
        for code, spec in [
            ("wrong_name", shifted),
            ("wrong_dtype", TensorSpec(0, "image", "uint8", (1, 8, 8, 1))),
            ("wrong_shape", TensorSpec(0, "image", "int8", (8, 8))),
        ]:
            with self.subTest(code=code), self.assertRaises(RequestRefused) as caught:
                api.estimate(request(policy(TensorData(spec, bytes(64)))))
            self.assertEqual(caught.exception.code, code)
            self.assertEqual([item.code for item in caught.exception.violations], [code])
        extra = TensorIOPolicy(
            inputs=(
                TensorLiteral.from_tensor(sample(0)[0]),
                TensorLiteral(1, "more", "int8", (), "00"),
            )
        )
        with self.assertRaises(RequestRefused):
            api.freeze(request(extra))
        Path("broken.tflite").write_bytes((DIGITS / "digits.tflite").read_bytes()[:9000])
        with self.assertRaises(RequestRefused):
            api.estimate(request(model="broken.tflite"))
        with self.assertRaises(RequestRefused):
            api.estimate(request(engine="unheard-of"))
        self.assertFalse(Path("results").exists())

    def test_arguments_that_are_refused_before_any_server_is_asked(self):
        for named in (
            {"run_limit_s": -1},
            {"run_limit_s": float("nan")},
            {"queue_limit_s": 1e9},
            {"run_limit_s": "1"},
            {"no_cache": 1},
            {"output": ""},
            {"output": "a\0"},
            {"server": "nowhere"},
        ):
            with self.subTest(named=named), self.assertRaises(InvalidInput):
                api.estimate(request(), **named)
        self.refuses(InvalidInput, "wrong_type", api.estimate, "experiment.yaml")
        Path("results").write_text("a file")
        self.refuses(InvalidInput, "place_taken", api.estimate, request(), output="results/..")
        self.refuses(InvalidInput, "unwritable", api.estimate, request(), output="/proc")
        for server, code in [(3, "wrong_type"), ("\ud800:1", "not_utf8")]:
            self.refuses(InvalidInput, code, api.estimate, request(), server=server, output="o")

    def test_references_that_do_not_fit(self):
        image, scores = sample(0)
        result = api.estimate(request(policy(image))).result

        def verify(*tensors, index=0, policy=ComparisonPolicy()):
            return lambda: api.verify_outputs(
                result, index, ReferenceOutputs(tensors, "files", "d"), policy
            )

        right = TensorData(SCORES, scores)
        self.assertTrue(verify(right)().matched)
        self.refuses(InvalidInput, "output_count", verify())
        self.refuses(InvalidInput, "output_count", verify(right, right))
        for code, spec in [
            ("wrong_name", TensorSpec(0, "scores", "int8", (1, 10))),
            ("wrong_dtype", TensorSpec(0, "Identity", "uint8", (1, 10))),
            ("wrong_shape", TensorSpec(0, "Identity", "int8", (10,))),
        ]:
            self.refuses(InvalidInput, code, verify(TensorData(spec, scores)))
        self.refuses(
            InvalidInput,
            "unknown_output",
            verify(right, policy=ComparisonPolicy(per_tensor=(TensorTolerance(1, Tolerance()),))),
        )
        self.refuses(NotFound, "not_found", verify(right, index=1))
        self.refuses(InvalidInput, "out_of_range", verify(right, index=-1))
        self.refuses(InvalidInput, "out_of_range", verify(right, index=2**64))

    def test_bundles_that_are_not_believed(self):
        image, scores = sample(0)
        path = api.estimate(request(policy(image, scores))).path

        def tampered(code, change):
            shutil.rmtree("tampered", ignore_errors=True)
            shutil.copytree(path, "tampered", symlinks=True)
            change(Path("tampered"))
            self.refuses(EvidenceError, code, api.load_result, "tampered")

        output = "tensors/outputs/0/output-0.bin"
        tampered("artifact_modified", lambda p: (p / output).write_bytes(scores[:-1] + b"\x01"))
        tampered("artifact_size", lambda p: (p / output).write_bytes(scores[:-1]))
        tampered("artifact_missing", lambda p: (p / output).unlink())
        tampered("unlisted_file", lambda p: (p / "extra").write_text("x"))
        tampered("special_file", lambda p: (p / "link").symlink_to("result.json"))
        tampered("manifest_missing", lambda p: (p / "manifest.json").unlink())
        self.refuses(NotFound, "bundle_missing", api.load_result, "absent")
        # A bundle that changes after it was loaded is noticed when its bytes are asked for.
        result = api.load_result(path)
        (path / output).write_bytes(scores[:-1] + b"\x01")
        self.refuses(EvidenceError, "artifact_modified", api.output_tensors, result)

    def test_a_job_that_times_out(self):
        with self.assertRaises(JobError) as caught:
            api.estimate(
                request(TensorIOPolicy(), samples=1000, warmup=1000),
                run_limit_s=0.05,
                no_cache=True,
            )
        self.assertEqual((caught.exception.phase, caught.exception.fault), ("TIMED_OUT", None))
        self.assertFalse(Path("results/trial").exists())

    def test_a_server_that_ended_is_brought_back(self):
        api.freeze(request())
        before = self.server_pid()
        self.end_server()
        api.freeze(request())
        self.assertNotIn(self.server_pid(), (None, before))


if __name__ == "__main__":
    unittest.main()
