"""What an answer in pieces costs: the time for each piece, from the bytes of the connection to the text of the draft.

    python benchmarks/streaming.py

Measured in processor time, the least of the rounds: bytes to lines to events to JSON to the words that a dialect takes; then the same
with somebody who reads along. Beside it stands what reading the JSON of each piece costs with the standard library alone, which no
client can do without; what streaming *adds* is the difference.
"""
import asyncio
import json
import time

from passepartout.net.endpoints import Times
from passepartout.net.httpclient import _pieces
from passepartout.providers.anthropic import Anthropic
from passepartout.providers.ollama import Ollama
from passepartout.providers.openai_compatible import OpenAICompatible
from passepartout.providers.dialect import Heard, listening

COUNT, ROUNDS = 4000, 25
WORDS = [f" word{n}" for n in range(COUNT)]
SHAPES = {
    "openai": (OpenAICompatible(), True, [{"id": "chatcmpl-AbCdEf123456", "object": "chat.completion.chunk", "created": 1761000000, "model": "gpt-5-mini", "system_fingerprint": "fp_1", "choices": [{"index": 0, "delta": {"content": w}, "logprobs": None, "finish_reason": None}]} for w in WORDS]),
    "anthropic": (Anthropic(), True, [{"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": w}} for w in WORDS]),
    "ollama": (Ollama(), False, [{"model": "qwen3", "created_at": "2026-01-01T00:00:00Z", "message": {"role": "assistant", "content": w}, "done": False} for w in WORDS]),
}


class Connection:
    "Stands for the answer of a server: one piece of bytes for each event."
    def __init__(self, pieces): self.pieces = pieces
    async def aiter_raw(self):
        for piece in self.pieces: yield piece


def bytes_of(shape, sse, event):
    text = json.dumps(event)
    if not sse: return f"{text}\n".encode()
    return (f"event: {event['type']}\n" if shape == "anthropic" else "").encode() + f"data: {text}\n\n".encode()


async def ours(dialect, sse, pieces, hear):
    heard = Heard()
    take, times = listening(dialect, heard, hear), Times(most=10**9)
    begun = time.process_time()
    await _pieces(Connection(pieces), sse, lambda data: take(data) is None, times, lambda: time.monotonic())
    return time.process_time() - begun


def alone(texts):
    begun = time.process_time()
    for text in texts: json.loads(text)
    return time.process_time() - begun


def reader():
    "Somebody who reads along, and looks at the clock for every piece as a draft does."
    later = [time.monotonic() + 3600]
    def hear(said):
        if time.monotonic() < later[0]: return
        said()
    return hear


if __name__ == "__main__":
    print("| pieces of | in all (µs) | with a reader (µs) | their JSON alone (µs) | streaming adds (µs) | allowed |\n|---|---|---|---|---|---|")
    for shape, (dialect, sse, events) in SHAPES.items():
        pieces, texts = [bytes_of(shape, sse, e) for e in events], [json.dumps(e) for e in events]
        rows = [(asyncio.run(ours(dialect, sse, pieces, None)), asyncio.run(ours(dialect, sse, pieces, reader())), alone(texts)) for _ in range(ROUNDS)]
        whole, heard, bare = (min(column) / COUNT * 1e6 for column in zip(*rows))
        print(f"| {shape} | {whole:.1f} | {heard:.1f} | {bare:.1f} | {heard - bare:.1f} | < 5 |")
