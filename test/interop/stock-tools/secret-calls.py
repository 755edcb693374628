"""Calls by Salt's Python clients with a secret in each field that takes one.

Reads the configuration and the secrets as JSON from stdin, prints what came of each call.
"""

import json
import sys

import salt.auth
import salt.client
import salt.config
import salt.netapi
import salt.runner
import salt.wheel

given = json.load(sys.stdin)
opts = salt.config.master_config(given["config"] + "/master")
opts["quiet"] = True
outcomes = {}


def call(name, run):
    try:
        outcomes[name] = run()
    except Exception as error:  # pylint: disable=broad-except
        outcomes[name] = {"error": f"{type(error).__name__}: {error}"}


LOGIN = {"eauth": "file", "username": given["user"], "password": given["password"]}
WRONG = {**LOGIN, "password": given["wrong"]}
TOKEN = {"token": given["token"], "eauth": "file"}
KEY = {"key": given["key"], "user": given["local_user"]}
PLAIN = {"eauth": "file", "username": given["plain_user"], "password": given["plain_password"]}

local = salt.client.LocalClient(mopts=opts)
for name, who in {"login": LOGIN, "wrong": WRONG, "token": TOKEN}.items():
    call(f"local {name}", lambda: local.cmd("fast-1", "test.ping", timeout=20, **who))
    call(f"local job {name}", lambda: local.run_job("fast-1", "test.ping", **who))
call("local key", lambda: local.cmd("fast-1", "test.ping", timeout=20))
call("local unknown", lambda: local.cmd("fast-1", "no.such", timeout=20, **LOGIN))

runner = salt.runner.RunnerClient(opts)
wheel = salt.wheel.WheelClient(opts)
for name, who in {"login": LOGIN, "wrong": WRONG, "token": TOKEN, "key": KEY}.items():
    call(f"runner {name}", lambda: runner.cmd_sync({"fun": "test.arg", "a": 1, **who}))
    call(f"runner async {name}", lambda: runner.cmd_async({"fun": "test.arg", **who}))
    call(f"wheel {name}", lambda: wheel.cmd_sync({"fun": "key.list_all", **who}))
    call(f"wheel unknown {name}", lambda: wheel.cmd_sync({"fun": "no.such", **who}))
    call(
        f"token by runner {name}",
        lambda: runner.cmd_sync({"fun": "auth.mk_token", "kwarg": dict(PLAIN), **who}),
    )
call("wheel local", lambda: wheel.cmd("key.list_all"))
call("runner local", lambda: runner.cmd("test.arg", ["x"]))
call("token local", lambda: runner.cmd("auth.mk_token", kwarg=dict(PLAIN)))
call("token of master", lambda: salt.auth.Resolver(opts).mk_token(dict(LOGIN)))
call("token refused", lambda: salt.auth.Resolver(opts).mk_token(dict(WRONG)))
call("token asked", lambda: salt.auth.Resolver(opts).get_token(given["token"]))
call("key made", lambda: wheel.cmd_sync({"fun": "key.gen", "id_": "made", **LOGIN}))
call("key made locally", lambda: wheel.cmd("key.gen", ["made"]))

api = salt.netapi.NetapiClient(opts)
for client in ("local", "local_async", "runner", "wheel"):
    fun = {"runner": "test.arg", "wheel": "key.list_all"}.get(client, "test.ping")
    low = {"client": client, "fun": fun, "tgt": "fast-1"}
    if client in ("runner", "wheel"):
        low.pop("tgt")
    call(f"api {client} login", lambda: api.run({**low, **LOGIN}))
    call(f"api {client} token", lambda: api.run({**low, **TOKEN}))

print(json.dumps(outcomes, default=repr))
