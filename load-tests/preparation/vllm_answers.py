"""Answers of chats at random, whole and streamed, and the Anthropic messages that vLLM's own code makes of them: one JSON
object a line.

  vllm_answers.py SEED NUMBER    (with a Python that has vLLM, such as load-tests/.venv-vllm-*/bin/python)
"""

import asyncio
import json
import random
import sys

from vllm.entrypoints.anthropic.serving import AnthropicServingMessages
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionResponse

chance = random.Random(int(sys.argv[1]))
serving = AnthropicServingMessages.__new__(AnthropicServingMessages)
HEAD = {"id": "chatcmpl-1", "created": 7, "model": "m"}


def one(*values):
    return chance.choice(values)


def usage(completion):
    counts = {"prompt_tokens": 20, "completion_tokens": completion, "total_tokens": 20 + completion}
    details = one(None, None, {"cached_tokens": 0}, {"cached_tokens": 16}, {"cached_tokens": 8, "created_cache_tokens": 4})
    return counts if details is None else dict(counts, prompt_tokens_details=details)


def end():
    return {"finish_reason": one("stop", "stop", "length", "tool_calls"), "stop_reason": one(None, None, 7, "END")}


def whole():
    calls = [{"id": f"call_{i}", "type": "function", "function": {
        "name": one("f", "g"), "arguments": one("{}", '{"a": 1}', '{"b": ["é", null]}')}}
        for i in range(one(0, 0, 1, 2))]
    message = {"role": "assistant", "content": one(None, "", "Hi", "so\n"), "tool_calls": calls}
    thoughts = one(None, None, "", "hm")
    if thoughts is not None:
        message["reasoning"] = thoughts
    chat = dict(HEAD, object="chat.completion", usage=usage(5), choices=[dict(end(), index=0, message=message)])
    made = serving.messages_full_converter(ChatCompletionResponse.model_validate(chat))
    return {"chat": chat, "message": json.loads(made.model_dump_json(exclude_none=True))}


def deltas():
    calls, open_call = 0, False
    for _ in range(chance.randint(0, 6)):
        kind = one("thought", "text", "call", "more", "")
        if kind == "thought":
            open_call = False
            yield {"reasoning": one("hm", " and")}
        elif kind == "text":
            yield {"content": one("Hi", " é", "")}
        elif kind == "call":
            yield {"tool_calls": [{"index": calls, "id": f"call_{calls}", "type": "function",
                                   "function": {"name": one("f", "g"), "arguments": one("", '{"a":', "{}")}}]}
            calls, open_call = calls + 1, True
        elif kind == "more" and open_call:
            yield {"tool_calls": [{"index": calls - 1, "function": {"arguments": one("1}", "2", "")}}]}
        else:
            yield {}


def chunks():
    counted = chance.random() < 0.7
    sent = [{"role": "assistant", "content": ""}, *deltas(), {}]
    for number, delta in enumerate(sent):
        chunk = dict(HEAD, object="chat.completion.chunk", choices=[{"index": 0, "delta": delta}])
        if number == len(sent) - 1:
            chunk["choices"][0].update(end())
        if counted:
            chunk["usage"] = {"prompt_tokens": 20, "completion_tokens": number, "total_tokens": 20 + number}
        yield chunk
    yield dict(HEAD, object="chat.completion.chunk", choices=[], usage=usage(len(sent)))


def streamed():
    chat = list(chunks())

    async def stream():
        for chunk in chat:
            yield f"data: {json.dumps(chunk)}\n\n"
        yield "data: [DONE]\n\n"

    async def events():
        return [json.loads(event.split("data: ", 1)[1]) async for event in serving.message_stream_converter(stream())]

    return {"chunks": chat, "events": asyncio.run(events())}


for number in range(int(sys.argv[2])):
    print(json.dumps(whole() if number % 2 else streamed(), ensure_ascii=False))
