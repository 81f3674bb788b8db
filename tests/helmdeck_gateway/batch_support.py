"""Clients of the batch APIs."""

import json
import threading

BOUNDARY = "part-of-a-form"


def form(content, *, purpose="batch", name="requests.jsonl", media_type="application/jsonl"):
    """The body and headers of an upload."""
    field, file = 'form-data; name="purpose"', f'form-data; name="file"; filename="{name}"'
    body = (
        f"--{BOUNDARY}\r\ncontent-disposition: {field}\r\n\r\n{purpose}\r\n"
        f"--{BOUNDARY}\r\ncontent-disposition: {file}\r\ncontent-type: {media_type}\r\n\r\n"
    ).encode()
    body += content + f"\r\n--{BOUNDARY}--\r\n".encode()
    return {"body": body, "headers": {"content-type": f"multipart/form-data; boundary={BOUNDARY}"}}


def chat_lines(count, **fields):
    """The requests of a file, one for each number."""
    body = {"model": "up/m", **fields}
    for number in range(count):
        messages = [{"role": "user", "content": f"say #{number}"}]
        row = {"custom_id": f"r{number}", "method": "POST", "url": "/v1/chat/completions"}
        yield json.dumps({**row, "body": {**body, "messages": messages}}).encode()


class BatchClient:
    """A client of OpenAI's and Anthropic's batch APIs.

    :param send: sends a request, as ``Running.send`` does.
    """

    def __init__(self, send):
        self.send = send

    def upload(self, content, **fields):
        answer = self.send("/v1/files", **form(content, **fields))
        assert answer.status == 200, answer
        return answer.body

    def create(self, lines):
        """Store the lines as a file, and create a batch of them."""
        file = self.upload(b"\n".join(lines))
        body = {"input_file_id": file["id"], "endpoint": "/v1/chat/completions", "completion_window": "24h"}
        answer = self.send("/v1/batches", body)
        assert answer.status == 200, answer
        return answer.body

    def get(self, path):
        return self.send(path, method="GET")

    def ended(self, path, is_ended=lambda body: body.get("ended_at") or body.get("finalizing_at")):
        """Wait for the end of a batch."""
        for _ in range(4_000):
            body = self.get(path).body
            if is_ended(body):
                return body
            threading.Event().wait(0.01)
        raise AssertionError(body)

    def rows(self, file_id):
        """The lines of a file."""
        return [json.loads(line) for line in self.get(f"/v1/files/{file_id}/content").raw.splitlines()]
