#!/usr/bin/env python3
"""Independent checker and second certifier of wai-ops/1, the integer operator set.

Written from docs/integer-operators.md alone (section numbers below are its), with the Python
standard library only and without code or tables of the C++ implementation: a certificate is
evidence because two programs that share nothing wrote the same bytes (§1.4).

    wai_ops_check.py CORPUSDIR
        rewrites every vector file, npu.jsonl, index.json, every lowered graph and every
        certificate of the corpus from their inputs; 0 when every byte is equal, 3 when not.
    wai_ops_check.py CORPUSDIR --external NAME=DIR [--field NAME=INTEGER]
        certifies a set that certificates/external.json lists, from the folder with its files.
    wai_ops_check.py certify --capability NAME --lowering ID --member NAME=PATH...
            [--field NAME=INTEGER] [--profile acc32|acc64] [--out CERT] [--check CERT]
    wai_ops_check.py certify --whg1 ROLE=PATH... [--capability NAME] [--lowering ID] ...
        certifies one set, or WHG1 graphs on their own.

Exit statuses (§14.6; when several apply: 5, 4, 2, 3, 1): 0 the verdict meets the profile, 1 it
does not, 2 a graph is malformed or refused by load steps 1-7, 3 a byte differs, 4 the lowering
refuses the set, 5 usage or a file that cannot be read.

The modules are beside this file, in wai_ops/.
"""

import os
import sys

# With -I the script's folder is not on the path; nothing is written beside the corpus.
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

from wai_ops.commands import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
