"""The environment, with the rules of evaluation that Windows Agent Arena has."""

import os

from desktop_env.controllers.python import PythonController
from desktop_env.controllers.setup import SetupController
from desktop_env.evaluators import getters, metrics


class DesktopEnv:
    def resize_action(self, action):
        return action

    def _set_task_info(self, task):
        self.cache_dir = os.path.join(self.cache_dir_base, task["id"])
        os.makedirs(self.cache_dir, exist_ok=True)
        self.instruction = task["instruction"]
        self.evaluator = wanted = task["evaluator"]
        func = wanted["func"]
        many = isinstance(func, list)
        self.metric = [getattr(metrics, f) for f in func] if many else getattr(metrics, func)
        self.metric_conj = wanted.get("conj", "and")
        for part in ("result", "expected"):
            config = wanted.get(part, {})
            if len(config) == 0:
                found = [None] * len(func) if many else None
            elif isinstance(config, list):
                found = [getattr(getters, "get_" + c["type"]) if c else None for c in config]
            else:
                found = getattr(getters, "get_" + config["type"])
            setattr(self, part + "_getter", found)
        given = wanted.get("options", [{}] * len(func) if many else {})
        self.metric_options = [o or {} for o in given] if isinstance(given, list) else given

    def evaluate(self):
        self.setup_controller.setup(self.evaluator.get("postconfig", []))
        gave_up = bool(self.action_history) and self.action_history[-1] == "FAIL"
        if self.evaluator["func"] == "infeasible":
            return int(gave_up)
        if gave_up:
            return 0
        if not isinstance(self.metric, list):
            try:
                result = self.result_getter(self, self.evaluator["result"])
            except Exception:
                return 0
            expected = None
            if "expected" in self.evaluator:
                expected = self.expected_getter(self, self.evaluator["expected"])
            arguments = (result,) if expected is None else (result, expected)
            score = self.metric(*arguments, **self.metric_options)
            return score if isinstance(score, (float, int, bool)) else 0
        scores = []
        for index, metric in enumerate(self.metric):
            try:
                result_state = self.result_getter[index](self, self.evaluator["result"][index])
            except FileNotFoundError:
                if self.metric_conj == "and":
                    return 0
            config = self.evaluator["expected"][index]
            expected = self.expected_getter[index](self, config) if config else None
            options = self.metric_options[index]
            if expected is None:
                score = metric(result_state, **options)
            else:
                score = metric(result_state, expected, **options)
            if self.metric_conj == "and" and float(score) == 0.0:
                return 0
            if self.metric_conj == "or" and float(score) == 1.0:
                return 1
            scores.append(score)
        return sum(scores) / len(scores) if self.metric_conj == "and" else max(scores)
