"""Evaluates what the VM printed, as one getter upstream does."""


def get_all_png_file_names(env, config):
    from . import get_vm_command_line

    return eval(get_vm_command_line(env, config))
