"""HELX: inference of embedded models, estimated, captured and numerically verified.

The public names are in :mod:`helx.api`.
"""

from pathlib import Path as _Path

from helx import _locate

# The wire stubs (helx.v1) are generated. A wheel holds them in this folder; a source tree has them
# in its build folder.
if not (_Path(__file__).parent / "v1").is_dir():
    __path__.extend(str(folder) for folder in _locate.stub_folders())
