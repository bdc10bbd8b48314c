"""The servers of the network tests: DNS, HTTP, HTTPS, git, ssh and datagrams.

Started as `servers.py PLACE DIRECTORY`, where PLACE is `far` or `near`. Writes one line of JSON to
DIRECTORY/PLACE.log for all that reaches it, and `ready` to standard output when it listens. Never
leaves its network namespace, and keeps no state but the log.
"""

import http.server
import json
import os
import socket
import socketserver
import ssl
import struct
import subprocess
import sys
import threading
import time

FAR4, FAR6, PRIVATE4 = "203.0.113.2", "2001:db8:1::2", "10.99.0.2"
METADATA4 = "169.254.169.254"
TYPES = {"A": 1, "CNAME": 5, "TXT": 16, "AAAA": 28, "HTTPS": 65}
# Names and their records. A list of lists is given out one after the other, again and again, as in
# DNS rebinding.
ZONE = {
    "web.example": {"A": [FAR4], "AAAA": [FAR6]},
    "other.example": {"A": [FAR4], "AAAA": [FAR6]},
    "deep.sub.web.example": {"A": [FAR4]},
    "sub.web.example": {"A": [FAR4]},
    "v4.example": {"A": [FAR4]},
    "v6.example": {"AAAA": [FAR6]},
    "alias.example": {"CNAME": ["web.example"]},
    "internal.example": {"A": [PRIVATE4]},
    "loop.example": {"A": ["127.0.0.1"], "AAAA": ["::1"]},
    "metadata.example": {"A": [METADATA4]},
    "unspecified.example": {"A": ["0.0.0.0"], "AAAA": ["::"]},
    "mapped.example": {"AAAA": ["::ffff:10.99.0.2"]},
    "translated.example": {"AAAA": ["64:ff9b::a63:2"]},
    "inward.example": {"CNAME": ["internal.example"]},
    "host.example": {"A": ["203.0.113.1"], "AAAA": ["2001:db8:1::1"]},
    "mixed.example": {"A": [PRIVATE4, FAR4]},
    "rebind.example": {"A": [[FAR4], ["127.0.0.1"], [PRIVATE4], [METADATA4]]},
    "nobody.example": {"A": ["203.0.113.99"]},
    "secret.exfiltration.example": {"A": [FAR4]},
    "xn--bcher-kva.example": {"A": [FAR4]},
}
SILENT = "silent.example"


class Log:
    """What reached the servers."""

    def __init__(self, path):
        self.file = open(path, "a", buffering=1)
        self.lock = threading.Lock()

    def tell(self, what, **fields):
        with self.lock:
            self.file.write(json.dumps({"what": what, **fields}) + "\n")


class Zone:
    """The answers of the DNS server."""

    def __init__(self, log):
        self.log = log
        self.turns = {}

    def answer(self, query, transport):
        """The answer to one message; none where there is to be silence."""
        identity, _, count = struct.unpack("!HHH", query[:6])
        labels, at = [], 12
        while count == 1 and query[at]:
            labels.append(query[at + 1 : at + 1 + query[at]].decode("latin-1"))
            at += 1 + query[at]
        (kind,) = struct.unpack("!H", query[at + 1 : at + 3])
        question = query[12 : at + 5]
        name = ".".join(labels).lower()
        self.log.tell("dns", name=name, type=kind, transport=transport)
        if name == SILENT:
            return None
        records, known = self.records(name, kind)
        body = b"".join(
            self.owner(owner) + struct.pack("!HHIH", number, 1, 0, len(data)) + data
            for owner, number, data in records
        )
        flags = 0x8580 if known else 0x8583
        return struct.pack("!HHHHHH", identity, flags, 1, len(records), 0, 0) + question + body

    def records(self, name, kind):
        zone = ZONE.get(name)
        if zone is None:
            return [], False
        if "CNAME" in zone:
            target = zone["CNAME"][0]
            further, _ = self.records(target, kind)
            return [(name, TYPES["CNAME"], self.owner(target))] + further, True
        word = {number: word for word, number in TYPES.items()}.get(kind, "")
        data = zone.get(word, [])
        if data and isinstance(data[0], list):
            turn = self.turns.get((name, kind), 0)
            self.turns[(name, kind)] = turn + 1
            data = data[turn % len(data)]
        family = socket.AF_INET6 if word == "AAAA" else socket.AF_INET
        return [(name, kind, socket.inet_pton(family, text)) for text in data], True

    @staticmethod
    def owner(name):
        parts = [part.encode("latin-1") for part in name.split(".")]
        return b"".join(bytes([len(part)]) + part for part in parts) + b"\0"

    def serve_datagrams(self, server):
        while True:
            query, peer = server.recvfrom(4096)
            answer = self.answer(query, "udp")
            if answer is not None:
                server.sendto(answer, peer)

    def serve_connection(self, connection):
        with connection, connection.makefile("rwb") as stream:
            while length := stream.read(2):
                answer = self.answer(stream.read(struct.unpack("!H", length)[0]), "tcp")
                if answer is None:
                    return
                stream.write(struct.pack("!H", len(answer)) + answer)
                stream.flush()


class Web(http.server.BaseHTTPRequestHandler):
    """Says hello, counts out bytes, serves files below `www`, and git below `/git/`."""

    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16

    def do_GET(self):
        self.tell()
        if self.path.startswith("/bytes/"):
            return self.give_bytes(int(self.path.split("?")[0].rsplit("/", 1)[1]))
        if self.path.startswith("/git/"):
            return self.git(b"")
        file = self.server.directory + "/www" + self.path.split("?")[0]
        file += "index.html" if file.endswith("/") and len(self.path) > 1 else ""
        if os.path.isfile(file):
            with open(file, "rb") as opened:
                kind = "text/html" if file.endswith(".html") else "application/octet-stream"
                return self.reply(200, opened.read(), kind)
        status = 200 if self.path == "/" else 404
        return self.reply(status, f"hello from {self.headers['Host']}\n".encode())

    def do_POST(self):
        self.tell()
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size + 2)[:-2]
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path.startswith("/git/"):
            return self.git(body)
        return self.reply(200, body)

    def tell(self):
        name = getattr(self.connection, "server_name", None)
        port = self.server.server_address[1]
        host = self.headers["Host"]
        self.server.log.tell("request", port=port, server_name=name, host=host, path=self.path)

    def reply(self, status, body, kind="text/plain"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def give_bytes(self, count):
        self.send_response(200)
        self.send_header("Content-Length", str(count))
        self.end_headers()
        block = bytes(1 << 16)
        while count:
            count -= self.wfile.write(block[: min(count, len(block))])

    def git(self, body):
        path, _, query = self.path.partition("?")
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": self.server.directory,
            "GIT_PROJECT_ROOT": self.server.directory,
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        done = subprocess.run(
            ["git", "http-backend"], input=body, env=environment, stdout=subprocess.PIPE, check=False
        )
        head, _, rest = done.stdout.partition(b"\r\n\r\n")
        status = 200
        self.log_request = lambda *_: None
        fields = [line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line]
        for name, value in fields:
            status = int(value.split()[0]) if name == "Status" else status
        self.send_response(status)
        for name, value in fields:
            if name != "Status":
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest)

    def log_message(self, *_):
        """The log has it already."""


class Listener(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """A server on one port, plain or with TLS."""

    address_family = socket.AF_INET6
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, address, directory, log, context=None):
        self.directory, self.log, self.context = directory, log, context
        if ":" not in address[0]:
            self.address_family = socket.AF_INET
        super().__init__(address, Web)

    def server_bind(self):
        if self.address_family == socket.AF_INET6:
            both = self.server_address[0] == "::"
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(not both))
        super().server_bind()

    def get_request(self):
        connection, peer = super().get_request()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        own = connection.getsockname()[0]
        self.log.tell("connection", port=self.server_address[1], address=own, peer=peer[0])
        return connection, peer

    def finish_request(self, request, client_address):
        if self.context is not None:
            request = self.context.wrap_socket(request, server_side=True)
        super().finish_request(request, client_address)

    def handle_error(self, *_):
        """A client that goes away is not worth a word."""


def tls_context(directory):
    def remember(connection, name, _context):
        connection.server_name = name

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(directory + "/server.pem", directory + "/server.key")
    context.sni_callback = remember
    return context


def in_thread(function, *arguments):
    threading.Thread(target=function, args=arguments, daemon=True).start()


def accept_forever(server, handle):
    while True:
        in_thread(handle, server.accept()[0])


def dual_stack(kind, port):
    server = socket.socket(socket.AF_INET6, kind)
    server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("::", port))
    if kind == socket.SOCK_STREAM:
        server.listen(1024)
    return server


def echo_datagrams(port, log):
    server = dual_stack(socket.SOCK_DGRAM, port)
    while True:
        data, peer = server.recvfrom(2048)
        log.tell("datagram", port=port, peer=peer[0], data=data.decode("latin-1"))
        server.sendto(data, peer)


def relay(source, sink):
    while block := source.recv(1 << 16):
        sink.sendall(block)
    sink.shutdown(socket.SHUT_WR)


def serve_proxy(log, connection):
    """A proxy that knows `CONNECT`, and resolves names by the zone."""
    head = b""
    while b"\r\n\r\n" not in head:
        head += connection.recv(4096)
    lines = head.decode("latin-1").split("\r\n")
    fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
    method, target, _ = lines[0].split(" ")
    log.tell("proxied", target=target, authorization=fields.get("proxy-authorization"))
    host, _, port = target.rpartition(":")
    if method != "CONNECT":
        return connection.sendall(b"HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n")
    address = ZONE.get(host, {}).get("A", [host.strip("[]")])[0]
    outward = socket.create_connection((address, int(port)))
    connection.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
    in_thread(relay, outward, connection)
    return relay(connection, outward)


def far(directory, log):
    proxy = dual_stack(socket.SOCK_STREAM, 3129)
    in_thread(accept_forever, proxy, lambda connection: serve_proxy(log, connection))
    zone = Zone(log)
    in_thread(zone.serve_datagrams, dual_stack(socket.SOCK_DGRAM, 53))
    in_thread(accept_forever, dual_stack(socket.SOCK_STREAM, 53), zone.serve_connection)
    context = tls_context(directory)
    for port in (80, 8080):
        in_thread(Listener(("::", port), directory, log).serve_forever)
    for port in (443, 853, 8443):
        in_thread(Listener(("::", port), directory, log, context).serve_forever)
    for port in (443, 853, 5353, 8125):
        in_thread(echo_datagrams, port, log)
    if os.path.exists(directory + "/sshd_config"):
        subprocess.Popen(["/usr/sbin/sshd", "-D", "-f", directory + "/sshd_config"])
        await_listener(22)


def await_listener(port):
    """Returns when a server of another process listens."""
    for _ in range(1000):
        try:
            return socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.01)
    sys.exit(f"nobody listens on port {port}")


def near(directory, log):
    in_thread(Listener(("::", 8002), directory, log).serve_forever)
    for port in (8000, 8001):
        for address in ("127.0.0.1", "::1"):
            in_thread(Listener((address, port), directory, log).serve_forever)


def main():
    place, directory = sys.argv[1:]
    log = Log(f"{directory}/{place}.log")
    {"far": far, "near": near}[place](directory, log)
    # In one piece: the other place says it to the same pipe, maybe at the same time.
    os.write(sys.stdout.fileno(), b"ready\n")
    threading.Event().wait()


main()
