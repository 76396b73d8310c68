"""Runs set-up steps by name; what the VM refuses is passed over."""

import os
import time
import uuid

import requests


class SetupController:
    def __init__(self, vm_ip, cache_dir):
        self.root = f"http://{vm_ip}:5000/setup"
        self.cache_dir = cache_dir

    def reset_cache_dir(self, cache_dir):
        self.cache_dir = cache_dir

    def setup(self, config):
        for step in config:
            name = "_" + step["type"] + "_setup"
            parameters = step["parameters"]
            assert hasattr(self, name), f"Setup controller cannot find init function {name}"
            getattr(self, name)(**parameters)

    def _post(self, path, body):
        try:
            requests.post(self.root + path, json=body)
        except requests.exceptions.RequestException:
            pass

    def _sleep_setup(self, seconds):
        time.sleep(seconds)

    def _activate_window_setup(self, window_name, strict=False, by_class=False):
        body = {"window_name": window_name, "strict": strict, "by_class": by_class}
        self._post("/activate_window", body)

    def _execute_setup(self, command, shell=False):
        self._post("/execute", {"command": command, "shell": shell})

    def _create_folder_setup(self, path):
        self._post("/create_folder", {"path": path})

    def _upload_file_setup(self, files):
        raise AssertionError("never reached: it is refused")

    def _download_setup(self, files):
        for file in files:
            name = f"{uuid.uuid5(uuid.NAMESPACE_URL, file['url'])}_{os.path.basename(file['path'])}"
            kept = os.path.join(self.cache_dir, name)
            answer = requests.get(file["url"], stream=True)
            answer.raise_for_status()
            with open(kept, "wb") as out:
                for chunk in answer.iter_content(8192):
                    out.write(chunk)
            with open(kept, "rb") as content:
                requests.post(
                    self.root + "/upload",
                    data={"file_path": file["path"]},
                    files={"file_data": (os.path.basename(file["path"]), content)},
                )
