"""A bot: leads its smallest card, passes otherwise, bids nothing.  One process per move."""

import json

told = json.loads(input())
requests, responses = told["requests"], told["responses"]
last = requests[-1]
if "history" not in last:
    print(json.dumps({"response": 0}))
else:
    first = next(request for request in requests if "history" in request)
    held = set(first["own"])
    if first.get("landlord", -1) == first.get("pos"):
        held |= set(first["publiccard"])
    for response in responses:
        if isinstance(response, list):
            held -= set(response)
    answer = [] if any(last["history"]) else [min(held)]
    print(json.dumps({"response": answer, "data": str(len(responses)), "debug": told.get("data", "")}))
