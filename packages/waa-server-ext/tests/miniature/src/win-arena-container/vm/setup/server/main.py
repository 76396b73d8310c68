"""A server with the shape of Windows Agent Arena's in the VM, written for these tests."""

import argparse
import subprocess

from flask import Flask, jsonify, request

parser = argparse.ArgumentParser()
parser.add_argument("--host", default="0.0.0.0")
parser.add_argument("--port", type=int, default=5000)
args = parser.parse_args()

app = Flask(__name__)


@app.errorhandler(Exception)
def handle_exception(e):
    return jsonify({"status": "error", "message": str(e)}), 500


@app.route("/probe", methods=["GET"])
def probe_endpoint():
    return jsonify({"status": "Probe successful"}), 200


@app.route("/setup/execute", methods=["POST"])
@app.route("/execute", methods=["POST"])
def execute_command():
    done = subprocess.run(request.json["command"], capture_output=True, text=True)
    return jsonify({"status": "success", "output": done.stdout, "returncode": done.returncode})


@app.route("/file", methods=["POST"])
def get_file():
    return jsonify({"error": "File not found"}), 404


@app.route("/setup/upload", methods=["POST"])
def upload_file():
    return "File Uploaded"


if __name__ == "__main__":
    app.run(debug=True, host=args.host, port=args.port)
