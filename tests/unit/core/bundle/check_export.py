#!/usr/bin/env python3
"""Holds an export against the published JSON Schema: check_export.py SCHEMA EXPORT.

Exit status 0: valid; 1: not, with the reasons; 77: python3-jsonschema is not installed.
"""
import json
import sys

try:
    import jsonschema
except ImportError:
    sys.exit(77)


def refuse_constant(name):
    raise ValueError("JSON holds no " + name)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        schema = json.load(file)
    with open(sys.argv[2], encoding="utf-8") as file:
        view = json.load(file, parse_constant=refuse_constant)
    jsonschema.Draft202012Validator.check_schema(schema)
    errors = list(jsonschema.Draft202012Validator(schema).iter_errors(view))
    for error in errors:
        print("/".join(str(part) for part in error.absolute_path) + ": " + error.message[:200])
    return 1 if errors else 0


sys.exit(main())
