"""Asks the VM."""

import requests


class PythonController:
    def __init__(self, vm_ip):
        self.root = f"http://{vm_ip}:5000"

    def get_file(self, path):
        answer = requests.post(self.root + "/file", data={"file_path": path})
        return answer.content if answer.status_code == 200 else None

    def get_vm_platform(self):
        source = "import platform; print(platform.system())"
        body = {"command": ["python", "-c", source], "shell": False}
        try:
            answer = requests.post(self.root + "/execute", json=body, timeout=90)
        except requests.exceptions.RequestException:
            return ""
        return answer.json()["output"].strip()
