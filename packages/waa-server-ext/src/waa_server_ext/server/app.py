"""The routes, as a blueprint that fits into WAA's own server and as an application."""

from __future__ import annotations

import json
from typing import Any

from flask import Blueprint, Flask, Response, request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import HTTPException

from bench_core.errors import BenchError, EnvironmentFaultError, InputError, UnknownTaskError
from bench_core.serving import foreign_origin
from waa_server_ext.server.bodies import MAX_BODY, MAX_TRANSCRIPT, read_request, read_rescoring
from waa_server_ext.server.journal import KeyRefusedError
from waa_server_ext.server.service import Service, UnknownBodyError, VmUnreachableError
from waa_server_ext.vm.access import Access

_STATUSES: tuple[tuple[type[Exception], int, str], ...] = (
    (KeyRefusedError, 409, "key"),
    (UnknownTaskError, 404, "unknown_task"),
    (UnknownBodyError, 404, "unknown_body"),
    (VmUnreachableError, 503, "vm_unreachable"),
    (EnvironmentFaultError, 503, "not_ready"),
    (InputError, 400, "bad_request"),
    (BenchError, 500, "server"),
)
"""The first matching class gives status and code; for `KeyRefusedError` the code is its refusal."""


def make_blueprint(
    service: Service, access: Access, *, inside_vm_server: bool = False
) -> Blueprint:
    """Return the routes `/evaluate`, `/rescore`, `/setup`, `/health`, `/capabilities` and others.

    Errors are answered here, whatever handlers the application has: WAA's own turns everything into a
    500. With `inside_vm_server`, evaluation is refused if the server handles one request at a time, because
    evaluators send requests to it themselves.
    """
    routes = Blueprint("waa_server_ext", __name__)
    routes.before_request(
        lambda: _refused(access) or (_refuse_single_thread() if inside_vm_server else None)
    )
    routes.register_error_handler(Exception, _failed)

    @routes.post("/evaluate")
    def evaluate() -> ResponseReturnValue:
        return _json(service.evaluate(read_request(_body(), service.tasks)))

    @routes.post("/rescore")
    def rescore() -> ResponseReturnValue:
        verdict = service.rescore(*read_rescoring(_body(MAX_TRANSCRIPT), service.tasks))
        return _json(json.loads(verdict.model_dump_json()))

    @routes.get("/bodies/<digest>")
    def body(digest: str) -> ResponseReturnValue:
        return Response(service.body(digest), mimetype="application/octet-stream")

    @routes.post("/setup")
    def setup() -> ResponseReturnValue:
        report = service.set_up(read_request(_body(), service.tasks))
        return _json(json.loads(report.model_dump_json()))

    @routes.get("/health")
    def health() -> ResponseReturnValue:
        return _json(service.health())

    @routes.get("/capabilities")
    def capabilities() -> ResponseReturnValue:
        return _json(service.capabilities())

    @routes.get("/tasks")
    def tasks() -> ResponseReturnValue:
        return _json({"tasks": service.tasks.names() if service.tasks else []})

    @routes.get("/tasks/<domain>/<stem>")
    def task(domain: str, stem: str) -> ResponseReturnValue:
        name = f"{domain}/{stem}"
        if service.tasks is None:
            raise UnknownTaskError("this server, which was started without --tasks-dir,", name)
        return _json(service.tasks.load(name))

    return routes


def create_app(service: Service, *, token: str | None = None) -> Flask:
    """Return a WSGI application with the routes; unknown ones are 404 with a JSON body."""
    app = Flask(__name__)
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY
    app.register_blueprint(make_blueprint(service, Access(token)))
    app.register_error_handler(Exception, _failed)
    return app


def _body(most: int = MAX_BODY) -> bytes:
    if not request.is_json:
        raise InputError("send the body as Content-Type: application/json")
    # inside WAA's server, the application itself has no limit
    request.max_content_length = most
    return request.get_data()


def _refused(access: Access) -> ResponseReturnValue | None:
    why = access.refusal(
        request.headers.get("Authorization"), request.remote_addr, request.headers.get("Host")
    )
    if why:
        return _error(401, "unauthorized", why)
    foreign = foreign_origin(
        request.method, request.headers.get("Origin"), request.headers.get("Host")
    )
    return _error(403, "foreign_origin", foreign) if foreign else None


def _refuse_single_thread() -> ResponseReturnValue | None:
    """Refuse to evaluate if the server's only thread would wait for itself forever."""
    if request.environ.get("wsgi.multithread", True):
        return None
    why = "this server has one thread, and evaluators may ask it themselves: start it threaded"
    return _error(500, "single_threaded", why)


def _failed(error: Exception) -> ResponseReturnValue:
    if isinstance(error, HTTPException):
        status = error.code or 500
        return _error(status, error.name.lower().replace(" ", "_"), error.description or error.name)
    for kind, status, code in _STATUSES:
        if isinstance(error, kind):
            refusal = error.refusal if isinstance(error, KeyRefusedError) else code
            return _error(status, refusal, str(error))
    return _error(500, "server", f"{type(error).__name__}: {error}")


def _error(status: int, code: str, message: str) -> Response:
    return _json({"error": {"code": code, "message": message}}, status)


def _json(value: Any, status: int = 200) -> Response:
    return Response(json.dumps(value), status=status, mimetype="application/json")
