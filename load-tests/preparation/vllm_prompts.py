"""The prompts that vLLM's own code makes of requests, which come from random_requests.py by standard input: the same
lines with the prompt, or with the error that the engine would answer. Templates come first, each a line.

  vllm_prompts.py VERSION TOKENIZER TEMPLATE ...    (the Python files of that version stand first on PYTHONPATH)

Of the template "harmony" the model is gpt-oss, whose prompts are in the format of that name.

Nothing is computed: a model's configuration is a stand-in, and its tokenizer, which is not used, any.
"""

import copy
import inspect
import json
import logging
import sys
import warnings
from pathlib import Path
from unittest.mock import MagicMock

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

import clock  # noqa: E402
from transformers import PreTrainedTokenizerFast  # noqa: E402
from transformers.utils import chat_template_utils  # noqa: E402
from vllm.entrypoints.anthropic.protocol import AnthropicMessagesRequest  # noqa: E402
from vllm.entrypoints.anthropic.serving import AnthropicServingMessages  # noqa: E402
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest  # noqa: E402
from vllm.entrypoints.openai.responses import utils as responses  # noqa: E402
from vllm.entrypoints.openai.responses.protocol import ResponsesRequest  # noqa: E402
from vllm.renderers import hf  # noqa: E402

try:
    from vllm.renderers.chat_utils import parse_chat_messages
except ImportError:
    from vllm.entrypoints.chat_utils import parse_chat_messages

EFFORTS = ("low", "medium", "high", "xhigh", "max")
# What versions before 0.27 show of a function of /v1/responses are the fields of the client library that is installed:
# these came later, and what it shows of other tools cannot be compared.
LATER_FIELDS = ("allowed_callers", "async_", "output_schema")

version, tokenizer, *templates = sys.argv[1:]

clock.stop(chat_template_utils)
config = MagicMock()
config.allowed_local_media_path = ""
config.allowed_media_domains = None
config.enable_prompt_embeds = False
config.multimodal_config = None
config.hf_config.model_type = "llama"
# It would look for a processor's template, on the network.
hf._try_get_processor_chat_template = lambda *_, **__: None


def known(function, **arguments):
    """Calls a function with those arguments that it has in this version."""
    parameters = inspect.signature(function).parameters
    return function(**{name: value for name, value in arguments.items() if name in parameters})


class Template:
    """What a model's tokenizer has; it is given prepared conversations."""

    def __init__(self, path):
        self.source = Path(path).read_text()
        self.tokenizer = PreTrainedTokenizerFast(tokenizer_file=tokenizer)
        self.tokenizer.chat_template = self.source
        # By which what is found out of a template is remembered.
        self.tokenizer.name_or_path = path

    def chat(self, request):
        tools = None if request.tools is None else [tool.model_dump() for tool in request.tools]
        return self.prompt(request, request.messages, tools)

    def response(self, request):
        given = request.input if isinstance(request.input, str) else list(request.input)
        messages = responses.construct_input_messages(request_instructions=request.instructions, request_input=given)
        tools = responses.construct_tool_dicts(request.tools, request.tool_choice)
        if tuple(map(int, version.split(".")[:2])) < (0, 27):
            for tool in tools or []:
                if tool["function"]["type"] != "function":
                    raise NotImplementedError("depends on the client library")
                for field in LATER_FIELDS:
                    tool["function"].pop(field, None)
        return self.prompt(request, messages, tools)

    def prompt(self, request, messages, tools):
        params = request.build_chat_params(None, "auto").with_defaults({"tools": tools, "tokenize": False})
        content_format = known(
            hf.resolve_chat_template_content_format, chat_template=params.chat_template,
            tools=params.chat_template_kwargs.get("tools"), given_format=params.chat_template_content_format,
            tokenizer=self.tokenizer, model_config=config)
        conversation = parse_chat_messages(messages, config, content_format=content_format)[0]
        return hf.safe_apply_chat_template(
            config, self.tokenizer, conversation, **params.get_apply_chat_template_kwargs())


class Model:
    """One of which a server takes requests by its APIs."""

    def __init__(self, format):
        self.format = format
        detect = getattr(AnthropicServingMessages, "_detect_merge_inline_system", None)
        # Until it asked the templates themselves, it knew none but that of its command line.
        by_template = hasattr(AnthropicServingMessages, "_should_merge_inline_system")
        self.merges_system = detect(format.source if by_template else None) if detect else False
        self.disabled_effort = self.find_disabled_effort()

    def find_disabled_effort(self):
        none = self.probe("none")
        return "low" if none is None or any(self.probe(effort) == none for effort in EFFORTS) else "none"

    def probe(self, effort):
        try:
            return self.chat({"messages": [{"role": "user", "content": "Hi"}], "reasoning_effort": effort})
        except Exception:
            return None

    def chat(self, body):
        return self.format.chat(ChatCompletionRequest(**body))

    def messages(self, body):
        serving = AnthropicServingMessages
        convert = getattr(serving, "to_chat_completion_request", None) or serving._convert_anthropic_to_openai_request
        return self.format.chat(known(
            convert, anthropic_request=AnthropicMessagesRequest(**body), merge_inline_system=self.merges_system,
            disabled_thinking_effort=self.disabled_effort))

    def responses(self, body):
        return self.format.response(ResponsesRequest(**body))


def model(path):
    if Path(path).stem == "harmony":
        from vllm_harmony import Harmony

        return Model(Harmony(path))
    return Model(Template(path))


models = {Path(path).stem: model(path) for path in templates}
for name, made in models.items():
    print(json.dumps({"template": name, "source": made.format.source, "special_tokens": {}}))
for line in sys.stdin:
    request = json.loads(line)
    result = dict(request, engine="vLLM", version=version)
    try:
        result["prompt"] = getattr(models[request["template"]], request["api"])(copy.deepcopy(request["body"]))
    except Exception as error:
        result["error"] = f"{type(error).__name__}: {error}"[:300]
    print(json.dumps(result, ensure_ascii=False))
