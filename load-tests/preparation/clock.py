"""The moment at which the router's tests render, for what engines print of the time."""

import datetime
import types


class Moment(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(2026, 1, 15, 12)


def stop(module):
    """Of a module that has imported the class, or the module of it."""
    own = module.datetime
    module.datetime = types.SimpleNamespace(datetime=Moment) if isinstance(own, types.ModuleType) else Moment
