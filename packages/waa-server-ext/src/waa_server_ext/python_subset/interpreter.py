"""A small Python interpreter: an allow-list of syntax over plain values and simulated modules."""

from __future__ import annotations

import ast
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from waa_server_ext.python_subset.budget import Budget
from waa_server_ext.python_subset.functions import Function, Scope
from waa_server_ext.python_subset.operators import UNARY, as_load, compare, operate
from waa_server_ext.python_subset.values import (
    BUILTINS,
    CONVERSIONS,
    Callable_,
    NotSimulatedError,
    SimObject,
    StopRunning,
    attribute,
    exception_type,
    formatted,
    is_callable,
)

_MAX_DEPTH = 60  # each call of the program takes several of ours on Python's stack
_ITEM_BYTES = 100  # of a dictionary, more or less
_MAX_SOURCE = 200_000
# before 3.13, parsing in two threads at once corrupts Python's depth counter: SystemError
_PARSING = threading.Lock()


class _BreakLoop(Exception):  # noqa: N818  # control flow
    pass


class _ContinueLoop(Exception):  # noqa: N818  # control flow
    pass


class _ReturnValue(Exception):  # noqa: N818  # control flow
    def __init__(self, value: Any) -> None:
        self.value = value


class Interpreter:
    """Runs source text; `import` finds `modules`, and `names` are defined from the start.

    Errors of Python itself are raised as usual: SyntaxError, NameError, TypeError and so on. Python
    that is not simulated raises NotSimulatedError; a program that runs too long, StopRunning.
    """

    def __init__(
        self,
        modules: Mapping[str, SimObject],
        names: Mapping[str, Any],
        print_: Callable[..., None],
    ) -> None:
        self._modules = modules
        self._globals = Scope({**BUILTINS, **names, "print": Callable_("print", print_)})
        self._budget = Budget.current()
        self._depth = 0
        self.line = 0

    def run(self, source: str) -> None:
        """Run a program."""
        if len(source) > _MAX_SOURCE:
            raise NotSimulatedError(f"programs of more than {_MAX_SOURCE} characters")
        try:
            with _PARSING:
                tree = ast.parse(source, "<string>")
                # finds errors that parsing misses, such as a stray `return`
                compile(tree, "<string>", "exec")
        except (MemoryError, RecursionError) as error:
            raise SyntaxError("too many nested parentheses") from error
        try:
            self._block(tree.body, self._globals)
        except RecursionError as error:
            raise StopRunning("maximum recursion depth exceeded") from error

    def call(self, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call one of the program's functions or one of the simulation's."""
        if isinstance(function, Function):
            self._depth += 1
            if self._depth > _MAX_DEPTH:
                raise RecursionError("maximum recursion depth exceeded")
            try:
                scope = function.bind(args, kwargs)
                if isinstance(function.body, ast.expr):
                    return self._value(function.body, scope)
                self._block(function.body, scope)
            except _ReturnValue as returned:
                return returned.value
            finally:
                self._depth -= 1
            return None
        if not is_callable(function):
            raise TypeError(f"'{type(function).__name__}' object is not callable")
        counted = self._budget.calls_back(function)
        return self._budget.call(
            function,
            [self._plain(each, counted=counted) for each in args],
            {k: self._plain(v, counted=counted) for k, v in kwargs.items()},
        )

    # -- statements

    def _block(self, body: list[ast.stmt], scope: Scope) -> None:
        for statement in body:
            if scope is self._globals:
                self.line = statement.lineno
            self._step()
            method = getattr(self, f"_do_{type(statement).__name__.lower()}", None)
            if method is None:
                raise NotSimulatedError(f"the statement {type(statement).__name__}")
            method(statement, scope)

    def _do_expr(self, node: ast.Expr, scope: Scope) -> None:
        self._value(node.value, scope)

    def _do_pass(self, node: ast.Pass, scope: Scope) -> None:
        pass

    def _do_break(self, *_: object) -> None:
        raise _BreakLoop

    def _do_continue(self, *_: object) -> None:
        raise _ContinueLoop

    def _do_return(self, node: ast.Return, scope: Scope) -> None:
        raise _ReturnValue(self._value(node.value, scope) if node.value else None)

    def _do_assign(self, node: ast.Assign, scope: Scope) -> None:
        value = self._value(node.value, scope)
        for target in node.targets:
            self._store(target, value, scope)

    def _do_annassign(self, node: ast.AnnAssign, scope: Scope) -> None:
        if node.value is not None:
            self._store(node.target, self._value(node.value, scope), scope)

    def _do_augassign(self, node: ast.AugAssign, scope: Scope) -> None:
        load = ast.copy_location(as_load(node.target), node)
        left, right = self._value(load, scope), self._value(node.value, scope)
        value = operate(node.op, left, right, self._budget)
        self._store(node.target, value, scope)

    def _do_delete(self, node: ast.Delete, scope: Scope) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                scope.delete(target.id)
            elif isinstance(target, ast.Subscript):
                del self._container(target, scope)[self._key(target.slice, scope)]
            else:
                raise NotSimulatedError("deleting this")

    def _do_if(self, node: ast.If, scope: Scope) -> None:
        self._block(node.body if self._value(node.test, scope) else node.orelse, scope)

    def _do_while(self, node: ast.While, scope: Scope) -> None:
        while self._value(node.test, scope):
            self._step()
            try:
                self._block(node.body, scope)
            except _BreakLoop:
                return
            except _ContinueLoop:
                continue
        self._block(node.orelse, scope)

    def _do_for(self, node: ast.For, scope: Scope) -> None:
        for each in self._iterate(self._value(node.iter, scope)):
            self._store(node.target, each, scope)
            try:
                self._block(node.body, scope)
            except _BreakLoop:
                return
            except _ContinueLoop:
                continue
        self._block(node.orelse, scope)

    def _do_functiondef(self, node: ast.FunctionDef, scope: Scope) -> None:
        if node.decorator_list:
            raise NotSimulatedError("decorators")
        scope.set(node.name, self._function(node.name, node.args, node.body, scope))

    def _do_global(self, node: ast.Global, scope: Scope) -> None:
        scope.declare_global(node.names)

    def _do_assert(self, node: ast.Assert, scope: Scope) -> None:
        if not self._value(node.test, scope):
            raise AssertionError(*([self._value(node.msg, scope)] if node.msg else []))

    def _do_import(self, node: ast.Import, scope: Scope) -> None:
        for alias in node.names:
            top = alias.name.split(".")[0]
            found = self._module(alias.name)
            scope.set(alias.asname or top, found if alias.asname else self._module(top))

    def _do_importfrom(self, node: ast.ImportFrom, scope: Scope) -> None:
        module = self._module(node.module or "")
        for alias in node.names:
            if alias.name == "*":
                for name in module.names():
                    scope.set(name, module.get(name))
                continue
            nested = self._modules.get(f"{node.module}.{alias.name}")
            try:
                value = nested or module.get(alias.name)
            except AttributeError as error:
                raise ImportError(
                    f"cannot import name {alias.name!r} from {node.module!r}"
                ) from error
            scope.set(alias.asname or alias.name, value)

    def _do_raise(self, node: ast.Raise, scope: Scope) -> None:
        if node.exc is None:
            raise RuntimeError("No active exception to reraise")
        value = self._value(node.exc, scope)
        if isinstance(value, Callable_) and (kind := exception_type(value.name)):
            raise kind
        if isinstance(value, Exception | SystemExit):
            raise value
        raise TypeError("exceptions must derive from BaseException")

    def _do_try(self, node: ast.Try, scope: Scope) -> None:
        try:
            self._block(node.body, scope)
        except (_BreakLoop, _ContinueLoop, _ReturnValue, NotSimulatedError):
            raise
        except (Exception, SystemExit) as error:
            handler = self._handler(node.handlers, error, scope)
            if handler is None:
                raise
            if handler.name:
                scope.set(handler.name, error)
            self._block(handler.body, scope)
        else:
            self._block(node.orelse, scope)
        finally:
            self._block(node.finalbody, scope)

    def _handler(
        self, handlers: list[ast.ExceptHandler], error: Exception | SystemExit, scope: Scope
    ) -> ast.ExceptHandler | None:
        for handler in handlers:
            if handler.type is None:
                return handler
            wanted = self._value(handler.type, scope)
            names = [
                each.name
                for each in (wanted if isinstance(wanted, tuple) else (wanted,))
                if isinstance(each, Callable_)
            ]
            kinds = [exception_type(each) for each in names]
            if "BaseException" in names or any(
                kind is not None and isinstance(error, kind) for kind in kinds
            ):
                return handler
        return None

    def _do_with(self, node: ast.With, scope: Scope) -> None:
        opened = []
        for item in node.items:
            value = self._value(item.context_expr, scope)
            if not isinstance(value, SimObject) or value.leave is None:
                raise TypeError(
                    f"'{type(value).__name__}' object does not support the context manager protocol"
                )
            opened.append(value)
            if item.optional_vars is not None:
                self._store(item.optional_vars, value, scope)
        try:
            self._block(node.body, scope)
        finally:
            for value in reversed(opened):
                if value.leave is not None:
                    value.leave()

    # -- expressions

    def _value(self, node: ast.expr, scope: Scope) -> Any:
        self._step()
        method = getattr(self, f"_get_{type(node).__name__.lower()}", None)
        if method is None:
            raise NotSimulatedError(f"the expression {type(node).__name__}")
        return method(node, scope)

    def _get_constant(self, node: ast.Constant, _scope: Scope) -> Any:
        return node.value

    def _get_name(self, node: ast.Name, scope: Scope) -> Any:
        return scope.get(node.id)

    def _get_attribute(self, node: ast.Attribute, scope: Scope) -> Any:
        return attribute(self._value(node.value, scope), node.attr)

    def _get_subscript(self, node: ast.Subscript, scope: Scope) -> Any:
        found = self._value(node.value, scope)[self._key(node.slice, scope)]
        return self._budget.made(found) if isinstance(node.slice, ast.Slice) else found

    def _get_slice(self, node: ast.Slice, scope: Scope) -> slice:
        parts = [
            self._value(each, scope) if each else None
            for each in (node.lower, node.upper, node.step)
        ]
        return slice(*parts)

    def _get_call(self, node: ast.Call, scope: Scope) -> Any:
        function = self._value(node.func, scope)
        args = self._items(node.args, scope)
        kwargs: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self._value(keyword.value, scope)
            kwargs |= self._budget.made(value) if keyword.arg is None else {keyword.arg: value}
        return self.call(function, args, kwargs)

    def _get_binop(self, node: ast.BinOp, scope: Scope) -> Any:
        left, right = self._value(node.left, scope), self._value(node.right, scope)
        return operate(node.op, left, right, self._budget)

    def _get_unaryop(self, node: ast.UnaryOp, scope: Scope) -> Any:
        return UNARY[type(node.op)](self._value(node.operand, scope))

    def _get_boolop(self, node: ast.BoolOp, scope: Scope) -> Any:
        value: Any = None
        for each in node.values:
            value = self._value(each, scope)
            if bool(value) is isinstance(node.op, ast.Or):
                return value
        return value

    def _get_compare(self, node: ast.Compare, scope: Scope) -> Any:
        left: Any = self._value(node.left, scope)
        for op, each in zip(node.ops, node.comparators, strict=True):
            right = self._value(each, scope)
            if not compare(op, left, right, self._budget):
                return False
            left = right
        return True

    def _get_ifexp(self, node: ast.IfExp, scope: Scope) -> Any:
        return self._value(node.body if self._value(node.test, scope) else node.orelse, scope)

    def _get_namedexpr(self, node: ast.NamedExpr, scope: Scope) -> Any:
        value = self._value(node.value, scope)
        self._store(node.target, value, scope)
        return value

    def _get_list(self, node: ast.List, scope: Scope) -> list[Any]:
        return self._items(node.elts, scope)

    def _get_tuple(self, node: ast.Tuple, scope: Scope) -> tuple[Any, ...]:
        return tuple(self._items(node.elts, scope))

    def _get_set(self, node: ast.Set, scope: Scope) -> set[Any]:
        return {self._budget.key(each) for each in self._items(node.elts, scope)}

    def _get_dict(self, node: ast.Dict, scope: Scope) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                made |= self._budget.made(self._value(value, scope))
            else:
                made[self._key(key, scope)] = self._value(value, scope)
        return made

    def _get_joinedstr(self, node: ast.JoinedStr, scope: Scope) -> str:
        return self._budget.joined(str(self._value(each, scope)) for each in node.values)

    def _get_formattedvalue(self, node: ast.FormattedValue, scope: Scope) -> str:
        value = self._value(node.value, scope)
        self._budget.weigh(value)
        letter = chr(node.conversion) if node.conversion > 0 else None
        converted = CONVERSIONS[letter](value) if letter in CONVERSIONS else value
        spec = str(self._value(node.format_spec, scope)) if node.format_spec else ""
        return formatted(converted, spec)

    def _get_lambda(self, node: ast.Lambda, scope: Scope) -> Function:
        return self._function("<lambda>", node.args, node.body, scope)

    def _get_listcomp(self, node: ast.ListComp, scope: Scope) -> list[Any]:
        return list(
            self._comprehension(node.generators, scope, lambda inner: self._value(node.elt, inner))
        )

    def _get_generatorexp(self, node: ast.GeneratorExp, scope: Scope) -> list[Any]:
        return list(
            self._comprehension(node.generators, scope, lambda inner: self._value(node.elt, inner))
        )

    def _get_setcomp(self, node: ast.SetComp, scope: Scope) -> set[Any]:
        return set(
            self._comprehension(node.generators, scope, lambda inner: self._key(node.elt, inner))
        )

    def _get_dictcomp(self, node: ast.DictComp, scope: Scope) -> dict[Any, Any]:
        def pair(inner: Scope) -> tuple[Any, Any]:
            return self._key(node.key, inner), self._value(node.value, inner)

        return dict(self._comprehension(node.generators, scope, pair))

    # -- pieces

    def _comprehension(
        self, generators: list[ast.comprehension], scope: Scope, make: Callable[[Scope], Any]
    ) -> Iterator[Any]:
        inner = Scope({}, scope)

        def run(level: int) -> Iterator[Any]:
            if level == len(generators):
                yield make(inner)
                return
            generator = generators[level]
            for each in self._iterate(self._value(generator.iter, inner)):
                self._store(generator.target, each, inner)
                if all(self._value(test, inner) for test in generator.ifs):
                    yield from run(level + 1)

        return run(0)

    def _items(self, nodes: list[ast.expr], scope: Scope) -> list[Any]:
        items: list[Any] = []
        for each in nodes:
            if isinstance(each, ast.Starred):
                items += self._budget.made(list(self._iterate(self._value(each.value, scope))))
            else:
                items.append(self._value(each, scope))
        return items

    def _iterate(self, value: Any) -> Iterator[Any]:
        if isinstance(value, SimObject):
            value = value.iterate()
        for each in value:
            self._step()
            yield each

    def _store(self, target: ast.expr, value: Any, scope: Scope) -> None:
        if isinstance(target, ast.Name):
            scope.set(target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            values = list(self._iterate(value))
            if len(values) != len(target.elts):
                raise ValueError(f"cannot unpack {len(values)} values into {len(target.elts)}")
            for each, one in zip(target.elts, values, strict=True):
                self._store(each, one, scope)
        elif isinstance(target, ast.Subscript):
            container, key = self._container(target, scope), self._key(target.slice, scope)
            container[key] = self._budget.made(value) if isinstance(key, slice) else value
            self._budget.make(_ITEM_BYTES)
        elif isinstance(target, ast.Attribute):
            owner = self._value(target.value, scope)
            if not isinstance(owner, SimObject):
                raise AttributeError(  # noqa: TRY004  # as Python
                    f"'{type(owner).__name__}' object attribute {target.attr!r} is read-only"
                )
            owner.set(target.attr, value)
        else:
            raise NotSimulatedError("assigning to this")

    def _container(self, node: ast.Subscript, scope: Scope) -> Any:
        container = self._value(node.value, scope)
        if not isinstance(container, (list, dict)):
            raise TypeError(f"'{type(container).__name__}' object does not support item assignment")
        return container

    def _key(self, node: ast.expr, scope: Scope) -> Any:
        return self._budget.key(self._value(node, scope))

    def _function(
        self, name: str, args: ast.arguments, body: list[ast.stmt] | ast.expr, scope: Scope
    ) -> Function:
        defaults = [self._value(each, scope) for each in args.defaults]
        keyword = [self._value(each, scope) if each else None for each in args.kw_defaults]
        return Function(name, args, body, scope, defaults, keyword)

    def _plain(self, value: Any, *, counted: bool) -> Any:
        """Wrap a function that the program passes, so that our own functions can call it."""
        if isinstance(value, Function) or (counted and is_callable(value)):
            return lambda *args, **kwargs: self.call(value, list(args), kwargs)
        return value

    def _module(self, name: str) -> SimObject:
        found = self._modules.get(name)
        if found is None:
            raise ModuleNotFoundError(f"No module named {name!r}")
        return found

    def _step(self) -> None:
        self._budget.step()
