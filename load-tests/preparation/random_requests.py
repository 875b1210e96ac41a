"""Requests at random of the kinds that clients, agents and their libraries send, and some that none should: one JSON
object a line, with the API and the name of a template.

  random_requests.py SEED NUMBER APIS TEMPLATES    (the last two separated by commas)
"""

import json
import random
import sys

WORDS = ["amber", "anchor", "apple", "arrow", "ash", "é", "日本", '"q"', "a\nb", "{x}"]
ABSENT = object()
BILLING = "x-anthropic-billing-header: cc_version=1; cch=%d;"

chance = random.Random(int(sys.argv[1]))


def words():
    return " ".join(chance.choice(WORDS) for _ in range(chance.randint(1, 4)))


def one(*values):
    return chance.choice(values)


def sometimes(target, field, *values, absent=1):
    """Sets a field to one of the values, or leaves it out as often as so many of them are chosen."""
    value = chance.choice([*values, *[ABSENT] * absent])
    if value is not ABSENT:
        target[field] = value


def number():
    number.last += 1
    return number.last


number.last = 0


def schema():
    return one(
        {"type": "object", "properties": {"a": {"type": "integer", "description": words()}}, "required": ["a"]},
        {"type": "object", "properties": {"z": {"type": ["string", "null"], "enum": ["x"], "default": None}},
         "additionalProperties": False, "$schema": "http://json-schema.org/draft-07/schema#"},
        {"properties": {"a": {}}},
        {},
    )


def shuffled(fields):
    items = list(fields.items())
    if chance.random() < 0.3:
        chance.shuffle(items)
    return dict(items)


class Chat:
    """``/v1/chat/completions``"""

    @staticmethod
    def body():
        body = {"messages": [Chat.message(i) for i in range(chance.randint(1, 6))]}
        if chance.random() < 0.45:
            body["tools"] = [Chat.tool() for _ in range(chance.randint(1, 2))]
            named = {"type": "function", "function": {"name": body["tools"][0]["function"]["name"]}}
            sometimes(body, "tool_choice", "auto", "auto", "none", "required", named, absent=2)
            sometimes(body, "parallel_tool_calls", True, False, absent=2)
        sometimes(body, "reasoning_effort", "none", "low", "high", "max", None, absent=8)
        sometimes(body, "chat_template_kwargs", None, {}, {"enable_thinking": True}, {"enable_thinking": False},
                  {"a": 1}, {"reasoning_effort": "low"}, absent=8)
        sometimes(body, "documents", None, [], [{"title": "a", "text": "b"}], absent=12)
        sometimes(body, "response_format", {"type": "text"}, {"type": "json_object"}, absent=12)
        sometimes(body, "thinking", {"type": "enabled"}, {"type": "disabled"}, absent=14)
        if chance.random() < 0.12:
            sometimes(body, "add_generation_prompt", True, False)
            sometimes(body, "continue_final_message", True, False)
        return body

    @staticmethod
    def message(index):
        first = ["system"] * 2 + ["user"] * 3 + ["developer", "assistant"]
        later = ["user"] * 3 + ["assistant"] * 3 + ["tool"] * 2 + ["system", "developer", "other"]
        role = chance.choice(later if index else first)
        message = {"role": role}
        if role == "assistant":
            return Chat.answer(message)
        if role == "other":
            return one(
                {"role": "observation", "content": words(), "x": 1},
                {"role": "user", "content": words(), "tool_calls": []},
                {"role": "user", "content": words(), "metadata": {"a": 1}},
                {"role": "tool", "content": "", "tool_call_id": "x"},
                {"role": "tool", "tool_call_id": "c", "content": [{"type": "tool_reference", "name": "f"}]},
            )
        message["content"] = Chat.content()
        if role == "tool":
            sometimes(message, "tool_call_id", "call_1", "call_2")
            sometimes(message, "name", "f", absent=8)
        elif role == "developer":
            sometimes(message, "tools", None, [], [Chat.developers_tool(), Chat.developers_tool()], absent=3)
        else:
            sometimes(message, "name", "bob", absent=5)
        if role == "system" and chance.random() < 0.1:
            message["content"] = "x-anthropic-billing-header: 1\nrest " + words()
        return message

    @staticmethod
    def answer(message):
        kind = one("text", "text", "calls", "calls", "calls", "both", "empty")
        if kind in ("text", "both"):
            message["content"] = Chat.content()
        if kind in ("calls", "both"):
            message["tool_calls"] = [Chat.call() for _ in range(chance.randint(1, 2))]
        if kind == "calls":
            sometimes(message, "content", None, None, "", [])
        sometimes(message, "reasoning_content", None, words(), "", absent=4)
        sometimes(message, "reasoning", None, words(), "", absent=4)
        sometimes(message, "name", "ann", absent=9)
        sometimes(message, "task", "x", absent=9)
        if chance.random() < 0.15:
            # As clients' libraries write an answer that they had.
            message.update(refusal=None, annotations=None, audio=None, function_call=None)
            message.setdefault("tool_calls", one(None, []))
        return message

    @staticmethod
    def content():
        return one(
            words(), words(), words(), "", " " + words() + "\n",
            [Chat.part() for _ in range(chance.randint(0, 3))],
            [{"type": "text", "text": words()} for _ in range(chance.randint(1, 2))],
        )

    @staticmethod
    def part():
        return one(
            {"type": "text", "text": words()}, {"type": "text", "text": words()}, {"type": "text", "text": ""},
            {"type": "text", "text": words(), "cache_control": {"type": "ephemeral"}},
            {"type": "input_text", "text": words()}, {"type": "output_text", "text": words(), "annotations": []},
            {"type": "refusal", "refusal": words()}, {"type": "thinking", "thinking": words(), "closed": True},
            {"type": "text", "text": words(), "id": 1, "x": None}, {"text": words(), "type": "text", "citations": None},
        )

    @staticmethod
    def call():
        arguments = one('{"a": 1}', '{"b":"x","c":[1,2.50,1e3]}', "{}", "", '{"a":', "[1]", '"s"', "null", "3")
        function = {"name": one("f", "g"), "arguments": arguments}
        call = {"id": "call_%d" % number(), "type": "function", "function": function}
        kind = chance.randrange(20)
        if kind == 0:
            call["index"] = 0
        elif kind == 1:
            call["function"] = {"arguments": arguments, "name": "f"}
        elif kind == 2:
            call["extra_content"] = {"google": {"thought_signature": "x"}}
        elif kind == 3:
            call["function"]["description"] = None
        return call

    @staticmethod
    def tool():
        function = {"name": one("f", "g", "get_weather")}
        sometimes(function, "description", None, words(), words())
        sometimes(function, "parameters", None, schema(), schema(), schema())
        sometimes(function, "strict", None, True, False, absent=3)
        sometimes(function, "defer_loading", True, None, absent=6)
        sometimes(function, "x", 1, absent=8)
        tool = {"type": "function", "function": shuffled(function)}
        sometimes(tool, "defer_loading", True, False, None, absent=6)
        sometimes(tool, "cache_control", {"type": "ephemeral"}, absent=8)
        return shuffled(tool)

    @staticmethod
    def developers_tool():
        function = {"parameters": {"type": "object", "b": 1, "a": 2}, "description": words(), "name": "d",
                    "strict": True}
        for field in ("parameters", "description", "strict"):
            if chance.random() < 0.4:
                del function[field]
        sometimes(function, "x", 1, absent=4)
        tool = {"type": "function", "function": function}
        sometimes(tool, "y", 2, absent=4)
        return tool


class Messages:
    """``/v1/messages``"""

    @staticmethod
    def body():
        body = {"model": "m", "max_tokens": 2048,
                "messages": [Messages.message(i) for i in range(chance.randint(1, 6))]}
        sometimes(body, "system", words(), words(), [Messages.text()], [Messages.text(), Messages.text()],
                  [{"type": "text", "text": BILLING % 3}, Messages.text(False)], "", None, [], absent=2)
        if chance.random() < 0.5:
            body["tools"] = [Messages.tool() for _ in range(chance.randint(1, 2))]
            sometimes(body, "tool_choice", {"type": "auto"}, {"type": "any"}, {"type": "none"},
                      {"type": "tool", "name": body["tools"][0]["name"]},
                      {"type": "auto", "disable_parallel_tool_use": True}, absent=2)
        sometimes(body, "thinking", {"type": "enabled", "budget_tokens": 1024}, {"type": "disabled"},
                  {"type": "adaptive"}, absent=7)
        sometimes(body, "output_config", {"effort": "low"}, {"effort": "max"}, {}, absent=9)
        sometimes(body, "chat_template_kwargs", None, {"enable_thinking": False}, {"a": 1}, absent=9)
        if chance.random() < 0.04:
            reference = {"type": "tool_reference", "name": "f"}
            change = one(
                {"type": "tool_addition", "tool": reference}, {"type": "tool_removal", "tool": reference},
                {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": Messages.tool()}})
            body["messages"].append({"role": "system", "content": [change]})
        return body

    @staticmethod
    def message(index):
        role = one("user", "user", "assistant", "assistant", "assistant") if index else one("user", "user", "assistant")
        text, use, result, thought = Messages.text, Messages.use, Messages.result, Messages.thought
        if index and chance.random() < 0.08:
            return {"role": "system", "content": one(words(), [text()], [text(), text()], BILLING % 1)}
        if role == "user":
            return {"role": role, "content": one(
                words(), words(), "", [text()], [text(), text()], [result()], [result(), result()], [result(), text()],
                [text(), result(), text()], [])}
        return {"role": role, "content": one(
            words(), [text()], [text(), use()], [use()], [use(), use()], [thought(), text()],
            [thought(), text(), use()], [thought(), use()], [thought()], [thought(), thought(), text()],
            [text(), text()], [])}

    @staticmethod
    def text(any_text=True):
        odd = any_text and chance.random() < 0.15
        block = {"type": "text", "text": one("", BILLING % 5) if odd else words()}
        sometimes(block, "cache_control", {"type": "ephemeral"}, absent=3)
        return block

    @staticmethod
    def use():
        arguments = one({"a": 1}, {}, {"b": {"c": [1, 2.5, "x"]}}, {"e": 'é"'})
        return {"type": "tool_use", "id": "toolu_%d" % number(), "name": one("f", "g"), "input": arguments}

    @staticmethod
    def result():
        block = {"type": "tool_result", "tool_use_id": one("toolu_1", "toolu_2")}
        text = Messages.text
        sometimes(block, "content", words(), words(), [text()], [text(), text()], "", None, [],
                  [{"type": "tool_reference", "tool_name": "f"}], [text(), {"type": "tool_reference", "name": "g"}])
        sometimes(block, "is_error", True, False, absent=2)
        return block

    @staticmethod
    def thought():
        if chance.random() < 0.15:
            return {"type": "redacted_thinking", "data": "x"}
        return {"type": "thinking", "thinking": one(words(), words(), words(), ""), "signature": "s"}

    @staticmethod
    def tool():
        tool = {"name": one("f", "g"), "input_schema": schema()}
        sometimes(tool, "description", None, words(), words())
        sometimes(tool, "strict", True, False, None, absent=5)
        sometimes(tool, "defer_loading", True, False, None, absent=5)
        sometimes(tool, "cache_control", {"type": "ephemeral"}, absent=4)
        sometimes(tool, "type", "custom", absent=5)
        return shuffled(tool)


class Responses:
    """``/v1/responses``"""

    @staticmethod
    def body():
        body = {"model": "m", "input": words() if chance.random() < 0.1
                else [Responses.item() for _ in range(chance.randint(1, 5))]}
        sometimes(body, "instructions", None, "", words(), absent=2)
        if chance.random() < 0.5:
            body["tools"] = [Responses.tool() for _ in range(chance.randint(1, 2))]
        sometimes(body, "tool_choice", "auto", "none", "required", absent=3)
        sometimes(body, "reasoning", None, {}, {"effort": "high"}, {"effort": "none"}, {"summary": "auto"}, absent=3)
        sometimes(body, "chat_template_kwargs", None, {"enable_thinking": True}, {"a": 1}, absent=4)
        return body

    @staticmethod
    def parts(kind):
        return [{"type": kind, "text": words()} for _ in range(chance.randint(1, 2))]

    @staticmethod
    def item():
        kind = chance.choice(["user"] * 3 + ["system", "developer"] + ["answer"] * 3 + ["call"] * 3 + ["output"] * 2
                             + ["thought"] * 2 + ["custom", "custom output", "other"])
        parts = Responses.parts
        if kind == "user":
            return one({"role": "user", "content": words()}, {"type": "message", "role": "user", "content": words()},
                       {"type": "message", "role": "user", "content": parts("input_text")})
        if kind in ("system", "developer"):
            return {"role": kind, "content": one(words(), parts("input_text"))}
        if kind == "answer":
            item = {"role": "assistant", "content": one(words(), parts("output_text"))}
            sometimes(item, "type", "message")
            sometimes(item, "status", "completed", "in_progress", "incomplete", absent=2)
            sometimes(item, "id", "msg_1")
            sometimes(item, "phase", None, "commentary", "final_answer", absent=3)
            return item
        if kind == "call":
            item = {"type": "function_call", "call_id": "c%d" % number(), "name": one("f", "g"),
                    "arguments": one('{"a": 1}', '{"b":"x"}', "{}")}
            sometimes(item, "id", "fc_1", None)
            sometimes(item, "status", "completed", None)
            sometimes(item, "namespace", "ns", None, absent=3)
            return item
        if kind == "output":
            item = {"type": "function_call_output", "call_id": "c1",
                    "output": one(words(), words(), parts("input_text"))}
            sometimes(item, "id", "fo_1", None)
            return item
        if kind == "thought":
            item = {"type": "reasoning", "summary": one([], [{"type": "summary_text", "text": words()}])}
            sometimes(item, "content", None, [], [{"type": "reasoning_text", "text": words()}])
            sometimes(item, "id", "rs_1")
            sometimes(item, "encrypted_content", None, "", "xyz", absent=3)
            return item
        if kind == "custom":
            return {"type": "custom_tool_call", "call_id": "c%d" % number(), "name": "patch",
                    "input": one('é "x"', "", "a\nb")}
        if kind == "custom output":
            return {"type": "custom_tool_call_output", "call_id": "c2", "output": one(words(), parts("input_text"))}
        return one({"role": "assistant", "content": []}, {"role": "assistant", "content": words(), "tool_calls": []},
                   {"role": "user", "content": [{"type": "text", "text": words()}]})

    @staticmethod
    def tool():
        kind = one("function", "function", "function", "custom", "namespace")
        if kind == "custom":
            return {"type": "custom", "name": "patch", "description": "patches"}
        if kind == "namespace":
            inner = {"type": "function", "name": "f", "description": "d", "parameters": {"type": "object"},
                     "strict": False}
            return {"type": "namespace", "name": "ns", "description": "space", "tools": [inner]}
        tool = {"type": "function", "name": one("f", "g"), "parameters": one(None, {"type": "object"}, {})}
        sometimes(tool, "description", None, words())
        sometimes(tool, "strict", None, True, False)
        sometimes(tool, "defer_loading", True, None, absent=3)
        return tool


MAKERS = {"chat": Chat.body, "messages": Messages.body, "responses": Responses.body}

if __name__ == "__main__":
    apis, templates = sys.argv[3].split(","), sys.argv[4].split(",")
    for case in range(int(sys.argv[2])):
        api = apis[case % len(apis)]
        request = {"api": api, "case": str(case), "template": one(*templates), "body": MAKERS[api]()}
        print(json.dumps(request, ensure_ascii=False))
