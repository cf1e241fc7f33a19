"""What a fuzzer cannot guess, and what it must leave alone: ids of things that are there, and of whom it asks as."""

import itertools
import json
import os

import schemathesis

with open(os.environ["SCHEMATHESIS_KNOWN"], encoding="utf-8") as file:
    KNOWN = json.load(file)

FORBIDDEN = set(KNOWN["kept"]) | set(KNOWN["others"])
LEFT_ALONE = set(KNOWN["others"])
turn = itertools.count()
spare_turn = itertools.count()
# changing these may end the session or the tenant that is fuzzed
OWN = ("/users/{id}", "/merchants/{id}", "/resellers/{id}", "/s2s-tokens/{id}")


@schemathesis.serializer("application/x-ndjson")
def ndjson(context, value):
    return value if isinstance(value, (bytes, str)) else json.dumps(value)


def path_value(method, path, name, value):
    """An id that is there in two of three requests; one to lose for what changes or removes it."""
    spares = KNOWN["spares"].get(path, [])
    if value in LEFT_ALONE or (value in FORBIDDEN and method != "GET" and path in OWN):
        value = "00000000-0000-4000-8000-000000000000"
    if next(turn) % 3 == 0:
        return value
    if spares and method == "DELETE":
        # few, and each is lost once: what comes later finds it gone
        return spares[next(spare_turn) % len(spares)] if next(spare_turn) % 5 == 0 else value
    if spares and method != "GET" and path in OWN:
        return spares[-1]
    own = KNOWN["paths"].get(path.split("}")[0] + "}", {})
    return own.get(name, value)


def with_known(value):
    """The same with ids of the tenant in place of every id that names one; others' are never sent."""
    if isinstance(value, dict):
        return {
            key: KNOWN["values"][key] if key in KNOWN["values"] and isinstance(inner, str) else with_known(inner)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [with_known(inner) for inner in value]
    return KNOWN["values"]["merchant_id"] if isinstance(value, str) and value in LEFT_ALONE else value


@schemathesis.hook
def before_call(context, case, kwargs):
    method, path = case.method.upper(), case.operation.path
    if case.path_parameters:
        for name, value in list(case.path_parameters.items()):
            case.path_parameters[name] = path_value(method, path, name, value)
    if next(turn) % 2 == 0 or KNOWN["role"] == "admin":
        if isinstance(case.query, dict):
            case.query = with_known(case.query)
        if isinstance(case.body, (dict, list)):
            case.body = with_known(case.body)
