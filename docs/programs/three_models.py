"""Three language models play a game of Dou Dizhu.

Without arguments a stub on this machine takes the place of the models: it chooses a number of the list at random.

    python docs/programs/three_models.py
    python docs/programs/three_models.py http://localhost:11434/v1 llama3.2
"""

import json
import random
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from ddz_env import Rules
from ddz_env.playing.registry import make_agent
from ddz_env.saved_games import Deal, SavedGame
from ddz_play.session import Session


def any_number(messages):
    """One of the numbers in the last message that lists legal moves."""
    position = [message["content"] for message in messages if "legal moves:" in message["content"]][-1]
    return json.dumps({"move": int(random.choice(re.findall(r"(?m)^(\d{3}) ", position)))})


class Stub(ThreadingHTTPServer):
    """An endpoint on loopback whose answers come from a function of the conversation."""

    def __init__(self, answer=any_number):
        super().__init__(("127.0.0.1", 0), Completions)
        self.answer = answer
        self.address = f"http://127.0.0.1:{self.server_port}/v1"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *error):
        self.shutdown()
        self.server_close()


class Completions(BaseHTTPRequestHandler):
    """What the interface of chat completions asks for."""

    def do_POST(self):
        """Answer a conversation, and say what it cost."""
        messages = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"]
        text = self.server.answer(messages)
        read = sum(len(message["content"].split()) for message in messages)
        usage = {"prompt_tokens": read, "completion_tokens": len(text.split())}
        body = {"choices": [{"message": {"role": "assistant", "content": text}}], "usage": usage}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *args):
        """Nothing, for the game is printed."""


def play(address, model, seed=7):
    """A game of three text agents, move by move, and what each of them used up."""
    name = f"chat:{address},model={model}"
    agents = {seat: make_agent(name) for seat in range(3)}
    session = Session(SavedGame(Deal(Rules(), seed), (name,) * 3), agents)
    while not session.is_over:
        turn = session.let_agent_play()
        print(f"seat {turn.seat} ({session.role(turn.seat)}): {turn.text}")
    print("returns:", *session.returns())
    for seat, agent in agents.items():
        print(f"seat {seat}: {agent.usage}")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        play(*sys.argv[1:])
    else:
        with Stub() as stub:
            play(stub.address, "stub")
