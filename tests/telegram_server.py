"""A server on this machine that answers as Telegram's Bot API documents: getUpdates, sendMessage, getMe, and the shapes of its errors.

https://core.telegram.org/bots/api: an answer is {"ok": true, "result": …} or {"ok": false, "error_code": …, "description": …} with the code
as HTTP status as well, and perhaps "parameters": {"retry_after": …}. An update is confirmed by asking for a higher offset; until then it comes again."""
import asyncio
import json
from urllib.parse import urlsplit


class TelegramServer:
    "`async with TelegramServer(token) as server`. `says` puts an update in; `sent` is what came out; `refuse` holds errors for the next calls of a method."
    def __init__(self, token="123456:TEST-token_1"):
        self.token, self.updates, self.sent, self.asked, self.refuse = token, [], [], [], {}
        self.next, self.news, self.polling, self.unknown, self.blocked = 1000, asyncio.Event(), 0, 0, set()

    async def __aenter__(self):
        self.server = await asyncio.start_server(self.connection, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *error): self.server.close()

    def put(self, **fields):
        self.next += 1
        self.updates.append({"update_id": self.next, **fields})
        self.news.set()
        return self.next

    def says(self, text, sender=7, chat=None, name="Ana", **more):
        return self.put(message={"message_id": self.next, "date": 1_790_000_000, "from": {"id": sender, "is_bot": False, "first_name": name}, "chat": chat or {"id": sender, "type": "private", "first_name": name}, "text": text, **more})

    def texts(self, chat=7): return [each["text"] for each in self.sent if each["chat_id"] == chat]

    async def until(self, test, seconds=60.0):
        async with asyncio.timeout(seconds):
            while not test(): await asyncio.sleep(0.02)

    async def connection(self, reader, writer):
        try:
            while line := await reader.readline():
                headers = {}
                while (each := (await reader.readline()).decode().strip()): headers[each.partition(":")[0].lower()] = each.partition(":")[2].strip()
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                status, answer = await self.answer(urlsplit(line.split()[1].decode()).path, body)
                if status is None: return writer.transport.abort()
                data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                writer.write(f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n".encode() + data)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError): pass
        finally: writer.close()

    async def answer(self, path, body):
        bot, _, method = path.removeprefix("/bot").partition("/")
        if bot != self.token:
            self.unknown += 1
            return 401, {"ok": False, "error_code": 401, "description": "Unauthorized"}
        given = json.loads(body or b"{}")
        self.asked.append((method, given))
        if self.refuse.get(method):
            refused = self.refuse[method].pop(0)
            return (None, b"") if refused is None else refused
        return await getattr(self, f"do_{method}", self.missing)(given)

    async def missing(self, given): return 404, {"ok": False, "error_code": 404, "description": "Not Found"}
    async def do_getMe(self, given): return 200, {"ok": True, "result": {"id": 123456, "is_bot": True, "first_name": "Test", "username": "test_bot"}}

    async def do_getUpdates(self, given):
        self.polling = mine = self.polling + 1                    # a new request ends the one that waits
        self.news.set()
        conflict = lambda: (409, {"ok": False, "error_code": 409, "description": "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"})
        if (offset := given.get("offset")) is not None: self.updates = [each for each in self.updates if each["update_id"] >= offset]
        wanted = lambda: [each for each in self.updates if not given.get("allowed_updates") or set(each) & set(given["allowed_updates"])][:given.get("limit", 100)]
        if not wanted():
            await asyncio.sleep(0)
            self.news.clear()
            try: await asyncio.wait_for(self.news.wait(), min(given.get("timeout", 0), 0.5))
            except TimeoutError: pass
        return conflict() if self.polling != mine else (200, {"ok": True, "result": wanted()})

    async def do_sendMessage(self, given):
        wrong = lambda text, code=400: (code, {"ok": False, "error_code": code, "description": text})
        chat, text = given.get("chat_id"), given.get("text")
        if type(chat) is not int: return wrong("Bad Request: chat not found")
        if chat in self.blocked: return wrong("Forbidden: bot was blocked by the user", 403)
        if not isinstance(text, str) or not text.strip(): return wrong("Bad Request: message text is empty")
        if len(text.encode("utf-16-le")) // 2 > 4096: return wrong("Bad Request: message is too long")
        self.sent.append(given)
        return 200, {"ok": True, "result": {"message_id": len(self.sent), "date": 1, "chat": {"id": chat, "type": "private"}, "text": text}}
