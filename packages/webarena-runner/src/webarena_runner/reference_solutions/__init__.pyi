from .answers import answer_for as answer_for
from .scorability import Note as Note
from .scorability import Scorability as Scorability
from .scorability import derive_notes as derive_notes
from .scorability import shipped_notes as shipped_notes
from .traffic import traffic_for as traffic_for
from .trials import write_trial as write_trial
