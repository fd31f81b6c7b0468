"""The bot of smallest.py, but beats a solo by the next higher one, and keeps running."""

import json
import sys


def rank(card):
    return card // 4 + (card == 53)


held = set()
for line in sys.stdin:
    told = json.loads(line)
    request = told["requests"][-1] if "requests" in told else told
    if "own" in request and "history" in request:
        held = set(request["own"])
        if request.get("landlord", -1) == request.get("pos"):
            held |= set(request["publiccard"])
    if "history" not in request:
        answer = 3 if max([0, *request["bid"]]) < 3 else 0
    else:
        before = [cards for cards in request["history"] if cards]
        answer = [min(held)]
        if before:
            higher = [card for card in sorted(held) if len(before[-1]) == 1 and rank(card) > rank(before[-1][0])]
            answer = higher[:1]
        held -= set(answer)
    print(json.dumps({"response": answer}))
    print(">>>BOTZONE_REQUEST_KEEP_RUNNING<<<", flush=True)
