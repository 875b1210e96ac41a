"""A proxy that nobody would want: streams out of order, malformed, cut, and many at once, by gRPC's own Python library
with the messages that Envoy publishes. peer.py PORT; ends with 0 when each stream was answered as it should be."""
import asyncio
import sys

import grpc
from envoy.config.core.v3 import base_pb2
from envoy.extensions.filters.http.ext_proc.v3 import processing_mode_pb2
from envoy.service.ext_proc.v3 import external_processor_pb2 as pb

METHOD = "/envoy.service.ext_proc.v3.ExternalProcessor/Process"
BODY = b'{"model":"m","messages":[{"role":"user","content":"hi"}]}'
ANSWER = b'{"id":"1","usage":{"prompt_tokens":9,"completion_tokens":3}}'
LIMIT = 20


def fields(pairs):
    return base_pb2.HeaderMap(headers=[base_pb2.HeaderValue(key=k, raw_value=v.encode()) for k, v in pairs])


def head(more=(), last=False):
    duplex = processing_mode_pb2.ProcessingMode.FULL_DUPLEX_STREAMED
    pairs = [(":method", "POST"), (":path", "/v1/chat/completions"), (":authority", "llm.example"), *more]
    return pb.ProcessingRequest(
        request_headers=pb.HttpHeaders(headers=fields(pairs), end_of_stream=last),
        protocol_config=pb.ProtocolConfiguration(request_body_mode=duplex, response_body_mode=duplex))


def body(piece, last=False):
    return pb.ProcessingRequest(request_body=pb.HttpBody(body=piece, end_of_stream=last))


def response_head(last=False):
    pairs = [(":status", "200"), ("content-type", "application/json")]
    return pb.ProcessingRequest(response_headers=pb.HttpHeaders(headers=fields(pairs), end_of_stream=last))


def response_body(piece, last=False):
    return pb.ProcessingRequest(response_body=pb.HttpBody(body=piece, end_of_stream=last))


TRAILERS = pb.ProcessingRequest(request_trailers=pb.HttpTrailers())
RESPONSE_TRAILERS = pb.ProcessingRequest(response_trailers=pb.HttpTrailers())
NOTHING = pb.ProcessingRequest()


class Stream:
    """One stream. Messages are sent as they are, bytes among them."""

    def __init__(self, channel):
        serialize = lambda message: message if isinstance(message, bytes) else message.SerializeToString()
        self.call = channel.stream_stream(
            METHOD, request_serializer=serialize, response_deserializer=pb.ProcessingResponse.FromString)()

    async def send(self, *messages):
        for message in messages:
            await asyncio.wait_for(self.call.write(message), LIMIT)

    async def reply(self):
        return await asyncio.wait_for(self.call.read(), LIMIT)

    async def expect(self, kind):
        reply = await self.reply()
        assert reply is not grpc.aio.EOF, f"the stream has ended instead of {kind}"
        assert reply.WhichOneof("response") == kind, f"{reply} instead of {kind}"
        return reply

    async def destined(self):
        reply = await self.expect("request_headers")
        set_headers = reply.request_headers.response.header_mutation.set_headers
        named = [h.header.raw_value for h in set_headers if h.header.key == "x-gateway-destination-endpoint"]
        assert named == [b"10.0.0.1:8000"], f"destined for {named}"

    async def echo(self, kind="request_body"):
        echoed = b""
        while True:
            piece = getattr(await self.expect(kind), kind).response.body_mutation.streamed_response
            echoed += piece.body
            if piece.end_of_stream:
                return echoed

    async def placed(self, sent=BODY):
        await self.destined()
        assert await self.echo() == sent

    async def immediate(self, status):
        reply = await self.expect("immediate_response")
        assert reply.immediate_response.status.code == status, reply
        assert await self.reply() is grpc.aio.EOF

    async def drain(self):
        try:
            while await self.reply() is not grpc.aio.EOF:
                pass
        except grpc.aio.AioRpcError:
            pass  # Which error it is, is looked for at the end.

    async def end(self):
        return await asyncio.wait_for(self.call.code(), LIMIT)

    async def ends_well(self):
        assert await self.end() == grpc.StatusCode.OK, await self.end()


async def ordinary(channel):
    stream = Stream(channel)
    await stream.send(head(), body(BODY), body(b"", True))
    await stream.placed()
    await stream.send(response_head(), response_body(ANSWER, True))
    await stream.expect("response_headers")
    assert await stream.echo("response_body") == ANSWER
    await stream.call.done_writing()
    await stream.ends_well()


async def body_before_head(channel):
    stream = Stream(channel)
    await stream.send(body(BODY, True), TRAILERS, head(), body(BODY, True))
    await stream.expect("request_trailers")
    await stream.placed()
    stream.call.cancel()


async def response_before_request(channel):
    stream = Stream(channel)
    await stream.send(response_head(), response_body(ANSWER, True))
    await stream.expect("response_headers")
    assert await stream.echo("response_body") == ANSWER
    await stream.call.done_writing()
    await stream.ends_well()


async def response_body_alone(channel):
    stream = Stream(channel)
    await stream.send(response_body(ANSWER), RESPONSE_TRAILERS, response_body(ANSWER, True))
    await stream.call.done_writing()
    await stream.ends_well()


async def ends_and_heads_twice(channel):
    stream = Stream(channel)
    await stream.send(head(), head(), body(BODY, True), body(b"", True), body(b"again", True))
    await stream.placed()
    # The stream ends with its last reply: a second end of the response could come after that.
    await stream.send(response_head(), response_head(), response_body(ANSWER, True))
    await stream.expect("response_headers")
    assert await stream.echo("response_body") == ANSWER
    await stream.call.done_writing()
    await stream.ends_well()


async def unknown_messages(channel):
    stream = Stream(channel)
    unknown = bytes([0xe2, 0x03, 0x02, 0x78, 0x78])
    await stream.send(NOTHING, unknown, head(), unknown, body(BODY), unknown, body(b"", True))
    await stream.placed()
    stream.call.cancel()


async def garbage(channel):
    for before in [(), (head(),), (head(), body(b'{"mod')), (head(), body(BODY, True))]:
        for bytes_sent in [b"\xff" * 64, b"\x12\xff\xff\xff\xff\x0f", b"\x0a"]:
            stream = Stream(channel)
            await stream.send(*before)
            await stream.send(bytes_sent)
            if len(before) == 2 and before[1].request_body.end_of_stream:
                # It may have been placed before.
                await stream.drain()
            else:
                await stream.immediate(500)
                await stream.ends_well()


async def ten_thousand_fields(channel):
    stream = Stream(channel)
    await stream.send(head([(f"x-field-{i}", "v") for i in range(10_000)]), body(BODY, True))
    await stream.placed()
    stream.call.cancel()


async def odd_fields(channel):
    stream = Stream(channel)
    odd = [("", ""), ("x\r\ny", "a\r\nb"), ("X-Gateway-Destination-Endpoint", "10.6.6.6:1"), (":path", "/"), (":", ":"),
           ("content-length", "-1"), ("content-length", "9" * 40), ("x" * 60_000, "y" * 60_000)]
    await stream.send(head(odd), body(BODY, True))
    await stream.placed()
    stream.call.cancel()


async def too_long(channel):
    stream = Stream(channel)
    await stream.send(head(), *[body(b"x" * 262_144) for _ in range(4)], body(b"x", True))
    await stream.immediate(413)


async def too_long_in_one_message(channel):
    for before in [(), (head(),)]:
        stream = Stream(channel)
        await stream.send(*before)
        try:
            # The answer comes before all of it has gone.
            await stream.send(body(b"x" * 64_000_000, True))
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            pass
        await stream.immediate(413)
        await stream.ends_well()


STATES = [(), (NOTHING,), (head(),), (head(), body(b'{"mod')), (head(), body(BODY), TRAILERS),
          (head(), body(BODY, True)), (head(last=True),)]


async def half_closes(channel):
    for messages in STATES:
        stream = Stream(channel)
        await stream.send(*messages)
        await stream.call.done_writing()
        await stream.drain()
        await stream.ends_well()


async def resets(channel):
    for messages in STATES:
        stream = Stream(channel)
        await stream.send(*messages)
        stream.call.cancel()
    begun, part, whole = response_head(), response_body(ANSWER), response_body(ANSWER, True)
    for sent in [(begun,), (begun, part), (begun, whole)]:
        stream = Stream(channel)
        await stream.send(head(), body(BODY, True))
        await stream.placed()
        await stream.send(*sent)
        stream.call.cancel()


async def thousand(channel):
    streams = [Stream(channel) for _ in range(1000)]

    async def begin(stream):
        await stream.send(head(), body(BODY, True))
        await stream.placed()

    async def finish(number, stream):
        if number % 2:
            stream.call.cancel()
            return
        await stream.send(response_head(), response_body(ANSWER, True))
        await stream.expect("response_headers")
        assert await stream.echo("response_body") == ANSWER
        await stream.call.done_writing()
        await stream.ends_well()

    await asyncio.gather(*[begin(stream) for stream in streams])
    await asyncio.gather(*[finish(*each) for each in enumerate(streams)])


async def main(port):
    for scenario in [ordinary, body_before_head, response_before_request, response_body_alone, ends_and_heads_twice,
                     unknown_messages, garbage, ten_thousand_fields, odd_fields, too_long,
                     too_long_in_one_message, half_closes, resets, thousand]:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            print(scenario.__name__, flush=True)
            await scenario(channel)
            await ordinary(channel)


asyncio.run(main(int(sys.argv[1])))
