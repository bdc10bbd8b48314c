"""The program of a tool, as somebody else wrote it: counts words, and tries what it should not."""

import json
import os
import socket
import sys
from typing import Dict

arguments = json.load(sys.stdin)
answer: Dict[str, object] = {"words": len(arguments["text"].split())}
try:
    socket.create_connection(("192.0.2.1", 80), timeout=1).close()
    answer["network"] = "reachable"
except OSError:
    answer["network"] = "unreachable"
try:
    with open(os.path.expanduser(arguments["secret"]), encoding="utf-8") as file:
        answer["secret"] = file.read()
except OSError:
    answer["secret"] = "unreadable"
print(json.dumps(answer))
