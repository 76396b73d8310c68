"""The file of a study: its agents, benchmarks, trials, limits and declared comparisons."""

from __future__ import annotations

import difflib
import itertools
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    PositiveFloat,
    PositiveInt,
    ValidationError,
)

from bench_core.errors import InputError, pip_install
from bench_core.files.atomic import folder_name
from bench_core.models.yaml_text import YamlError, YamlExcessError, parse_yaml_with_lines
from bench_core.records import Record, RunInfo, World
from bench_core.records.problems import place_of, problems_of
from bench_core.redaction import Redactor, is_secret_name
from bench_core.run_spec import ExecutorSpec, TaskFilter
from bench_core.runs.options import RunOptions

__all__ = [
    "AgentEnvironment",
    "ArmLimits",
    "DeclaredComparison",
    "Study",
    "StudyArm",
    "StudyBenchmark",
    "StudyFile",
    "StudyFileError",
    "StudyLimits",
    "keys_of_run",
    "load_study",
]

_Place = tuple[int | str, ...]
_MATRIX = "matrix"
_TEMPLATES = "x-"
"""Begins the keys at the top that only hold parts for aliases to repeat."""
_VARIABLE = re.compile(r"\$\{([^}]*)\}?")
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FILLED_IN = (
    ("benchmarks", "*", "options"),
    ("arms", "*", "environment"),
    ("executor",),
)
"""Places in which variables are filled in: they differ between machines and declare nothing."""
_NEAR = 0.75


def _share(value: object) -> object:
    """Turn `5pp` and `5%` into a fraction."""
    text = str(value).strip().lower()
    number = text.removesuffix("pp").removesuffix("%").strip()
    with suppress(ValueError):
        if 0.0 < (share := float(number) / (1 if number == text else 100)) < 1.0:
            return share
    raise ValueError("must be a difference of rates, as `5pp` or 0.05")


def _paths(value: object) -> object:
    """Refuse a value that is neither a path nor one for each benchmark, in the words of neither type."""
    paths = value.values() if isinstance(value, dict) else [value]
    if value is not None and not all(isinstance(each, str) and each for each in paths):
        raise ValueError("must be a path, or a path for each benchmark")
    return value


Points = Annotated[float, BeforeValidator(_share, json_schema_input_type=float | str)]
"""A difference of rates: a fraction, or `5pp`."""
_Amount = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class ArmLimits(Record):
    """Limits of one arm on all benchmarks together; None means no limit.

    Attributes:
        max_cost: US dollars.
        max_tokens: Tokens.
        max_hours: Hours in which its trials run, added up and not by the clock.
    """

    max_cost: _Amount | None = None
    max_tokens: PositiveInt | None = None
    max_hours: _Amount | None = None


class StudyLimits(ArmLimits):
    """Limits of a study; its hours are those of the clock.

    Attributes:
        when_an_arm_is_spent: Whether the others go on when one arm has reached its own limit.
    """

    when_an_arm_is_spent: Literal["others-go-on", "all-stop"] = "others-go-on"


class BenchmarkEntry(Record):
    """One benchmark of a study.

    Attributes:
        benchmark: An installed benchmark, or `module:Class`; by default its name in the file.
        world: On which systems.
        tasks: Which tasks.
        options: Further options of the benchmark's `run` command, by their names with `_`.
    """

    benchmark: str | None = Field(default=None, min_length=1)
    world: World | None = None
    tasks: TaskFilter = TaskFilter()
    options: dict[str, JsonValue] = Field(default_factory=dict)


class AgentEnvironment(Record):
    """The environment of an arm's agent; see the options `--agent-...` of `run`.

    Attributes:
        uv: Requirements of an environment that uv makes, with blanks between them.
        python: The interpreter it runs in, or that the environment is made on.
        command: A program in any language that is the agent.
        process: In a process of its own, or that of the run.
        memory_gb: Gigabytes that a process of its own may write to.
        variables: Environment variables it gets besides the system's and its provider's, by name.
        model_proxy: Whether its model calls go by a proxy that counts them.
    """

    uv: str | None = None
    python: str | None = None
    command: str | None = None
    process: Literal["own", "shared"] | None = None
    memory_gb: PositiveFloat | None = None
    variables: tuple[str, ...] = ()
    model_proxy: bool = False

    def run_options(self) -> dict[str, JsonValue]:
        """Return the options of `run` that say the same."""
        found: dict[str, JsonValue] = {
            "agent_env": self.uv and f"uv:{self.uv.removeprefix('uv:')}",
            "agent_python": self.python,
            "agent_command": self.command,
            "agent_process": self.process,
            "agent_memory": self.memory_gb,
            "agent_variables": list(self.variables),
            "model_proxy": self.model_proxy,
        }
        return {name: value for name, value in found.items() if value}


class ArmEntry(Record):
    """One arm of a study: an agent as it is compared with others.

    Attributes:
        agent: The agent that works on the tasks.
        model: Its model, `provider:model`.
        dialect: The computer-use tool that it speaks.
        options: Settings of the agent, which it documents.
        max_steps: Steps per trial.
        time_limit: Seconds per trial.
        limits: The arm's budget.
        environment: The agent's environment.
        reuse: An earlier run, in place of all other keys: a study's folder, run folder or baseline file,
            or one for each benchmark; relative to the file. It must be comparable; each report names it.
    """

    agent: str | None = Field(default=None, min_length=1)
    model: str | None = Field(default=None, min_length=1)
    dialect: str | None = None
    options: dict[str, JsonValue] = Field(default_factory=dict)
    max_steps: PositiveInt | None = None
    time_limit: _Amount | None = None
    limits: ArmLimits = ArmLimits()
    environment: AgentEnvironment = AgentEnvironment()
    reuse: Annotated[str | dict[str, str] | None, BeforeValidator(_paths)] = None


class DeclaredComparison(Record):
    """A question of the study, declared before its first trial.

    Attributes:
        baseline: The arm that others are compared with.
        arms: Which others; by default all.
        benchmarks: On which benchmarks, each alone; by default all.
        outcome: The primary outcome: how often trials succeed, or their mean score.
        drop: The difference that matters, in the outcome: `plan` counts trials for it.
        sides: Whether a difference is looked for, or only that arms are worse than the baseline.
        looks: How often to look whether it is decided, the end included.
        level: 1 minus the error of all pairs of this comparison together.
    """

    baseline: str
    arms: tuple[str, ...] = ()
    benchmarks: tuple[str, ...] = ()
    outcome: Literal["success_rate", "score"] = "success_rate"
    drop: Points | None = None
    sides: Literal["difference", "drop"] = "difference"
    looks: Annotated[int, Field(ge=1, le=20)] = 1
    level: Annotated[float, Field(gt=0.5, lt=1)] = 0.95


class StudyFile(Record):
    """The contents of `study.yaml`; keys at the top that begin with `x-` are there for aliases alone.

    Attributes:
        benchmarks: Name to benchmark.
        arms: Name to arm. `matrix` stands for the arms of all combinations: each of its keys is one of an arm, or
            a setting of the agent, and holds the values to combine, or one for all.
        trials: Trials of each task by each arm.
        seed: Trials' own seeds and the order of arms come from it.
        workers: Trials at once, of all arms together.
        executor: The place in which trials run.
    """

    model_config = ConfigDict(json_schema_extra={"patternProperties": {f"^{_TEMPLATES}": {}}})

    name: str = Field(min_length=1)
    benchmarks: dict[str, BenchmarkEntry] = Field(min_length=1)
    arms: dict[str, ArmEntry] = Field(
        min_length=1,
        json_schema_extra={"properties": {_MATRIX: {"type": "object", "minProperties": 1}}},
    )
    trials: PositiveInt = 1
    seed: int = 0
    limits: StudyLimits = StudyLimits()
    workers: PositiveInt = 1
    executor: ExecutorSpec = ExecutorSpec()
    comparisons: tuple[DeclaredComparison, ...] = ()
    notes: str = ""


class StudyBenchmark(BenchmarkEntry):
    """A benchmark with the name that the study gives it."""

    name: str

    @property
    def plugin(self) -> str:
        """The installed benchmark, or `module:Class`."""
        return self.benchmark or self.name


class StudyArm(ArmEntry):
    """An arm with its name."""

    name: str


class StudyFileError(InputError):
    """A study's file cannot be used.

    Attributes:
        path: The file.
        line: From 1; None if no line is to blame.
        key: The faulty key, its parts with dots between them; empty for the file as a whole.
    """

    def __init__(self, path: Path, line: int | None, key: str, text: str) -> None:
        self.path = path
        self.line = line
        self.key = key
        super().__init__(f"{path}{f', line {line}' if line else ''}: {text}")


@dataclass(frozen=True)
class Study:
    """A study as its file says it, with the arms of a matrix written out.

    Attributes:
        comparisons: As declared, with all arms and benchmarks named.
        path: The file.
        source: Its bytes.
        lines: The line of each place in it.
    """

    name: str
    benchmarks: tuple[StudyBenchmark, ...]
    arms: tuple[StudyArm, ...]
    trials: int
    seed: int
    limits: StudyLimits
    workers: int
    executor: ExecutorSpec
    comparisons: tuple[DeclaredComparison, ...]
    notes: str
    path: Path
    source: bytes = field(repr=False)
    lines: Mapping[_Place, int] = field(repr=False)

    def benchmark(self, name: str) -> StudyBenchmark:
        """Return the benchmark of that name."""
        return next(each for each in self.benchmarks if each.name == name)

    def arm(self, name: str) -> StudyArm:
        """Return the arm of that name."""
        return next(each for each in self.arms if each.name == name)

    def run_options(
        self, benchmark: StudyBenchmark, arm: StudyArm, out: Path
    ) -> dict[str, JsonValue]:
        """Return the options of `prepare_installed(benchmark.plugin)` for an arm's run on a benchmark.

        Budgets are left out: they are the study's, and shared. Arms differ only in their declared keys, so
        that trials of one task and number have the same seed in all arms.
        """
        found: dict[str, JsonValue] = {
            **benchmark.options,
            **benchmark.tasks.model_dump(mode="json", exclude_defaults=True),
            **arm.environment.run_options(),
            "agent": arm.agent,
            "model": arm.model,
            "dialect": arm.dialect,
            "agent_options": arm.options,
            "trials": self.trials,
            "seed": self.seed,
            "workers": self.workers,
            "executor": self.executor.kind,
            "address": self.executor.address,
            "artifacts": self.executor.artifacts,
            "bind": list(self.executor.bind),
            "out": str(out),
        }
        if benchmark.world is not None:
            found["world"] = benchmark.world
        for name in ("max_steps", "time_limit"):
            if (value := getattr(arm, name)) is not None:
                found[name] = value
        return {name: value for name, value in found.items() if value is not None}

    def error(self, place: Iterable[int | str], text: str) -> StudyFileError:
        """Return the error that names the line of a place, or of the nearest part around it."""
        return _error(self.path, self.lines, tuple(place), text)


_DECIDED = {
    "world": "the benchmark's key `world`",
    **dict.fromkeys(TaskFilter.model_fields, "the benchmark's key `tasks`"),
    **dict.fromkeys(("agent", "model", "dialect"), "the arms"),
    "agent_options": "the arms' key `options`",
    **dict.fromkeys(("max_cost", "max_tokens", "max_minutes"), "the key `limits`"),
    **dict.fromkeys(("executor", "address", "artifacts", "bind"), "the key `executor`"),
    **dict.fromkeys(("trials", "seed", "workers"), "the study's own key of that name"),
    **dict.fromkeys(("looks", "against", "looks_for", "planned_drop"), "the key `comparisons`"),
    "out": "the folder of the study",
    **dict.fromkeys(("rerun", "accept_changes"), "the command `study run`"),
    **{
        name: "the arms' key `environment`"
        for name in RunOptions.model_fields
        if name == "model_proxy" or (name.startswith("agent_") and name != "agent_options")
    },
}
"""Options of `run` that no benchmark of a study has of its own, and the keys to use instead."""


def load_study(path: Path, environment: Mapping[str, str] | None = None) -> Study:
    """Read a study's file; nothing is imported, started or asked.

    Args:
        path: The file.
        environment: The variables to fill in; by default the process's own.

    Raises:
        StudyFileError: It cannot be read or used: one sentence with the line, the key and the way out.
    """
    variables = os.environ if environment is None else environment
    try:
        source = path.read_bytes()
        text = source.decode("utf-8-sig")
        raw, lines = parse_yaml_with_lines(text)
    except ImportError as error:
        raise InputError(
            f"{path}: a study's file is YAML, which needs PyYAML: `{pip_install('bench-core[yaml]')}`"
        ) from error
    except OSError as error:
        raise StudyFileError(
            path, None, "", f"cannot be read: {error.strerror}; `bench-core new study` writes one"
        ) from error
    except UnicodeDecodeError as error:
        line = source.count(b"\n", 0, error.start) + 1
        raise StudyFileError(path, line, "", "is no text in UTF-8: save it as such") from error
    except YamlError as error:
        way_out = "as YAML, blanks indent, `key: value` has a blank, other texts take quotes"
        if isinstance(error, YamlExcessError):
            way_out = "write it smaller"
        raise StudyFileError(path, error.line, "", f"{error.problem}: {way_out}") from error
    reader = _Reader(path, lines, variables)
    reader.refuse_keys(text)
    return reader.study(raw, source)


def keys_of_run(info: RunInfo) -> dict[str, Any]:
    """Return the keys of the arm that a run is, without its limits."""
    found = {
        "agent": info.agent,
        "model": info.model,
        "dialect": info.config.get("dialect"),
        "options": info.config.get("agent_options"),
    }
    return {name: value for name, value in found.items() if value is not None}


def _error(path: Path, lines: Mapping[_Place, int], place: _Place, text: str) -> StudyFileError:
    around = (place[:end] for end in range(len(place), -1, -1))
    line = next(lines[each] for each in around if each in lines)
    return StudyFileError(path, line, ".".join(map(str, place)), text)


@dataclass(frozen=True)
class _Reader:
    """Reads one file; `lines` gets the places of a matrix' arms, too."""

    path: Path
    lines: dict[_Place, int]
    variables: Mapping[str, str]

    def error(self, place: _Place, text: str) -> StudyFileError:
        return _error(self.path, self.lines, place, text)

    def refuse_keys(self, text: str) -> None:
        clean = Redactor.from_environment(self.variables).redact(text)
        if clean != text:
            same = itertools.takewhile(
                lambda pair: pair[0] == pair[1], zip(text, clean, strict=False)
            )
            line = sum(each == "\n" for each, _ in same) + 1
            name = text.splitlines()[line - 1].strip().lstrip("- ").partition(":")[0]
            shown = f"`{name}` " if _VARIABLE_NAME.fullmatch(name) else "this line "
            raise StudyFileError(
                self.path,
                line,
                name,
                f"{shown}looks like it holds a key, which no study's file has: set it as an environment "
                "variable, and name that in the arm's `environment.variables` if its agent needs it",
            )

    def study(self, raw: object, source: bytes) -> Study:
        if not isinstance(raw, dict):
            raise self.error(
                (),
                "a study is a mapping with `name`, `benchmarks` and `arms`; `bench-core new study` writes one",
            )
        found = {
            name: value
            for name, value in raw.items()
            if not (isinstance(name, str) and name.startswith(_TEMPLATES))
        }
        found = {name: self._filled(value, (name,)) for name, value in found.items()}
        if isinstance(arms := found.get("arms"), dict):
            found["arms"] = self._written_out(arms)
        try:
            file = StudyFile.model_validate(found)
        except ValidationError as error:
            raise self._misfit(error) from error
        benchmarks = tuple(
            StudyBenchmark(name=name, **dict(each)) for name, each in file.benchmarks.items()
        )
        arms = tuple(StudyArm(name=name, **dict(each)) for name, each in file.arms.items())
        self._refuse_names("benchmarks", file.benchmarks)
        self._refuse_names("arms", file.arms)
        for each in benchmarks:
            self._refuse_options(each)
        for each in arms:
            self._refuse_arm(each, file)
        if all(each.reuse is not None for each in arms):
            raise self.error(
                ("arms",),
                "all arms are taken from what ran already, and nothing is left to run: `bench-report report` and "
                "`gate` compare runs that are there",
            )
        comparisons = tuple(
            self._completed(number, each, file) for number, each in enumerate(file.comparisons)
        )
        rest = {name: getattr(file, name) for name in StudyFile.model_fields}
        rest |= {"benchmarks": benchmarks, "arms": arms, "comparisons": comparisons}
        return Study(**rest, path=self.path, source=source, lines=self.lines)

    def _misfit(self, error: ValidationError) -> StudyFileError:
        place = place_of(error)
        text = problems_of(error, StudyFile, kind="key")
        if text.endswith("is missing") and len(place) == 1:
            text += "; `bench-core new study` writes a file with all keys"
        return self.error(place, text)

    def _filled(self, value: Any, place: _Place) -> Any:
        """Return a value with `${VARIABLE}`s filled in at the places that allow them."""
        if isinstance(value, dict):
            for name in value:
                if isinstance(name, str) and "${" in name:
                    raise self.error(
                        (*place, name),
                        f"the key {name!r} has a variable in it, and keys have none: write the name itself",
                    )
            return {name: self._filled(each, (*place, name)) for name, each in value.items()}
        if isinstance(value, list):
            return [self._filled(each, (*place, n)) for n, each in enumerate(value)]
        if not isinstance(value, str) or "${" not in value or place == ("notes",):
            return value
        if not any(_fits(place, each) for each in _FILLED_IN):
            raise self.error(
                place,
                f"key {'.'.join(map(str, place))} has a variable, and what a study declares is the same on every "
                "machine: variables stand in a benchmark's `options`, an arm's `environment`, and `executor`",
            )
        return _VARIABLE.sub(lambda found: self._variable(found, place), value)

    def _variable(self, found: re.Match[str], place: _Place) -> str:
        name = found.group(1)
        if not found.group().endswith("}") or not _VARIABLE_NAME.fullmatch(name):
            raise self.error(place, f"{found.group()!r} is not a variable: write `${{NAME}}`")
        if is_secret_name(name):
            raise self.error(
                place,
                f"the variable {name} holds a secret by its name, and a study's file has none: name it in the "
                "arm's `environment.variables`, and its agent gets it",
            )
        if name not in self.variables:
            near = difflib.get_close_matches(name, self.variables, n=1)
            hint = f"; did you mean {near[0]}?" if near else f": `export {name}=...` sets it"
            raise self.error(place, f"the variable {name} is not set{hint}")
        return self.variables[name]

    def _written_out(self, arms: dict[str, Any]) -> dict[str, Any]:
        """Return the arms with `matrix` replaced by those it stands for."""
        found: dict[str, Any] = {}
        for name, each in arms.items():
            if name != _MATRIX:
                found[name] = each
                continue
            for key, arm, places in self._combinations(each):
                if key in arms or key in found:
                    raise self.error(
                        ("arms", _MATRIX),
                        f"two arms would be called {key!r}: rename the other one, or leave out a value of the matrix that "
                        "is there twice",
                    )
                found[key] = arm
                for place, line in places.items():
                    there = ("arms", key, *place)
                    self.lines[there] = line
        return found

    def _combinations(
        self, matrix: object
    ) -> Iterator[tuple[str, dict[str, Any], dict[_Place, int]]]:
        above: _Place = ("arms", _MATRIX)
        if not isinstance(matrix, dict) or not matrix:
            raise self.error(
                above,
                "key arms.matrix must hold lists to combine, as in `matrix: {agent: [one, two]}`",
            )
        for name, values in matrix.items():
            near = difflib.get_close_matches(str(name), ArmEntry.model_fields, n=1, cutoff=_NEAR)
            if near and name not in ArmEntry.model_fields:
                raise self.error(
                    (*above, name),
                    f"no key is called 'arms.matrix.{name}'; did you mean {near[0]!r}? A setting of the agent of "
                    "that name stands in `options`",
                )
            if isinstance(values, list) and not values:
                raise self.error(
                    (*above, name),
                    f"key arms.matrix.{name} has no values: give some, or leave it out",
                )
        varied = [name for name, values in matrix.items() if isinstance(values, list)]
        if not varied:
            raise self.error(
                above, "key arms.matrix has no list: give one of several values to combine"
            )
        for chosen in itertools.product(*(enumerate(matrix[name]) for name in varied)):
            numbers = dict(zip(varied, (number for number, _ in chosen), strict=True))
            arm: dict[str, Any] = {}
            lines: dict[_Place, int] = {(): self.lines[above]}
            # the settings that are named one by one join those of `options`
            for name in sorted(matrix, key=lambda each: each not in ArmEntry.model_fields):
                number = numbers.get(name)
                value = matrix[name] if number is None else matrix[name][number]
                source = (*above, name) if number is None else (*above, name, number)
                place: _Place = (name,) if name in ArmEntry.model_fields else ("options", name)
                lines[place] = self.lines.get(source, lines[()])
                if len(place) == 1:
                    arm[name] = value
                else:
                    arm["options"] = {**arm.get("options", {}), name: value}
            yield "-".join(_word(name, matrix[name][n]) for name, n in numbers.items()), arm, lines

    def _refuse_names(self, what: str, names: Iterable[str]) -> None:
        seen: dict[str, str] = {}
        for name in names:
            place = (what, name)
            if not name or folder_name(name) != name:
                raise self.error(
                    place,
                    f"{name!r} cannot be the name of a folder: use letters, digits, `-`, `_` and inner dots",
                )
            if other := seen.get(name.lower()):
                raise self.error(
                    place,
                    f"{name!r} and {other!r} are one folder on some systems: rename one of them",
                )
            seen[name.lower()] = name

    def _refuse_options(self, benchmark: StudyBenchmark) -> None:
        for option in benchmark.options:
            if decides := _DECIDED.get(option):
                place = ("benchmarks", benchmark.name, "options", option)
                raise self.error(
                    place,
                    f"key {'.'.join(place)} is not the benchmark's: {decides} {'say' if decides == 'the arms' else 'says'} it",
                )

    def _refuse_arm(self, arm: StudyArm, file: StudyFile) -> None:
        place = ("arms", arm.name)
        if arm.reuse is not None:
            self._refuse_reuse(
                arm.reuse, file.arms[arm.name].model_fields_set - {"reuse"}, file, place
            )
            return
        if arm.agent is None and arm.environment.command is None:
            raise self.error(
                place,
                f"arm {arm.name!r} does not say who works on the tasks: add `agent: NAME`; "
                "`bench-core plugins --kind agent` lists them",
            )

    def _refuse_reuse(
        self, reuse: str | dict[str, str], beside: set[str], file: StudyFile, place: _Place
    ) -> None:
        if beside:
            raise self.error(
                (*place, min(beside)),
                f"arm {place[-1]!r} is taken from what ran already, which says its `{min(beside)}`: leave that out, or "
                "`reuse`",
            )
        if isinstance(reuse, str):
            return
        for name in reuse:
            self._require_known("benchmark", name, file.benchmarks, (*place, "reuse", name))
        if missing := file.benchmarks.keys() - reuse.keys():
            raise self.error(
                (*place, "reuse"),
                f"arm {place[-1]!r} has no run on {min(missing)!r}: name what it takes there, or a study's folder "
                "for all benchmarks",
            )

    def _completed(
        self, number: int, comparison: DeclaredComparison, file: StudyFile
    ) -> DeclaredComparison:
        place: _Place = ("comparisons", number)
        self._require_known("arm", comparison.baseline, file.arms, (*place, "baseline"))
        for n, name in enumerate(comparison.arms):
            self._require_known("arm", name, file.arms, (*place, "arms", n))
        for n, name in enumerate(comparison.benchmarks):
            self._require_known("benchmark", name, file.benchmarks, (*place, "benchmarks", n))
        if comparison.baseline in comparison.arms:
            raise self.error(
                (*place, "arms"),
                f"arm {comparison.baseline!r} is compared with itself: it is the baseline, leave it out of `arms`",
            )
        for what, names in (("arms", comparison.arms), ("benchmarks", comparison.benchmarks)):
            if twice := {each for each in names if names.count(each) > 1}:
                raise self.error(
                    (*place, what), f"{min(twice)!r} is there twice: name each of the {what} once"
                )
        others = comparison.arms or tuple(n for n in file.arms if n != comparison.baseline)
        if not others:
            raise self.error(
                place, "there is nothing to compare the baseline with: add a second arm to `arms`"
            )
        return comparison.model_copy(
            update={
                "arms": others,
                "benchmarks": comparison.benchmarks or tuple(file.benchmarks),
            }
        )

    def _require_known(self, kind: str, name: str, known: Iterable[str], place: _Place) -> None:
        names = list(known)
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names)}"
            raise self.error(place, f"no {kind} of the study is called {name!r}; {hint}")


def _fits(place: _Place, pattern: tuple[str, ...]) -> bool:
    return len(place) >= len(pattern) and all(
        part in ("*", here) for part, here in zip(pattern, place, strict=False)
    )


def _word(name: str, value: object) -> str:
    """Return a value as a part of an arm's name; a number or a switch is prefixed with its own name."""
    text = value if isinstance(value, str) else f"{name}-{value}"
    return re.sub(r"[^A-Za-z0-9._]+", "-", text).strip("-.")
