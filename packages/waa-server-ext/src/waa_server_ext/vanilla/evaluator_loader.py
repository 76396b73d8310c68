"""Importing vanilla's `desktop_env` once, without the packages it does not need.

`easyocr` (torch, 4.8 GB) is imported at module level by one metrics file and used by one metric
that no task has; a stand-in imports the real one on first use. Only a base class of `gymnasium` is
used.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
import types
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bench_core.errors import InputError, MissingExtraError
from waa_server_ext.vanilla.checkout import Checkout

_HEAVY = ("easyocr",)

REFUSED = {
    "check_gnome_favorite_apps": "it runs text of the task or the VM as Python",
    "check_python_file_by_test_suite": "it runs a downloaded file as Python",
    "get_googledrive_file": "it reads credentials from a path in the task",
}
"""Names that vanilla exports, that no task uses, and that would let a request run code here."""

_EVAL_CALLERS = ("desktop_env.evaluators.getters.fileexplorer",)
"""Modules that call `eval` on output of the VM; there it is replaced by a parser of literals."""


class RefusedNameError(InputError):
    """A getter, metric or setup step that requests must not reach."""


class Names:
    """Vanilla's getters or metrics by name, in place of the module that exports them.

    Vanilla looks names up with `getattr`; here that finds registered functions only, and fails with
    the error that the module itself would raise.
    """

    def __init__(self, module: str, functions: Mapping[str, Callable[..., Any]]) -> None:
        object.__setattr__(self, "_module", module)
        object.__setattr__(self, "_functions", dict(functions))

    def __getattribute__(self, name: str) -> Any:
        functions = object.__getattribute__(self, "_functions")
        if name in REFUSED:
            raise RefusedNameError(f"{name} is refused: {REFUSED[name]}")
        if name in functions:
            return functions[name]
        module = object.__getattribute__(self, "_module")
        raise AttributeError(f"module {module!r} has no attribute {name!r}")


@dataclass(frozen=True)
class Vanilla:
    """The parts of a checkout that are used."""

    set_task_info: types.FunctionType
    evaluate: types.FunctionType
    python_controller: type[Any]
    setup_controller: type[Any]
    getters: tuple[str, ...]
    metrics: tuple[str, ...]
    setup_steps: tuple[str, ...]
    stubbed: tuple[str, ...]
    modules: tuple[types.ModuleType, ...]


def load_vanilla(checkout: Checkout) -> Vanilla:
    """Import the checkout's evaluators; once per process.

    Raises:
        InputError: The import failed; names the missing package or the error.
    """
    stubbed = _stand_in()
    sys.path.insert(0, str(checkout.client))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            environment = importlib.import_module("desktop_env.envs.desktop_env")
    except ModuleNotFoundError as error:
        name = error.name or str(error)
        raise MissingExtraError(
            f"running the evaluators of {checkout.root}", name, "waa-server-ext", "vanilla"
        ) from error
    except Exception as error:
        raise InputError(
            f"the evaluators of {checkout.root} do not import: {type(error).__name__}: {error}; "
            f"is it an unchanged checkout, and are the packages those of waa-server-ext[vanilla]?"
        ) from error
    getters = _exported(environment.getters, prefix="get_")
    metrics = _exported(environment.metrics)
    names = {
        "getters": Names(environment.getters.__name__, getters),
        "metrics": Names(environment.metrics.__name__, metrics),
    }
    for module in _EVAL_CALLERS:
        if module in sys.modules:
            sys.modules[module].eval = _literal  # type: ignore[attr-defined]  # hides the builtin
    setup = environment.SetupController
    steps = (name for name in dir(setup) if name.startswith("_") and name.endswith("_setup"))
    return Vanilla(
        set_task_info=_with_names(environment.DesktopEnv._set_task_info, names),  # vanilla's own
        evaluate=_with_names(environment.DesktopEnv.evaluate, names),
        python_controller=environment.PythonController,
        setup_controller=setup,
        getters=tuple(sorted(name.removeprefix("get_") for name in getters if name not in REFUSED)),
        metrics=tuple(sorted(name for name in metrics if name not in REFUSED)),
        setup_steps=tuple(sorted(name[1 : -len("_setup")] for name in steps)),
        stubbed=stubbed,
        modules=tuple(
            module for name, module in sys.modules.items() if name.split(".")[0] == "desktop_env"
        ),
    )


def _with_names(function: Any, names: Mapping[str, Any]) -> types.FunctionType:
    """Return vanilla's function with its code unchanged and `names` as its globals."""
    copy = types.FunctionType(
        function.__code__,
        {**function.__globals__, **names},
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def _exported(module: Any, prefix: str = "") -> dict[str, Callable[..., Any]]:
    """Return the functions that a package exports, by name; `infeasible` is one of the metrics."""
    return {
        name: value
        for name, value in vars(module).items()
        if name.startswith(prefix) and isinstance(value, types.FunctionType)
    }


def _literal(text: str) -> Any:
    """Parse a list of names as the VM's Python prints it, without evaluating anything else."""
    return ast.literal_eval(text.strip())


def _stand_in() -> tuple[str, ...]:
    for name in _HEAVY:
        if name not in sys.modules:
            sys.modules[name] = _LazyModule(name)
    stubbed = list(_HEAVY)
    if importlib.util.find_spec("gymnasium") is None:
        stub = types.ModuleType("gymnasium")
        stub.Env = object  # type: ignore[attr-defined]  # nothing else of it is used
        sys.modules["gymnasium"] = stub
        stubbed.append("gymnasium")
    return tuple(stubbed)


class _LazyModule(types.ModuleType):
    """Stands for a module until one of its attributes is used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        own = self.__name__
        if sys.modules.get(own) is self:
            del sys.modules[own]
        try:
            return getattr(importlib.import_module(own), name)
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                f"{own} is not installed: no task of the 154 needs it; `pip install {own}` adds it"
            ) from error
        finally:
            sys.modules.setdefault(own, self)
