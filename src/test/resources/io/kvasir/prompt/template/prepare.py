"""Makes prepared.jsonl: random requests as versions of vLLM prepare them for a template, and what the template prints.

Runs the engine's own code, of which only the preparation is loaded: python prepare.py DIR with an unpacked source
distribution's vllm folder in DIR/VERSION for each of the versions below. Needs openai, pydantic and transformers.
"""
import copy
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import random
import subprocess
import sys
import types
from typing import *
from unittest.mock import MagicMock

import pydantic
from pydantic import *

VERSIONS = ["0.20.0", "0.22.0", "0.25.0", "0.29.0", "0.31.0", "0.32.0", "0.33.0"]

ROOT = os.environ.get("VLLM", "")
class Mod(types.ModuleType):
    __path__=[]
    def __getattr__(self, n):
        if n.startswith('__'): raise AttributeError(n)
        if self.__name__=='PIL' and n=='Image': v=Mod('PIL.Image')
        elif n=='LazyLoader': v=lambda *a: MagicMock()
        elif n in('Message',): 
            class Message(pydantic.BaseModel):
                harmony_author: int
            v=Message
        elif n=='VLLMValidationError':
            class VLLMValidationError(ValueError):
                def __init__(self,*a,**k): super().__init__(*a)
            v=VLLMValidationError
        elif n.isupper() and len(n) > 2: v=MagicMock(name=n)
        elif n[:1].isupper(): v=type(n,(),{'__class_getitem__':classmethod(lambda c,i:c),'__init__':lambda s,*a,**k:None})
        elif n=='init_logger': v=lambda *_: MagicMock()
        else: v=MagicMock(name=n)
        setattr(self,n,v); return v
class F(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self,name,path,target=None):
        if name.startswith('vllm.renderers.chat_utils.'):
            return importlib.util.spec_from_file_location(name,ROOT+'/'+name.removeprefix('vllm.').replace('.','/')+'.py')
        top=name.split('.')[0]
        if top in('vllm','torch','PIL','openai_harmony','mistral_common','xgrammar','partial_json_parser','msgspec','zmq','cloudpickle','ray','fastapi','regex','prometheus_client','cbor2','blake3','cv2','psutil'):
            return importlib.machinery.ModuleSpec(name,self,is_package=True)
    def create_module(self,spec): return Mod(spec.name)
    def exec_module(self,m): pass
sys.meta_path.insert(0,F())
def load(name,path):
    spec=importlib.util.spec_from_file_location(name,path); m=importlib.util.module_from_spec(spec); sys.modules[name]=m; spec.loader.exec_module(m); return m

if ROOT:
    CU=next(p for p in ('renderers/chat_utils/__init__.py','renderers/chat_utils.py','entrypoints/chat_utils.py')
            if os.path.exists(ROOT+'/'+p))
    cu=load('vllm.'+CU.removesuffix('.py').removesuffix('/__init__').replace('/','.'),ROOT+'/'+CU)
    hf=load('vllm.renderers.hf',ROOT+'/renderers/hf.py')
    import transformers.utils.chat_template_utils as tr
    # protocol's own classes, extracted
    def extract(path, names):
        import ast
        src=open(path).read(); tree=ast.parse(src)
        return "\n".join(("\n".join(ast.unparse(d) and '@'+ast.unparse(d) for d in n.decorator_list)+"\n" if n.decorator_list else "")+ast.get_source_segment(src,n) for n in tree.body if isinstance(n,ast.ClassDef) and n.name in names)
    ns=dict(globals())
    class OpenAIBaseModel(BaseModel): model_config=ConfigDict(extra="allow")
    ns['OpenAIBaseModel']=OpenAIBaseModel
    def find(names):
        for d in ('entrypoints/generate/base/protocol.py','entrypoints/openai/engine/protocol.py','entrypoints/openai/chat_completion/protocol.py'):
            p=ROOT+'/'+d
            if os.path.exists(p): yield extract(p,names)
    for code in find({'FunctionDefinition','ChatCompletionToolsParam'}):
        exec("from __future__ import annotations\n"+code if False else code,ns)
    class Req(OpenAIBaseModel):
        messages: list[cu.ChatCompletionMessageParam]
        tools: Optional[list[ns['ChatCompletionToolsParam']]] = None

    def normalize(body):
        for msg in body.get("messages",[]):
            if not isinstance(msg,dict): continue
            rc=msg.pop("reasoning_content",None)
            if rc is not None and "reasoning" not in msg: msg["reasoning"]=rc
    def run(template, body):
        body=copy.deepcopy(body); normalize(body)
        req=Req.model_validate(body)
        tools=[t.model_dump() for t in req.tools] if req.tools is not None else None
        msgs=req.messages
        for msg in msgs:
            if isinstance(msg,dict):
                tc=msg.get("tool_calls")
                if tc is not None and not isinstance(tc,list): msg["tool_calls"]=list(tc)
        fmt=hf._detect_content_format(template, default="string")
        mc=MagicMock(); mc.enable_prompt_embeds=False; mc.multimodal_config=None
        conv,_,_=cu.parse_chat_messages(msgs, mc, fmt)
        if any(m["role"]=="developer" for m in conv) and hasattr(hf,'_detect_developer_role_support') and not hf._detect_developer_role_support(template):
            conv=hf._convert_developer_to_system(conv); conv=hf._consolidate_system_messages(conv)
        text=tr._cached_compile_jinja_template(template).render(messages=conv,tools=tools,documents=None,add_generation_prompt=True)
        return fmt,text


rand = random.Random(19)
DUMP = "{{ messages|tojson }}{{ tools|tojson }}"
TEMPLATES = [
    DUMP,
    "{% for m in messages %}{% for c in m.content %}{% endfor %}{% endfor %}" + DUMP,
    "{% macro r(c) %}{% for p in c %}{% endfor %}{% endmacro %}{% for m in messages %}{{ r(m.content) }}{% endfor %}" + DUMP,
    "{% macro r(a, c=1) %}{% for p in c %}{% endfor %}{% endmacro %}{% for m in messages %}{{ r(1, c=m['content']|list) }}"
    "{% endfor %}" + DUMP,
    "{% macro r(content) %}{% for p in content %}{% endfor %}{% endmacro %}{{ r('x') }}" + DUMP,
    "{% for m in messages %}{% set content = m.content %}{% for p in content %}{% endfor %}{% endfor %}" + DUMP,
    "{% macro r(c) %}{% set d = c %}{% for p in d %}{% endfor %}{% endmacro %}{% for m in messages %}{{ r(m.content) }}"
    "{% endfor %}" + DUMP,
    "{% set x = 'developer' %}" + DUMP,
    "{% for m in messages %}{% for c in m.content %}{% endfor %}{% endfor %}{# \"developer\" #}" + DUMP,
]


def extras():
    return {key: value for key, value in (("cache_control", {"type": "ephemeral"}), ("index", 1), ("foo", None),
                                          ("task", "t")) if rand.random() < 0.2}


def shuffled(fields):
    items = list(fields.items())
    rand.shuffle(items)
    return dict(items)


def content():
    if rand.random() < 0.5:
        return rand.choice(["", "a", "x\ny", "x-anthropic-billing-header: 1\nrest", "x-anthropic-billing-header: 2"])
    return [rand.choice([
        shuffled({"type": "text", "text": rand.choice(["", "a", "b", "x-anthropic-billing-header: 3"]), **extras()}),
        shuffled({"type": "text", "text": "c", **extras()}),
        {"type": "thinking", "thinking": "t", "closed": True},
        {"type": "refusal", "refusal": "r"}]) for _ in range(rand.randint(0, 3))]


def call(i):
    function = {"name": "f", "arguments": rand.choice(["{\"b\": 1, \"a\": 2}", "", "[1]", "{", "1"]), **extras()}
    return shuffled({"id": f"c{i}", "type": "function", "function": shuffled(function), **extras()})


def message(i):
    role = rand.choice(["system", "system", "user", "user", "assistant", "tool", "developer", "critic"])
    made = {"role": role, "content": content(), **extras()}
    if rand.random() < 0.2:
        made["name"] = "n"
    if role == "assistant":
        if rand.random() < 0.5:
            made["tool_calls"] = [call(k) for k in range(rand.randint(0, 2))]
            made["content"] = rand.choice([None, made["content"]])
        if rand.random() < 0.3:
            made["reasoning_content" if rand.random() < 0.5 else "reasoning"] = "why"
    if role == "tool":
        made["tool_call_id"] = f"c{i}"
    return shuffled(made)


def tool():
    function = {"name": "f", **extras()}
    for key, values in (("description", ["d", None]), ("parameters", [{"type": "object", "properties": {}}, None]),
                        ("strict", [True, False, None]), ("defer_loading", [True, None])):
        if rand.random() < 0.5:
            function[key] = rand.choice(values)
    made = {"type": "function", "function": shuffled(function), **extras()}
    if rand.random() < 0.2:
        made["defer_loading"] = rand.choice([True, False, None])
    if rand.random() < 0.12:
        del made["function"]
    elif rand.random() < 0.12:
        made["function"].pop("name", None)
    elif rand.random() < 0.1:
        made["function"]["parameters"] = rand.choice([[], "x"])
    elif rand.random() < 0.1:
        made["type"] = "custom"
    return shuffled(made)


def request():
    made = {"messages": [message(i) for i in range(rand.randint(1, 5))]}
    if rand.random() < 0.5:
        made["tools"] = [tool() for _ in range(rand.randint(1, 2))]
    return made


def main(directory):
    requests = [{"template": template, "body": request()} for template in TEMPLATES for _ in range(12)]
    lines = "\n".join(json.dumps(each) for each in requests)
    with pathlib.Path(__file__).with_name("prepared.jsonl").open("w", encoding="utf-8", newline="\n") as out:
        for version in VERSIONS:
            made = subprocess.run([sys.executable, __file__], input=lines, capture_output=True, text=True, check=True,
                                  env={**os.environ, "VLLM": directory + "/" + version})
            for line in made.stdout.splitlines():
                out.write(json.dumps({"version": version, **json.loads(line)}, ensure_ascii=False) + "\n")


def answer():
    for line in sys.stdin:
        vector = json.loads(line)
        try:
            vector["expected"] = run(vector["template"], vector["body"])[1]
        except Exception as e:
            vector["error"] = type(e).__name__
        print(json.dumps(vector))


if __name__ == "__main__":
    answer() if ROOT else main(sys.argv[1])
