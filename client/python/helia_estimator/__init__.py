"""The import path under which the tensor-io documentation names HELX; the same objects as helx."""
