"""A Pydantic AI agent whose tool runs in a cage. The framework's test model calls the tool, so no model
is asked.
"""

from __future__ import annotations

import json
import pathlib
import tempfile
from typing import Any, Dict

from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel
from stockade import aio

MANIFEST = pathlib.Path(__file__).parent / "word_count.toml"


def main() -> None:
    """Runs the agent once, and prints what the tool answered."""
    agent = Agent(TestModel())
    with tempfile.NamedTemporaryFile("w", suffix=".secret") as secret:
        secret.write("the host's own")
        secret.flush()

        @agent.tool_plain
        async def count_words() -> Dict[str, Any]:
            """Counts the words of the text."""
            invoked = await aio.invoke(MANIFEST, {"text": "all in a cage", "secret": secret.name})
            return {**invoked.value, "sandbox": invoked.sandbox}

        result = agent.run_sync("How many words does the text have?")
    print(json.dumps(json.loads(result.output)["count_words"]))


if __name__ == "__main__":
    main()
