"""Which of an agent's tools does a step of the script, and with which arguments.

A tool is known by its name and the schema of its parameters, as the agent offers it: {name: {"kind": "function",
"custom" or "javascript", "schema": JSON schema}}. A step for which there is no tool of its own is done by the shell.
Never guesses at parameters that it does not know: an agent that requires one gets an empty value of its type.
"""

import json
import shlex


class NoTool(Exception):
    """No tool of the agent can do the step."""


def call(step, offered):
    """The tool for a step, and its arguments; text for a tool that takes text."""
    if "call" in step:
        return step["call"], step["arguments"]
    if name := next((name for name, tool in offered.items() if tool["kind"] == "javascript"), None):
        return name, program(step)
    if "read" in step:
        if name := find(offered, READERS):
            return name, fill(offered[name], {"path": step["read"]})
        return shell(offered, f"cat {shlex.quote(step['read'])}")
    if "edit" in step:
        path, old, new = step["edit"], step["old"], step["new"]
        if name := find(offered, EDITORS):
            return name, fill(offered[name], {"path": path, "old": old, "new": new})
        if offered.get("apply_patch", {}).get("kind") == "custom":
            return "apply_patch", patch(path, old, new)
        return shell(offered, shlex.join(["python3", "-c", REPLACE, path, old, new]))
    return shell(offered, step["run"])


def program(step):
    """The step as JavaScript that calls the tools of Codex."""
    if "edit" in step:
        change = json.dumps(patch(step["edit"], step["old"], step["new"]))
        return f"text(await tools.apply_patch({change}));"
    command = step["run"] if "run" in step else f"cat {shlex.quote(step['read'])}"
    return f"const ended = await tools.exec_command({{ cmd: {json.dumps(command)} }});\ntext(ended.output);"


def shell(offered, command):
    if name := find(offered, SHELLS):
        return name, fill(offered[name], {"command": command})
    raise NoTool(f"none of {sorted(offered)} runs a command")


def find(offered, names):
    return next((name for name in names if name in offered), None)


def fill(tool, values):
    """The arguments by the names that the tool gives them."""
    schema = tool["schema"]
    known = schema.get("properties", {})
    arguments = {}
    for meaning, value in values.items():
        name = next((name for name in ALIASES[meaning] if name in known), None)
        if name is None:
            raise NoTool(f"no parameter for {meaning} among {sorted(known)}")
        takes_words = meaning == "command" and known[name].get("type") in ("array", "ARRAY")
        arguments[name] = ["bash", "-lc", value] if takes_words else value
    for name in schema.get("required", []):
        arguments.setdefault(name, value_of(known.get(name, {})))
    return arguments


def value_of(schema):
    """The least that a schema allows."""
    kind = str(schema.get("type")).lower()
    if "enum" in schema:
        return schema["enum"][0]
    if kind == "object":
        known = schema.get("properties", {})
        return {name: value_of(known.get(name, {})) for name in schema.get("required", [])}
    return {"boolean": False, "integer": 1, "number": 1, "array": []}.get(kind, "a step of the task")


def patch(path, old, new):
    removed = "".join(f"-{line}\n" for line in old.split("\n"))
    added = "".join(f"+{line}\n" for line in new.split("\n"))
    return f"*** Begin Patch\n*** Update File: {path}\n@@\n{removed}{added}*** End Patch\n"


REPLACE = "import sys; p, o, n = sys.argv[1:]; t = open(p).read(); assert o in t; open(p, 'w').write(t.replace(o, n))"
READERS = ["Read", "read_file", "read"]
EDITORS = ["Edit", "replace", "edit"]
SHELLS = ["Bash", "bash", "run_shell_command", "exec_command", "shell_command", "shell", "run", "exec"]
ALIASES = {
    "path": ["file_path", "filePath", "absolute_path", "path"],
    "old": ["old_string", "oldString", "old"],
    "new": ["new_string", "newString", "new"],
    "command": ["command", "cmd", "script"],
}
