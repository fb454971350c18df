"""create → stream → permission → done, as a client with requests does it. usage: stream.py URL KEY PROMPT

Reads the records of both generations of clients: by `type`, and by their fields alone.
"""

import json
import sys

import requests

url, key, prompt = sys.argv[1:]
auth = ("bridge", key)

created = requests.post(f"{url}/v1/task/create", json={"prompt": prompt}, auth=auth, timeout=20)
print(f"create: {created.text}")
task_id = created.json()["task_id"]

by_type, by_field, ended = "", "", None
stream = requests.get(
    f"{url}/v1/task/output/stream", params={"task_id": task_id}, auth=auth, stream=True, timeout=40
)
stream.raise_for_status()
assert stream.headers["content-type"] == "text/event-stream", stream.headers
for line in stream.iter_lines(decode_unicode=True):
    if not line:
        continue
    assert line.startswith("data: "), line
    print(line)
    record = json.loads(line[len("data: "):])
    if record["type"] == "chunk":
        by_type += record["text"]
    if "chunk" in record:
        assert record["task_id"] == task_id, record
        by_field += record["chunk"]
    if record["type"] == "permission_request":
        decision = {"task_id": task_id, "request_id": record["request_id"], "behavior": "allow"}
        answer = requests.post(f"{url}/v1/task/permission", json=decision, auth=auth, timeout=20)
        print(f"permission: {answer.text}")
    if record["type"] in ("done", "error"):
        assert ended is None, "two ends"
        ended = record
assert by_type == by_field, (by_type, by_field)
assert ended is not None, "no end"
