"""As much of a W&B server as the real client needs to deliver a run, on 127.0.0.1. It keeps what it is sent."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CLOSED = "http://127.0.0.1:9"  # the discard port: nobody listens


class Received(ThreadingHTTPServer):
    """The server, and what has reached it."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[str] = []  # GraphQL operations, in order
        self.runs: list[dict[str, Any]] = []  # what the runs were registered with
        self.lines: dict[str, list[Any]] = {}  # file_stream lines by file
        self.finished: dict[str, Any] = {}  # exit codes by run
        self.files: dict[str, bytes] = {}  # uploads by name
        self.artifacts: list[dict[str, Any]] = []  # as they were begun
        self.committed: list[str] = []  # the numbers, from 1, of those that are complete
        self.sweep = ""  # the YAML of a sweep, for agents
        self.commands: list[dict[str, Any]] = []  # what agents are told to do, one at each heartbeat
        self.views: list[dict[str, Any]] = []  # reports

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no news; anything else is."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def history(self, *names: str) -> list[tuple[Any, ...]]:
        """These metrics of every row that has them all."""
        rows = self.lines.get("wandb-history.jsonl", [])
        return [tuple(row[name] for name in names) for row in rows if all(name in row for name in names)]

    def answer(self, operation: str, given: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(operation)
        match operation:
            case "RunResumeStatus":
                return {"model": {"id": "p", "name": given["project"], "entity": ENTITY, "bucket": None}}
            case "UpsertBucket":
                self.runs.append(given)
                project = {"id": "p", "name": given["project"], "entity": ENTITY}
                bucket = {"id": "r", "name": given["name"], "displayName": given["displayName"], "project": project}
                return {"upsertBucket": {"bucket": bucket | {"historyLineCount": 0}, "inserted": True}}
            case "Viewer":
                who = {"id": "u", "entity": "tester", "username": "tester", "email": "", "flags": "{}"}
                return {"viewer": who | {"admin": False, "teams": {"edges": []}}}
            case "CreateRunFiles":
                files = [{"name": name, "uploadUrl": f"{self.url}/put/{name}"} for name in given["files"]]
                return {"createRunFiles": {"runID": "r", "uploadHeaders": [], "files": files}}
            case "SweepWithRuns":
                return {"project": {"sweep": {"id": "s", "config": self.sweep, "runs": {"edges": []}}}}
            case "CreateAgent":
                return {"createAgent": {"agent": {"id": "a"}}}
            case "Heartbeat":
                commands = [self.commands.pop(0)] if self.commands else []
                return {"agentHeartbeat": {"agent": {"id": "a"}, "commands": json.dumps(commands)}}
            case "GetProjects":
                return {"models": {"edges": [], "pageInfo": {"endCursor": None, "hasNextPage": False}}}
            case "ProjectInternalId":
                return {"project": {"internalId": "p"}}
            case "upsertView":
                self.views.append(given)
                view = {"id": "v", "name": given["name"], "displayName": given["displayName"], "spec": given["spec"]}
                return {
                    "upsertView": {"view": view | {"project": {"id": "p", "name": "p", "entityName": ENTITY["name"]}}}
                }
            case "ArtifactType":
                return {"project": {"artifact": None}}
            case "CreateArtifact":
                self.artifacts.append(given["input"])
                sequence = {"latestArtifact": None}
                artifact = {"id": str(len(self.artifacts)), "state": "PENDING", "artifactSequence": sequence}
                return {"createArtifact": {"artifact": artifact}}
            case "CreateArtifactManifest":
                file = {"id": "f", "uploadUrl": f"{self.url}/put/manifest-{given['artifactID']}", "uploadHeaders": []}
                return {"createArtifactManifest": {"artifactManifest": {"id": given["artifactID"], "file": file}}}
            case "CreateArtifactFiles":
                nodes = [
                    {
                        "storagePath": file["name"],
                        "uploadUrl": f"{self.url}/put/artifact-{file['artifactID']}/{file['name']}",
                        "uploadHeaders": [],
                        "artifact": {"id": file["artifactID"]},
                    }
                    for file in given["input"]["artifactFiles"]
                ]
                return {"createArtifactFiles": {"files": {"edges": [{"node": node} for node in nodes]}}}
            case "CommitArtifact":
                self.committed.append(given["artifactID"])
                return {"commitArtifact": {"artifact": {"id": given["artifactID"], "digest": ""}}}
        return {}


ENTITY = {"id": "e", "name": "tester"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Received

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/graphql":
            asked = json.loads(body)
            named = re.search(r"\w+\s+(\w+)", asked["query"])  # "query Viewer {": not every request says it besides
            self.reply({"data": self.server.answer(named[1] if named else "", asked.get("variables") or {})})
        elif self.path.endswith("/file_stream"):
            sent = json.loads(body)
            for name, chunk in (sent.get("files") or {}).items():
                lines = self.server.lines.setdefault(name, [])
                lines[chunk["offset"] :] = [json.loads(line) for line in chunk["content"]]
            if sent.get("complete"):
                self.server.finished[self.path.split("/")[-2]] = sent.get("exitcode")
            self.reply({})
        else:
            self.reply({}, 404)

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.files[self.path.removeprefix("/put/")] = body
        self.reply({})

    def reply(self, content: dict[str, Any], code: int = 200) -> None:
        data = json.dumps(content).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def serving() -> Iterator[Received]:
    with Received() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
