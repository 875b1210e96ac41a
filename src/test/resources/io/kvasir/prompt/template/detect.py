"""Makes detected.jsonl: random templates, with the content format that versions of vLLM detect in them.

Runs the engine's own code: python detect.py DIR with an unpacked source distribution's vllm folder in DIR/VERSION for
each of the versions below. Needs what prepare.py needs. A template on which a version never ends is left out.
"""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys

import prepare

VERSIONS = ["0.32.0", "0.33.0"]
COUNT = 500

rand = random.Random(33)
VARIABLES = ["rest", "rest", "loop_messages", "messages", "ns", "content"]
MEMBERS = ["ns.rest", "ns.messages", "state.rest"]
MESSAGES = ["m", "m", "m", "message"]


def lists():
    """Something that may be the messages, or a part of them."""
    if rand.random() < 0.05:
        return rand.choice(["namespace(rest=messages)", "[messages]", "messages + []", "messages[0]", "ns['rest']",
                            "ns.rest.rest", "(messages if messages else [])", "dict(rest=messages)", "(messages, rest)"])
    name = rand.choice(["messages", rand.choice(VARIABLES), "ns.rest", rand.choice(MEMBERS)])
    return name + rand.choice(["", "", "", "[1:]", "|list", " is defined", "[1:]|list", "[::-1]"])


def contents():
    message = rand.choice(MESSAGES)
    return rand.choice([f"{message}.content", f"{message}['content']", f"{message}.content|list", "content", "c", "c",
                        f"{message}['content'][1:]", f"{message}.text", f"{message}.content is string", "parts"])


def assignment():
    target = rand.choice([*VARIABLES, *MEMBERS, *MEMBERS]) if rand.random() < 0.95 else "a, b"
    if rand.random() < 0.4:
        target = rand.choice(["ns", "state"])
        value = rand.choice(["namespace(rest=%s)", "namespace(rest=%s)", "namespace(messages=%s, n=0)",
                             "namespace(n=0, rest=%s)|list"])
        return "{%% set %s = %s %%}" % (target, value % lists())
    return "{%% set %s = %s %%}" % (target, lists())


def loop(depth, of_messages):
    target = "k, v" if rand.random() < 0.05 else rand.choice(MESSAGES) if of_messages else "p"
    return "{%% for %s in %s %%}%s{%% endfor %%}" % (target, lists() if of_messages else contents(), body(depth))


def macro(depth):
    parameters = rand.choice(["c", "content", "a, c", "a, content=none", "parts"])
    return "{%% macro %s(%s) %%}%s{%% endmacro %%}" % (rand.choice("rs"), parameters, body(depth))


def call():
    arguments = rand.choice(["%s", "1, %s", "c=%s", "content=%s", "x, c=%s", "%s, 1"]) % contents()
    return "{{ %s(%s) }}" % (rand.choice("rs"), arguments)


def body(depth):
    made = []
    for _ in range(rand.randint(0, 2) if depth else 0):
        kind = rand.random()
        made.append(assignment() if kind < 0.25 else loop(depth - 1, rand.random() < 0.2) if kind < 0.75 else call() if kind < 0.9
                    else macro(depth - 1) if kind < 0.95 else "{%% if %s %%}%s{%% endif %%}" % (lists(), body(depth - 1)))
    return "".join(made)


def template():
    first = rand.choice(["", "{% set ns = namespace(rest=messages) %}", "{% set rest = messages %}", "{% set ns.rest = messages %}"])
    made = [rand.choice([assignment, assignment, lambda: macro(2)])() for _ in range(rand.randint(0, 2))]
    made += [loop(2, rand.random() < 0.8) if rand.random() < 0.8 else call() for _ in range(rand.randint(1, 2))]
    return first + "".join(made)


def main(directory):
    templates = [template() for _ in range(COUNT)]
    lines = "\n".join(json.dumps(each) for each in templates)
    formats = []
    for version in VERSIONS:
        made = subprocess.run([sys.executable, __file__], input=lines, capture_output=True, text=True, check=True,
                              env={**os.environ, "VLLM": directory + "/" + version})
        formats.append(made.stdout.split())
    with pathlib.Path(__file__).with_name("detected.jsonl").open("w", encoding="utf-8", newline="\n") as out:
        for source, *found in zip(templates, *formats, strict=True):
            for version, detected in zip(VERSIONS, found, strict=True):
                if detected != "endless":
                    out.write(json.dumps({"version": version, "template": source, "format": detected}) + "\n")


class Endless(BaseException):
    pass


def stop(*_):
    raise Endless


def answer():
    signal.signal(signal.SIGALRM, stop)
    for line in sys.stdin:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        try:
            print(prepare.hf._detect_content_format.__wrapped__(json.loads(line), default="string"))
        except Endless:
            print("endless")
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)


if __name__ == "__main__":
    answer() if prepare.ROOT else main(sys.argv[1])
