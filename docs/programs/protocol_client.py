"""A client of the Model Context Protocol plays a game of Dou Dizhu through ``ddz mcp``, in random moves.

python docs/programs/protocol_client.py
"""

import asyncio
import random
import re
import sys

from mcp import Client, StdioServerParameters


async def call(client, tool, **arguments):
    """What a tool answers, as text."""
    result = await client.call_tool(tool, arguments)
    return result.content[0].text


async def play(server, seed=7):
    """A whole game: the positions as the client sees them, and what a hint says of the first."""
    async with Client(server) as client:
        position = await call(client, "new_game", seed=seed)
        print(position, await call(client, "hint"), sep="\n\n")
        while numbers := re.findall(r"(?m)^(\d{3}) ", position):
            position = await call(client, "play", move=random.choice(numbers))
            print(position, end="\n\n")


def main():
    """Play with a server of its own."""
    arguments = ["-m", "ddz_training", "mcp", "--agents", "rules", "--adviser", "rules"]
    asyncio.run(play(StdioServerParameters(command=sys.executable, args=arguments)))


if __name__ == "__main__":
    main()
