"""Renders every template of language.jsonl with transformers' own environment and rewrites what is expected.

Needs `pip install transformers jinja2`; made with transformers 5.23 and Jinja2 3.1.6. The corpus beside it is from
GregoryBolshakov/hf-chat-template (MIT/Apache-2.0): templates of their models, each line with its licence.
"""
import datetime
import json
import pathlib

import jinja2
import transformers.utils.chat_template_utils as hf


class Clock(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return datetime.datetime(2024, 7, 4)


hf.datetime = Clock
path = pathlib.Path(__file__).with_name("language.jsonl")
vectors = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
with path.open("w", encoding="utf-8", newline="\n") as out:
    for vector in vectors:
        made = {"template": vector["template"]}
        try:
            made["expected"] = hf._cached_compile_jinja_template(vector["template"]).render(**vector["variables"])
        except Exception as e:
            made["error"] = f"{type(e).__name__}: {e}"
            made["syntax"] = isinstance(e, (jinja2.TemplateSyntaxError, SyntaxError))
        made["variables"] = vector["variables"]
        out.write(json.dumps(made, ensure_ascii=False) + "\n")
