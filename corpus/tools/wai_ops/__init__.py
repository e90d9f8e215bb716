"""Checker and second certifier of wai-ops/1; wai_ops_check.py beside this package runs it."""
