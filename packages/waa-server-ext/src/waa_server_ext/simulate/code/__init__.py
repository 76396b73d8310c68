"""Running what agents, set-up steps and getters send, without running anything: interpreters.

Python is interpreted over simulated modules. Command lines of cmd.exe and PowerShell are parsed and
carried out on the simulated machine.
"""
