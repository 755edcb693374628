"""Loads texts with Salt's own loader, through each of its doors: JSON lines in and out.

Each value names its type.
"""

import io
import json
import logging
import os
import sys
import tempfile

# Before the loader: the other way round, Salt's modules find each other half made.
import salt.utils.yaml  # isort: skip
import salt.config
import salt.renderers.yaml
import salt.utils.yamlloader
import yaml

logging.disable(logging.CRITICAL)
salt.renderers.yaml.__opts__ = {}
LOADER = salt.utils.yamlloader.SaltYamlSafeLoader
FILE = "/etc/salt/master"


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
    if isinstance(value, yaml.Node):
        raise TypeError("a node is no value")
    return [typed(item) for item in value]


def sls(text):
    if not text.strip():  # salt/template.py compile_template
        return {}
    # What the renderer sets stays with the class, for all that the process loads from then on.
    constructors = dict(LOADER.yaml_constructors)
    try:
        return salt.renderers.yaml.render(io.StringIO(text, newline=""))
    finally:
        LOADER.yaml_constructors = constructors


def conf(text):
    with open(PATH, "w", encoding="utf-8", newline="") as file:
        file.write(text)
    return salt.config._read_conf_file(PATH)


def answer(load, text):
    try:
        return {"value": typed(load(text))}
    except Exception as error:  # pylint: disable=broad-except
        return {"error": str(error).replace(PATH, FILE)}


with tempfile.TemporaryDirectory(prefix="brine-yaml-") as directory:
    PATH = os.path.join(directory, "master")
    DOORS = {"load": salt.utils.yaml.safe_load, "sls": sls, "conf": conf}
    for line in sys.stdin:
        given = json.loads(line)
        print(json.dumps({name: answer(load, given) for name, load in DOORS.items()}))
