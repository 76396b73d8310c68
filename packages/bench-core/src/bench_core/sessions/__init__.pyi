from .blocking import Session as Session
from .blocking import SessionGroup as SessionGroup
from .blocking import open as open  # noqa: A004  # as gzip.open
from .blocking import open_many as open_many
from .records import EpisodeError as EpisodeError
from .records import SessionBusyError as SessionBusyError
from .records import SessionSettings as SessionSettings
from .records import SessionState as SessionState
from .records import SessionStep as SessionStep
from .records import TaskNote as TaskNote
from .session import AsyncSession as AsyncSession
from .session import read_action as read_action
