"""Loads texts with Salt's own loader: JSON lines in and out. Each value names its type."""

import json
import sys

import salt.utils.yamlloader


def typed(value):
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return {"bool": value}
    if isinstance(value, int):
        return {"int": str(value)}
    if isinstance(value, float):
        return {"float": repr(value)}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, dict):
        return {"map": [[typed(key), typed(item)] for key, item in value.items()]}
    if isinstance(value, set):
        return {"set": sorted((typed(item) for item in value), key=json.dumps)}
    return [typed(item) for item in value]


for line in sys.stdin:
    try:
        answer = {"value": typed(salt.utils.yamlloader.load(json.loads(line)))}
    except Exception as error:  # pylint: disable=broad-except
        answer = {"error": str(error)}
    print(json.dumps(answer))
