"""create → poll until success, as a client with requests does it. usage: poll.py URL KEY PROMPT"""

import sys
import time

import requests

url, key, prompt = sys.argv[1:]
session = requests.Session()
session.auth = ("bridge", key)

created = session.post(f"{url}/v1/task/create", json={"prompt": prompt}, timeout=20)
print(f"create: {created.text}")
task_id = created.json()["task_id"]

until = time.monotonic() + 40
while True:
    answer = session.get(f"{url}/v1/task/output", params={"task_id": task_id}, timeout=20)
    answer.raise_for_status()
    output = answer.json()
    if output["retrieval_status"] == "success":
        break
    assert output["retrieval_status"] == "pending", output
    assert output["task"]["status"] in ("queued", "spawning", "running"), output
    assert time.monotonic() < until, f"it takes too long: {output}"
    time.sleep(0.1)
print(f"output: {answer.text}")
