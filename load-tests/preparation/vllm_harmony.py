"""Prompts in the Harmony format, which vLLM makes of conversations with gpt-oss instead of rendering its template."""

import importlib
from pathlib import Path
from unittest.mock import MagicMock

import clock

from openai_harmony import HarmonyEncodingName, load_harmony_encoding  # noqa: E402
from vllm.entrypoints.openai.parser import harmony_utils  # noqa: E402

clock.stop(harmony_utils)
ENCODING = load_harmony_encoding(HarmonyEncodingName.HARMONY_GPT_OSS)
# By versions, the latest first.
CHATS = (
    ("vllm.renderers.online_renderer", "OnlineRenderer"),
    ("vllm.entrypoints.serve.render.serving", "OpenAIServingRender"),
    ("vllm.entrypoints.openai.chat_completion.serving", "OpenAIServingChat"),
)
RESPONSES = (("vllm.entrypoints.openai.responses.serving", "OpenAIServingResponses"),)


def bare(classes, method):
    """An object of the first class that there is and that has a method, with nothing but what the method reads."""
    for module, name in classes:
        try:
            found = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError):
            continue
        if hasattr(found, method):
            server = object.__new__(found)
            for field, value in dict(
                    supports_browsing=False, supports_code_interpreter=False, reasoning_effort_map=None, parser=None,
                    renderer=MagicMock(), model_config=MagicMock(), use_harmony=True, tool_server=None).items():
                try:
                    setattr(server, field, value)
                except AttributeError:
                    pass
            return server
    return None


class Harmony:
    def __init__(self, path):
        # One thing is read of it: whether it takes system messages between others.
        self.source = Path(path).read_text()
        self.chats = bare(CHATS, "_make_request_with_harmony")
        self.responses = bare(RESPONSES, "_construct_input_messages_with_harmony")

    def chat(self, request):
        _, (prompt,) = self.chats._make_request_with_harmony(request, request.tools is not None)
        return ENCODING.decode(prompt["prompt_token_ids"])

    def response(self, request):
        if self.responses:
            messages = self.responses._construct_input_messages_with_harmony(request, None)
        else:
            self.chats.render_responses_harmony_messages = lambda *_, **__: None
            self.chats.model_config.max_model_len = 1 << 20
            rendered = self.chats._render_responses_with_harmony(
                request, previous_messages=None, previous_response_outputs=None, tool_server=None)
            if not hasattr(rendered, "messages"):
                raise ValueError(rendered.error.message)
            messages = rendered.messages
        return ENCODING.decode(harmony_utils.render_for_completion(messages))
