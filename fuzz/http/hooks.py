"""What a random request must not do, and where it should go.

Random launch specs would rarely start anything, and never the fake claude: most requests get the usual spec. Random names
hardly ever mean a session: most paths get one that exists. The machine's own programs and the network stay out of it.
"""

import os
import random
import uuid

import schemathesis

SESSIONS = os.environ["FUZZ_SESSIONS"].split()
# One of the first session.
DELIVERY = os.environ["FUZZ_DELIVERY"]
CHOICE = random.Random(7)


def is_id(text):
    try:
        return bool(uuid.UUID(str(text)))
    except ValueError:
        return False


@schemathesis.hook
def before_call(context, case, kwargs):
    body = case.body
    if isinstance(body, dict) and isinstance(body.get("spec"), dict):
        if CHOICE.random() < 0.7:
            body["spec"] = {}
        # The fake claude on PATH is the only program, and nobody is to talk to a model.
        for name in ("claude", "lab"):
            body["spec"].pop(name, None)
    path = case.path_parameters
    # What another request has made is left as it is.
    if isinstance(path, dict) and "session" in path and not is_id(path["session"]) and CHOICE.random() < 0.7:
        path["session"] = CHOICE.choice(SESSIONS)
        if "delivery" in path:
            path["session"], path["delivery"] = SESSIONS[0], DELIVERY
        # The others want them too.
        if isinstance(body, dict):
            body.pop("purge", None)
    # A stream that goes on would be waited for: one ends with what there is, the other is refused at once.
    if case.path == "/v1/events":
        case.query = {"heartbeat": 0}
    elif case.path.endswith("/events"):
        case.query = {**(case.query or {}), "follow": 0}
    # Waiting is not what is tried here.
    headers = case.headers
    if headers is not None and "Prefer" in headers and "wait" in str(headers["Prefer"]).lower():
        headers["Prefer"] = "wait=0"
