from .evaluator import NativeEvaluator as NativeEvaluator
