"""The same objects as helx.api."""

from helx.api import *
from helx.api import __all__
