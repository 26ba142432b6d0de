"""Opens a WebSocket through a proxy and reads a book's snapshot: address, key, market, CA."""

import asyncio
import json
import ssl
import sys

import websockets


async def main() -> None:
    """Ends with an error unless the snapshot comes."""
    address, key, market, ca = sys.argv[1:]
    tls = ssl.create_default_context(cafile=ca)
    url = address.replace("https://", "wss://") + "/api/v1/stream"
    async with websockets.connect(url, ssl=tls, additional_headers={"X-API-Key": key}) as socket:
        await socket.send(json.dumps({"op": "subscribe", "id": "1", "channels": [f"book:{market}"]}))
        async with asyncio.timeout(10):
            async for text in socket:
                message = json.loads(text)
                if message.get("channel") == f"book:{market}":
                    return


asyncio.run(main())
