"""A model for tests: an HTTP server that speaks the interfaces of model providers and plays a script.

It speaks Anthropic Messages, OpenAI Chat Completions, OpenAI Responses and Gemini generateContent, each with and
without streaming. An agent that is pointed at it does what the script says with the agent's own tools, which are
recognised by the names and parameters that the agent offers. Every request is written to a file, with headers.

It never decides by anything but the request in front of it: how far a script has come is counted in the conversation
that the agent sends back. So agents may retry, and may hold several conversations at once.

    python3 server.py SCRIPT RECORD [ADDRESS]

SCRIPT is a JSON file: {"steps": [STEP…], "report": TEXT}. A step is one of

    {"read": PATH}    {"edit": PATH, "old": TEXT, "new": TEXT}    {"run": COMMAND}    {"call": TOOL, "arguments": {…}}
    {"together": [STEP…]}    {"forever": STEP}

and after the last one the report is said. Those of `together` are called in one answer; `forever` is the last step, and
never ends. "models" has scripts of their own, by the name of the model that is asked for. "faults" is a list: the server does wrong what it says at the first request, the second, and so on; null is
no fault. A fault is one of

    {"status": NUMBER, "headers": {…}, "message": TEXT}    an error; "KEY" in the message stands for the client's key
    {"raw": TEXT}         these bytes as the whole stream
    {"cut": NUMBER}       the connection ends after so many events
    {"silent": SECONDS}   nothing for so long, before the answer
    {"slow": SECONDS}     so long between events
    {"kind": TEXT}        another content type

RECORD receives one line of JSON for each request. The first line on standard
output is `listening PORT`. The server ends when its standard input does.
"""

import gzip
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import formats
import tools


class Script:
    """What is played."""

    def __init__(self, text):
        written = json.loads(text)
        self.own = written
        self.models = written.get("models", {})
        self.faults = written.get("faults", [])

    def fault(self):
        """What is done wrong now."""
        return (self.faults.pop(0) if self.faults else None) or {}

    def answer(self, request):
        """What the model says now: ("calls", [(tool, arguments, number)…]) or ("text", words)."""
        if request.schema is not None:
            return ("text", json.dumps(tools.value_of(request.schema)))
        if not request.tools:
            # Titles, summaries, checks whether a key is valid.
            return ("text", "ok")
        played = self.models.get(request.model, self.own)
        number = done = len(request.results)
        for step in played["steps"]:
            together = step["together"] if "together" in step else [step]
            if "forever" in step:
                together = [step["forever"]]
            elif done >= len(together):
                done -= len(together)
                continue
            calls = [tools.call(one, request.tools) for one in together]
            return ("calls", [(tool, arguments, number + at) for at, (tool, arguments) in enumerate(calls)])
        return ("text", played.get("report", "done"))


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server_version = "model"
    sys_version = ""

    def do_GET(self):
        self.record(b"", None)
        path = self.path.split("?")[0]
        if path.endswith("/models"):
            self.reply(200, {"object": "list", "data": [], "models": []})
        else:
            self.reply(404, {"error": {"type": "not_found_error", "message": f"nothing at {path}"}})

    def do_HEAD(self):
        self.record(b"", None)
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_POST(self):
        body = self.body()
        form = formats.of_path(self.path)
        try:
            asked = form and form.read(self.path, json.loads(body))
        except (ValueError, KeyError, TypeError) as error:
            self.record(body, None)
            self.reply(400, {"error": {"type": "invalid_request_error", "message": repr(error)}})
            return
        self.record(body, asked)
        if asked is None:
            self.reply(404, {"error": {"type": "not_found_error", "message": f"nothing at {self.path}"}})
            return
        if asked.counts_tokens:
            self.reply(200, {"input_tokens": 1, "totalTokens": 1})
            return
        fault = self.server.fault()
        if "status" in fault:
            self.refuse(fault)
            return
        time.sleep(fault.get("silent", 0))
        try:
            said = self.server.script.answer(asked)
        except tools.NoTool as error:
            said = ("text", f"the script cannot go on: {error}")
        if asked.streams:
            self.stream(form.stream(asked, said), fault)
        else:
            self.reply(200, form.whole(asked, said))

    def body(self):
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            pieces = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                pieces.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            body = b"".join(pieces)
        else:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
        return gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body

    def record(self, body, asked):
        try:
            content = json.loads(body)
        except ValueError:
            content = body.decode("utf-8", "replace")
        line = {
            "method": self.command,
            "path": self.path,
            "headers": {name.lower(): value for name, value in self.headers.items()},
            "body": content,
            "form": asked.form if asked else None,
            "tools": sorted(asked.tools) if asked else [],
            "results": asked.results if asked else [],
        }
        self.server.write(line)

    def reply(self, status, content):
        text = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def refuse(self, fault):
        key = self.headers.get("x-api-key") or self.headers.get("authorization", "").removeprefix("Bearer ")
        message = fault.get("message", "refused").replace("KEY", key)
        text = json.dumps({"type": "error", "error": {"type": "error", "message": message}}).encode()
        self.send_response(fault["status"])
        for name, value in fault.get("headers", {}).items():
            self.send_header(name, value.replace("KEY", key))
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def stream(self, events, fault):
        self.send_response(200)
        self.send_header("content-type", fault.get("kind", "text/event-stream"))
        self.send_header("cache-control", "no-cache")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for number, (name, data) in enumerate(events):
            if number == fault.get("cut"):
                self.close_connection = True
                return
            text = f"event: {name}\n" if name else ""
            text += f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n"
            if "raw" in fault:
                text = fault["raw"]
            piece = text.encode()
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            self.wfile.flush()
            time.sleep(fault.get("slow", 0))
            if "raw" in fault:
                break
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    """The server, with its script and its record."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, address, script, record):
        super().__init__(address, Handler)
        self.script = script
        self.lock = threading.Lock()
        self.file = open(record, "a", encoding="utf-8")

    def fault(self):
        with self.lock:
            return self.script.fault()

    def write(self, line):
        with self.lock:
            self.file.write(json.dumps({"at": time.time(), **line}) + "\n")
            self.file.flush()

    def handle_error(self, request, client_address):
        # An agent that hangs up is no error of ours.
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


def main():
    script, record = sys.argv[1:3]
    address = sys.argv[3] if len(sys.argv) > 3 else "127.0.0.1"
    with open(script, encoding="utf-8") as file:
        server = Server((address, 0), Script(file.read()), record)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"listening {server.server_address[1]}", flush=True)
    while os.read(0, 4096):
        pass


if __name__ == "__main__":
    main()
