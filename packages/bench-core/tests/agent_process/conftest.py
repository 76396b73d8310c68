from __future__ import annotations

import io
import shutil
import subprocess
import sys
import sysconfig
import textwrap
import zipfile
from pathlib import Path

import pytest

from bench_core.agent_process.own_wheel import own_wheel

HERE = Path(__file__).parent

# agents' processes import from where this one does
sys.path.insert(0, str(HERE))


@pytest.fixture(scope="session")
def interpreter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter of another environment: bench-core is its own, what bench-core needs is borrowed."""
    folder = tmp_path_factory.mktemp("foreign") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    asked = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(subprocess.check_output([python, "-c", asked], text=True).strip())
    zipfile.ZipFile(io.BytesIO(own_wheel()[1])).extractall(packages)
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    shutil.copy(HERE / "callers.py", packages)
    (packages / "toy_agent.py").write_text(
        textwrap.dedent(
            """
            import sys
            from bench_core.records import AgentOutcome, Usage
            from bench_core.run_folder import TrialArtifacts

            class Toy:
                name = "toy"
                environments = ("text",)

                async def run(self, task, environment, context):
                    context.meter.spend(Usage(requests=1, input_tokens=100), 0.25)
                    TrialArtifacts(context.folder).write_json("where.json", sys.prefix)
                    return AgentOutcome(answer=4, steps=1)
            """
        )
    )
    return python
