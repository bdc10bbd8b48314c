"""A LangChain tool whose program runs in a cage. No model is asked: the tool is called as an agent's
tool runner calls it.
"""

from __future__ import annotations

import json
import pathlib
import tempfile
from typing import Any, Dict

import stockade
from langchain_core.tools import StructuredTool

MANIFEST = pathlib.Path(__file__).parent / "word_count.toml"


def main() -> None:
    """Calls the tool once, and prints what it answered."""
    with tempfile.NamedTemporaryFile("w", suffix=".secret") as secret:
        secret.write("the host's own")
        secret.flush()

        def count_words(text: str) -> Dict[str, Any]:
            """Counts the words of a text."""
            invoked = stockade.invoke(MANIFEST, {"text": text, "secret": secret.name})
            return {**invoked.value, "sandbox": invoked.sandbox}

        tool = StructuredTool.from_function(count_words)
        call = {"name": tool.name, "args": {"text": "all in a cage"}, "id": "1", "type": "tool_call"}
        message = tool.invoke(call)
    print(json.dumps(json.loads(message.content)))


if __name__ == "__main__":
    main()
