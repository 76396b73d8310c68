from .evaluator import VanillaEvaluator as VanillaEvaluator
