from .evaluators import Description as Description
from .evaluators import Evaluator as Evaluator
from .evaluators import EvaluatorSettings as EvaluatorSettings
from .evaluators import make_evaluator as make_evaluator
from .tasks import TaskFolder as TaskFolder
from .verdicts import SetupReport as SetupReport
from .verdicts import Verdict as Verdict
