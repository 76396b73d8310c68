from .batch import judge_many as judge_many
from .calibration.report import CalibrationReport as CalibrationReport
from .calibration.report import JudgeCalibration as JudgeCalibration
from .calibration.report import calibrate as calibrate
from .case_files import case_state as case_state
from .case_files import read_case as read_case
from .case_lint import lint as lint
from .judge import Judge as Judge
from .meta_evaluation.stress import StressReport as StressReport
from .meta_evaluation.stress import stress as stress
from .meta_evaluation.visibility import visibility as visibility
from .policy import JudgePolicy as JudgePolicy
from .prepared_case import PreparedCase as PreparedCase
from .prepared_case import prepare as prepare
from .prompts.evidence_pack import EvidencePack as EvidencePack
from .prompts.evidence_pack import pack as pack
from .records import Criterion as Criterion
from .records import JudgeCase as JudgeCase
from .records import Verdict as Verdict
from .verdicts.evidence_check import verify as verify
from .verdicts.success_bounds import SuccessBounds as SuccessBounds
from .verdicts.success_bounds import bounds as bounds

__version__: str
