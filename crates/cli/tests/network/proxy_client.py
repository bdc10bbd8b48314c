"""Speaks to the proxies of a cage by hand. Reads one request a line and prints one answer a line:
the code, then `hello` if the server was reached, or `reason` if the refusal gives one.

`%XX` in a name is that byte; the name `long` is one of 300 bytes.
"""

import re
import socket
import struct
import sys


def unescaped(text):
    if text == "long":
        return b".".join([b"a" * 49] * 5)
    return re.sub(rb"%(..)", lambda found: bytes([int(found[1], 16)]), text.encode())


def all_of(connection):
    answer = b""
    while block := connection.recv(4096):
        answer += block
    return answer


def hello(connection, host):
    request = b"GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % host
    connection.sendall(request)
    return "hello" if b"hello from" in all_of(connection) else "silence"


def proxy(port):
    return socket.create_connection(("127.0.0.1", port), timeout=10)


def socks5(kind, host, port):
    name = unescaped(host)
    command = {"bind": 2, "associate": 3}.get(kind, 1)
    forms = {
        "v4": lambda: b"\1" + socket.inet_pton(socket.AF_INET, host),
        "v6": lambda: b"\4" + socket.inet_pton(socket.AF_INET6, host),
        "type-9": lambda: b"\x09" + bytes([len(name)]) + name,
        "empty": lambda: b"\3\0",
    }
    address = forms.get(kind, lambda: b"\3" + bytes([len(name)]) + name)()
    with proxy(1080) as connection:
        connection.sendall(b"\5\1\0")
        if connection.recv(2) != b"\5\0":
            return "no greeting"
        connection.sendall(bytes([5, command, 0]) + address + struct.pack("!H", int(port)))
        answer = connection.recv(64)
        if len(answer) < 2:
            return "nothing"
        return f"{answer[1]} " + (hello(connection, name.rstrip(b".")) if answer[1] == 0 else "")


def socks4(host, port):
    dotted = host.replace(".", "").isdigit()
    address = socket.inet_aton(host) if dotted else bytes([0, 0, 0, 1])
    name = b"" if dotted else unescaped(host) + b"\0"
    with proxy(1080) as connection:
        connection.sendall(b"\4\1" + struct.pack("!H", int(port)) + address + b"\0" + name)
        answer = connection.recv(8)
        if len(answer) < 2:
            return "nothing"
        return f"{answer[1]} " + (hello(connection, unescaped(host)) if answer[1] == 90 else "")


def status(answer):
    reason = "reason" if b"x-stockade-reason: " in answer.lower() else ""
    return answer.split(b" ", 2)[1].decode() + " " + reason if answer else "nothing"


def connect(target):
    with proxy(3128) as connection:
        raw = unescaped(target)
        connection.sendall(b"CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (raw, raw))
        answer = connection.recv(4096)
        if answer.startswith(b"HTTP/1.1 200"):
            return "200 " + hello(connection, raw.rpartition(b":")[0].rstrip(b"."))
        return status(answer + all_of(connection))


def request(address, host):
    with proxy(3128) as connection:
        words = (unescaped(address), unescaped(host))
        connection.sendall(b"GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % words)
        answer = all_of(connection)
        return "200 hello" if b"hello from" in answer else status(answer)


KINDS = {"socks5": socks5, "socks4": socks4, "connect": connect, "request": request}
for line in sys.stdin:
    words = line.split()
    try:
        print(KINDS[words[0]](*words[1:]), flush=True)
    except OSError as error:
        print(type(error).__name__, error, flush=True)
