"""Interpreters for the code that agents, setup steps and getters send; the host never runs it.

Python is interpreted over simulated modules. Command lines of cmd.exe and PowerShell are parsed and
carried out on the simulated machine.
"""
