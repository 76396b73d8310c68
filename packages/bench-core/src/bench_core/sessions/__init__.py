"""Sessions: reset, step, state, score and close over any benchmark, for learning and other programs.

::

    from bench_core import sessions

    with sessions.open("waa", task="notepad/save-as") as session:
        seen = session.reset()
        seen = session.step({"kind": "keys", "keys": ["ctrl", "s"]})
        print(session.score().score)

An episode is a trial: `bench_core.trial` opens, captures and scores it, with the caller as its agent.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
