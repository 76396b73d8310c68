"""What the VM is asked."""

import os
import time

import requests

from .fileexplorer import get_all_png_file_names

__all__ = ["get_all_png_file_names"]


def get_rule(env, config):
    return config["rules"]


def get_vm_command_line(env, config):
    body = {"command": config["command"], "shell": config.get("shell", False)}
    answer = requests.post(f"http://{env.vm_ip}:5000/execute", json=body)
    return answer.json()["output"] if answer.status_code == 200 else None


def get_vm_file(env, config):
    content = env.controller.get_file(config["path"])
    if content is None:
        return None
    kept = os.path.join(env.cache_dir, config["dest"])
    with open(kept, "wb") as file:
        file.write(content)
    return kept


def get_cloud_file(env, config):
    kept = os.path.join(env.cache_dir, config["dest"])
    if not os.path.exists(kept):
        answer = requests.get(config["path"], stream=True)
        answer.raise_for_status()
        with open(kept, "wb") as file:
            for chunk in answer.iter_content(8192):
                file.write(chunk)
    return kept


def get_vm_platform_name(env, config):
    return env.vm_platform


def get_hang(env, config):
    while config:
        time.sleep(0.01)


def get_spin(env, config):
    while config:
        pass


def get_missing(env, config):
    raise FileNotFoundError(config["path"])


def get_exit(env, config):
    os._exit(3)


def get_write(env, config):
    with open(config["path"], "w") as file:
        file.write("x")


def get_start(env, config):
    os.system(config["command"])
