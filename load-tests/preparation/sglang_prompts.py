"""The prompts that SGLang's own code makes of requests, which come from random_requests.py by standard input: the same
lines with the prompt, or with the error that the engine would answer. Templates come first, each a line.

  sglang_prompts.py VERSION TOKENIZER TEMPLATE ...    (the Python files of that version stand first on PYTHONPATH)

Nothing is computed: of the server there are the classes that take requests, on stand-ins for the rest. Its prompts are
tokens; the tokenizer is one of bytes, so that they can be read as the text that they were.
"""

import asyncio
import copy
import functools
import json
import logging
import os
import sys
import types
import warnings
from pathlib import Path
from unittest.mock import MagicMock

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

import clock  # noqa: E402
from transformers import PreTrainedTokenizerFast  # noqa: E402
from transformers.models.auto import configuration_auto  # noqa: E402
from transformers.utils import chat_template_utils  # noqa: E402

version, tokenizer, *templates = sys.argv[1:]


def tolerate_later_library():
    """Registers models that the installed library of models has by now, and finds the sources of kernels, which are
    not Python."""
    mapping = configuration_auto._LazyConfigMapping
    register = mapping.register
    mapping.register = lambda self, key, value, exist_ok=False: register(self, key, value, exist_ok=True)
    import importlib.util

    root = Path(importlib.util.find_spec("sglang").origin).parent
    for package in ("kernels/jit", "jit_kernel"):
        for folder in ("include", "csrc"):
            os.makedirs(root / package / folder, exist_ok=True)


tolerate_later_library()

from openai_harmony import HarmonyEncodingName, load_harmony_encoding  # noqa: E402
from sglang.srt.entrypoints import harmony_utils  # noqa: E402
from sglang.srt.entrypoints.anthropic import serving as anthropic  # noqa: E402
from sglang.srt.entrypoints.anthropic.protocol import AnthropicMessagesRequest  # noqa: E402
from sglang.srt.entrypoints.openai import serving_chat, serving_responses  # noqa: E402
from sglang.srt.entrypoints.openai.protocol import ChatCompletionRequest, ResponsesRequest  # noqa: E402

try:
    from sglang.srt.parser.template_manager import TemplateManager
except ImportError:
    from sglang.srt.managers.template_manager import TemplateManager


# Of a model that may think, of one that always does, and of one with marks of its own.
PARSERS = (None, "qwen3", "deepseek-r1", "kimi")


class Unset:
    """Settings of a server of which nothing was said."""

    def __init__(self, **told):
        self.__dict__.update(told)

    def __getattr__(self, name):
        return None


class Prompt(BaseException):
    """Ends the work on a request when its prompt is made; nothing on the way takes it for a failure."""


SETTINGS = Unset(served_model_name="m", model_path="m", disaggregation_mode="null", trust_request_chat_template=False)
for module in (serving_chat, serving_responses, sys.modules[TemplateManager.__module__]):
    for name in ("get_serving", "get_model", "get_disagg"):
        if hasattr(module, name):
            setattr(module, name, lambda: SETTINGS)


@functools.cache
def harmony():
    return load_harmony_encoding(HarmonyEncodingName.HARMONY_GPT_OSS)


def end(messages):
    raise Prompt(harmony().decode(render(messages)))


render = serving_responses.render_for_completion
serving_responses.render_for_completion = end
clock.stop(harmony_utils)
clock.stop(chat_template_utils)


class Model:
    """One whose tokenizer has a template, and a parser of its thoughts or none; gpt-oss by the name of it."""

    def __init__(self, path, parser):
        self.source = Path(path).read_text()
        SETTINGS.reasoning_parser = parser
        manager = MagicMock()
        manager.tokenizer, manager.processor = PreTrainedTokenizerFast(tokenizer_file=tokenizer), None
        manager.tokenizer.chat_template = self.source
        manager.server_args = SETTINGS
        manager.config_value = lambda name: getattr(SETTINGS, name)
        manager.served_model_name = manager.model_path = "m"
        manager.request_logger.log_requests = False
        config = manager.model_config
        config.is_multimodal = False
        config.context_len = 1 << 20
        config.hf_config = types.SimpleNamespace(
            model_type="gpt_oss" if Path(path).stem == "harmony" else "llama", architectures=["LlamaForCausalLM"],
            to_dict=dict)
        config.get_default_sampling_params.return_value = {}
        found = TemplateManager()
        found.load_chat_template(manager, None, "m")
        self.chats = self.ending(serving_chat.OpenAIServingChat(manager, found))
        self.answers = self.ending(serving_responses.OpenAIServingResponses(manager, found))
        self.conversations = anthropic.AnthropicServing(self.chats)

    @staticmethod
    def ending(serving):
        """A server that is done when a prompt is made."""
        process = serving._process_messages

        def ends(*arguments, **named):
            tokens = process(*arguments, **named).prompt_ids
            raise Prompt(serving.tokenizer_manager.tokenizer.decode(tokens, clean_up_tokenization_spaces=False))

        serving._process_messages = ends
        return serving

    def chat(self, body):
        return self.prompt(self.chats.handle_request, ChatCompletionRequest(**body))

    def messages(self, body):
        return self.prompt(self.conversations.handle_messages, AnthropicMessagesRequest(**body))

    def responses(self, body):
        return self.prompt(self.answers.create_responses, ResponsesRequest(**body))

    def prompt(self, serve, request):
        raw = MagicMock()
        raw.headers = {}
        try:
            refused = asyncio.run(serve(request, raw))
        except Prompt as prompt:
            return prompt.args[0]
        raise ValueError(getattr(refused, "body", refused))


models = {(Path(path).stem, parser): Model(path, parser) for path in templates for parser in PARSERS}
for (name, parser), model in models.items():
    if parser is None:
        print(json.dumps({"template": name, "source": model.source, "special_tokens": {}}))
for number, line in enumerate(sys.stdin):
    request = json.loads(line)
    parser = PARSERS[number // 3 % len(PARSERS)]
    result = dict(request, engine="SGLang", version=version, parser=parser)
    try:
        model = models[request["template"], parser]
        result["prompt"] = getattr(model, request["api"])(copy.deepcopy(request["body"]))
    except Exception as error:
        result["error"] = f"{type(error).__name__}: {error}"[:300]
    print(json.dumps(result, ensure_ascii=False))
