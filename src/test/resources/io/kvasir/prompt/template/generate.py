"""Makes generated.jsonl: random templates of names in nested scopes, of integers, of dict keys and of formats.

What each renders to is Jinja2's own answer, as in regenerate.py, whose environment this uses: run it from this folder.
"""
import json
import pathlib
import random

import transformers.utils.chat_template_utils as hf

rand = random.Random(20)
NAMES = ["x", "y", "tools", "m"]


def names(depth):
    """Statements that read and assign a few names in scopes inside each other."""
    out = []
    for _ in range(rand.randint(1, 3)):
        name, other = rand.choice(NAMES), rand.choice(NAMES)
        if not depth:
            out.append(rand.choice(["{{ " + name + " }};", "{% set " + name + " = " + other + " %}"]))
            continue
        inner = names(depth - 1)
        out.append(rand.choice([
            "{{ " + name + " }};",
            "{{ " + name + " }};",
            "{% set " + name + " = " + rand.choice(["1", "none", other, "[" + other + "]", name]) + " %}",
            "{% set " + name + " = 2 %}",
            "{% for " + name + " in [1, 2] %}" + inner + "{% endfor %}",
            "{% for i in [1, 2] %}" + inner + rand.choice(["", "{% break %}", "{% continue %}"])
            + "{% else %}" + names(0) + "{% endfor %}",
            "{% for i in [1, 2] if " + name + " %}" + inner + "{% else %}E{% endfor %}",
            "{% if " + name + " %}" + inner + "{% endif %}",
            "{% if " + name + " %}" + inner + "{% else %}" + names(0) + "{% endif %}",
            "{% if " + name + " %}" + inner + "{% elif " + other + " %}" + names(0) + "{% else %}" + names(0) + "{% endif %}",
            "{% macro f(" + name + ") %}" + inner + "{% endmacro %}{{ f() }}{{ f(3) }}",
            "{% macro g(" + name + "=" + other + ") %}" + inner + "{% endmacro %}{{ g() }}",
            "{% macro h() %}" + inner + "{% endmacro %}" + names(0) + "{{ h() }}",
            "{% with " + name + " = " + other + " %}" + inner + "{% endwith %}",
            "{% set " + name + " %}" + inner + "{% endset %}",
            "{% filter upper %}" + inner + "{% endfilter %}",
            "{% generation %}" + inner + "{% endgeneration %}",
            "{% autoescape false %}" + inner + "{% endautoescape %}",
            "{% macro k() %}{{ caller(4) }}{% endmacro %}{% call(" + name + ") k() %}" + inner + "{% endcall %}",
        ]))
    return "".join(out)


def number():
    return rand.choice(["0", "1", "true", "-1", "2", "7", "-13", "2.5", "-0.75", "1e10", "9007199254740993",
                        "9223372036854775807", "-9223372036854775808", "10**19", "-(10**25)", "3**70", "1e22", "0.1"])


def integers():
    value = number()
    for _ in range(rand.randint(1, 4)):
        value = "(" + value + " " + rand.choice(["+", "-", "*", "//", "%", "/", "==", "<", ">="]) + " " + number() + ")"
    return "{{ " + rand.choice(["%s", "%s|int", "%s|abs", "%s|round", "-%s", "%s|string|length", "[%s]"]) % value + " }}"


def key():
    return rand.choice(["1", "1.0", "true", "0", "false", "-0.0", "'1'", "none", "2**64", "2.0**64", "(1, true)",
                        "(true, 1.0)", "1.5", "(1, (0, 2))", "(true, (false, 2.0))"])


def keys():
    dict_ = "{" + ", ".join(key() + ": " + str(i) for i in range(rand.randint(1, 5))) + "}"
    return "{{ " + rand.choice([dict_, dict_ + "[" + key() + "]", key() + " in " + dict_, dict_ + ".get(" + key() + ")",
                                "[" + ", ".join(key() for _ in range(4)) + "]|unique|list",
                                dict_ + " == " + dict_]) + " }}"


def formats():
    value = rand.choice(["'abc'", "12", "-3", "2.5", "10**21", "true", "'é😀'"])
    spec = (rand.choice(["", "<", ">", "^", "*^", "0"]) + rand.choice(["", "7", "{w}", "{}"])
            + rand.choice(["", ".2", ".{p}"]) + rand.choice(["", "", "s", "d", "f", "x", "e"]))
    return "{{ '[{:" + spec + "}]'.format(" + value + ", 6, w=8, p=3) }}"


if __name__ == "__main__":
    seen = set()
    with pathlib.Path(__file__).with_name("generated.jsonl").open("w", encoding="utf-8", newline="\n") as out:
        for make, count in ((lambda: names(2), 300), (integers, 150), (keys, 150), (formats, 100)):
            while count:
                template = make()
                if template in seen or len(template) > 400:
                    continue
                seen.add(template)
                vector = {"template": template, "variables": {"tools": [7], "m": "M"}}
                try:
                    vector["expected"] = hf._cached_compile_jinja_template(template).render(**vector["variables"])
                except Exception as e:
                    vector["error"] = f"{type(e).__name__}: {e}"
                    vector["syntax"] = False
                out.write(json.dumps(vector, ensure_ascii=False) + "\n")
                count -= 1
