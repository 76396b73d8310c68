"""Running what agents, set-up steps and getters send, without running anything: interpreters.

Python is interpreted from an allow-list of its syntax, types and methods; nothing is imported and no
object of this process is reachable. Command lines of cmd.exe and PowerShell are parsed and carried
out on the simulated machine.
"""
