from .study_file import DeclaredComparison as DeclaredComparison
from .study_file import Study as Study
from .study_file import StudyArm as StudyArm
from .study_file import StudyBenchmark as StudyBenchmark
from .study_file import StudyFileError as StudyFileError
from .study_file import load_study as load_study
