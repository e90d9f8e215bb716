"""What deploy/ci shows: the Python example run as CI would, the job files as far as a reader of YAML
can tell, and the report that they show as tests.
"""

import os
import re
import subprocess
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from service import ROOT, ServiceTest

CI = ROOT / "deploy" / "ci"
BIN = Path(os.environ.get("HELX_BUILD_DIR") or ROOT / "build") / "bin"


class CiExamplesTest(ServiceTest):
    def test_the_python_example(self):
        Path("experiment.yaml").write_text("name: nightly\nmodel: model.tflite\n")
        done = self.run_python(CI / "estimate.py", "experiment.yaml", "10000000")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("nightly/model: SUCCEEDED", done.stderr)
        self.assertRegex(done.stdout, r"results/nightly +[0-9,]+ +not compared")
        over = self.run_python(CI / "estimate.py", "experiment.yaml", "10")
        self.assertEqual(over.returncode, 1, over.stderr)
        Path("experiment.yaml").write_text("name: nightly\nmodel: none.tflite\n")
        refused = self.run_python(CI / "estimate.py", "experiment.yaml")
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertIn("none.tflite", refused.stderr)

    def commands(self, name):
        """The helxctl command lines of a job file."""
        text = re.sub(r"(?m)^ *#.*\n", "", (CI / name).read_text())
        text = re.sub(r">\n\s+(helxctl[^\n]*)\n\s+(--request-id[^\n]*)", r"\1 \2", text)
        return re.findall(r"(helxctl [^;\n]*)", text)

    def test_the_commands_of_the_job_files(self):
        Path("experiment.yaml").write_text("name: nightly\nmodel: model.tflite\n")
        for name in ("github.yml", "gitlab.yml"):
            run, verify = self.commands(name)
            environment = dict(self.environment, GITHUB_RUN_ID="77", GITHUB_RUN_ATTEMPT="1",
                               CI_JOB_ID="78", PATH=f"{BIN}:/usr/bin:/bin",
                               bundle="results/nightly")
            for command in (run, verify):
                done = subprocess.run(["bash", "-c", command], env=environment,
                                      capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, f"{command}: {done.stderr}")
            root = ElementTree.parse("report.xml").getroot()
            self.assertEqual((root.tag, root.get("tests"), root.get("failures")),
                             ("testsuites", "1", "0"))
            case = root.find("testsuite/testcase")
            self.assertEqual((case.get("classname"), case.get("name")), ("helx.nightly", "nightly"))
            self.assertIn("sha256:", case.find("system-out").text)


if __name__ == "__main__":
    unittest.main()
