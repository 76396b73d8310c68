from .comparison.comparability import IncomparableRunsError as IncomparableRunsError
from .model import Report as Report
from .report_data import report_of as report_of
from .report_files import build_report as build_report
from .report_files import write_report as write_report
from .reporter import FolderReporter as FolderReporter
from .run_data.sources import read_runs as read_runs

__version__: str
