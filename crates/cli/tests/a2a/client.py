"""Drives a client of the official A2A SDK: one JSON order a line in, one JSON answer a line out, and
before it a line for each event of a stream as it comes.

Run by crates/cli/tests/clients/forks.py, with the server's address, the binding and the caller's key.
The client is made from the public agent card, whose signature is verified by the SDK with the key that
the signature names. The credential goes where the card's security scheme says.
"""

import asyncio
import json
import sys

import httpx
import jwt
from a2a.client import (
    A2ACardResolver,
    AuthInterceptor,
    ClientConfig,
    ClientFactory,
    CredentialService,
)
from a2a.types import a2a_pb2 as a2a
from a2a.utils.signing import create_signature_verifier
from google.protobuf.json_format import MessageToDict, ParseDict


def say(line):
    print(json.dumps(line), flush=True)


async def told(stream):
    """All events of a stream; each is said as it comes."""
    events = []
    async for event in stream:
        events.append(MessageToDict(event))
        say({"told": events[-1]})
    return events


class Key(CredentialService):
    def __init__(self, key):
        self.key = key

    async def get_credentials(self, security_scheme_name, context):
        return self.key


def published_key(kid, jku):
    """The key of this id where the signature says that it is."""
    found = httpx.get(jku, trust_env=False).raise_for_status().json()
    return next(jwt.PyJWK(key) for key in found["keys"] if key["kid"] == kid)


verify = create_signature_verifier(published_key, ["EdDSA"])


class Driver:
    def __init__(self, http, card, client, polling):
        self.http, self.card, self.client, self.polling = http, card, client, polling

    async def send(self, params, client=None):
        request = ParseDict(params, a2a.SendMessageRequest())
        return await told((client or self.polling).send_message(request))

    async def stream(self, params):
        return await self.send(params, self.client)

    async def subscribe(self, params):
        return await told(self.client.subscribe(ParseDict(params, a2a.SubscribeToTaskRequest())))

    async def get(self, params):
        return MessageToDict(await self.client.get_task(ParseDict(params, a2a.GetTaskRequest())))

    async def list(self, params):
        request = ParseDict(params, a2a.ListTasksRequest())
        return MessageToDict(await self.client.list_tasks(request))

    async def cancel(self, params):
        request = ParseDict(params, a2a.CancelTaskRequest())
        return MessageToDict(await self.client.cancel_task(request))

    async def push(self, params):
        config = ParseDict(params, a2a.TaskPushNotificationConfig())
        return MessageToDict(await self.client.create_task_push_notification_config(config))

    async def public_card(self, params):
        return MessageToDict(self.card)

    async def extended_card(self, params):
        request = a2a.GetExtendedAgentCardRequest()
        card = await self.client.get_extended_agent_card(request, signature_verifier=verify)
        return MessageToDict(card)

    async def verify_card(self, params):
        """Verifies the public card with some fields replaced."""
        card = MessageToDict(self.card)
        card.update(params)
        verify(ParseDict(card, a2a.AgentCard()))
        return "verified"


async def answer(driver, order):
    try:
        return {"ok": await getattr(driver, order["do"])(order.get("with", {}))}
    except Exception as error:  # the test compares it
        failed = {"type": type(error).__name__, "message": str(error)}
        return {"error": failed | {"data": getattr(error, "data", None)}}


async def main(base, binding, key=None):
    async with httpx.AsyncClient(timeout=60, trust_env=False) as http:
        card = await A2ACardResolver(http, base).get_agent_card(signature_verifier=verify)

        def made(streaming):
            config = ClientConfig(
                streaming=streaming,
                httpx_client=http,
                supported_protocol_bindings=[binding],
                use_client_preference=True,
            )
            interceptors = [AuthInterceptor(Key(key))] if key else []
            return ClientFactory(config).create(card, interceptors)

        driver = Driver(http, card, made(True), made(False))
        while line := await asyncio.to_thread(sys.stdin.readline):
            say(await answer(driver, json.loads(line)))
