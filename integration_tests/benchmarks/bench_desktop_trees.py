"""What each accessibility tree shows of the simulated desktop's programs, and what it costs a model to read.

Prints the table of `docs/waa.md`: elements, and tokens (characters / 4) of the text that agents get.
"""

from __future__ import annotations

from bench_core.agents import Observation, observation_parts
from waa_client.observations import elements_of
from waa_server_ext.simulate import Scene
from waa_server_ext.simulate.desktop import accessibility_xml

PROGRAMS = {
    "Notepad": "notepad.exe", "File Explorer": "explorer.exe", "Settings": "SystemSettings.exe",
    "Paint": "mspaint.exe", "Calculator": "calc.exe", "Clock": "clock", "Edge": "msedge.exe", "VS Code": "code",
}  # fmt: skip


def main() -> None:
    """Print the table."""
    print("| program | elements: win32 | uia | tokens: win32 | uia |\n|---|---|---|---|---|")
    for name, program in PROGRAMS.items():
        desktop = Scene(windows=(program,)).build()
        cells = [], []
        for backend in ("win32", "uia"):
            elements = elements_of(accessibility_xml(desktop, backend), desktop.size)
            (shown,) = observation_parts(Observation(elements=elements))
            cells[0].append(len(elements))
            cells[1].append(len(shown.text) // 4 if elements else 0)
        print(f"| {name} | {' | '.join(str(each) for row in cells for each in row)} |")


if __name__ == "__main__":
    main()
