"""What the modules of the site's Salt do for a master: each use by Salt's own loaders."""

import contextlib
import copy
import functools
import inspect
import io
import logging
import os
import re
import sys
import traceback

import salt
import salt.config
import salt.exceptions
import salt.loader
import salt.minion
import salt.payload
import salt.pillar
import salt.state
import salt.utils.args
import salt.utils.state
import salt.version

SALT_DIR = os.path.dirname(os.path.realpath(salt.__file__)) + os.sep
FILES_MAX = 5_000


class UnknownName(Exception):
    """Salt has no module or function of this name here."""


class Progress:
    """What runners know as __jid_event__."""

    def __init__(self, fire):
        self.fire = fire

    def fire_event(self, data, tag):
        self.fire(tag, data)
        return True


class Site:
    """The site's Salt with the options of the master's file."""

    def __init__(self, config):
        self.opts = site_options(config)
        self.version = salt.version.__version__
        self.compiler = None
        self.returners = None
        set_log_level(self.opts.get("log_level"))
        unmask()

    def options(self, **more):
        """A copy of the options that a loader may change."""
        opts = copy.deepcopy(self.opts)
        opts.update(more)
        return opts

    def operations(self, use):
        """The calls that a class of uses has."""
        return {
            "runner": {"functions": self.functions, "run": self.run},
            "pillar": {
                "external": self.external,
                "knows": self.knows,
                "function": self.function,
                "top": self.top,
            },
            "render": {"render": self.render},
            "output": {"has": self.has_output, "output": self.output},
            "return": {"deliver": self.deliver, "returner": self.returner},
        }[use]

    @staticmethod
    def dumps(value):
        return salt.payload.dumps(value, use_bin_type=True)

    @staticmethod
    def loads(body):
        return salt.payload.loads(body, encoding="utf-8")

    def stamp(self):
        """Changes when a file in a directory of the site's modules does."""
        lists = [v for k, v in self.opts.items() if k.endswith("_dirs") and isinstance(v, list)]
        dirs = [path for paths in lists for path in paths if isinstance(path, str)]
        found = []
        for top in [self.opts.get("extension_modules"), *dirs]:
            for here, _, names in os.walk(top or os.devnull):
                for name in names:
                    if name.endswith(".pyc") or len(found) >= FILES_MAX:
                        continue
                    found.append(facts(os.path.join(here, name)))
        return sorted(found)

    # Runners and wheels.

    def loader(self, kind, context):
        opts = self.options()
        if kind == "wheel":
            return salt.loader.wheels(opts, context=context)
        utils = salt.loader.utils(opts)
        return salt.loader.runner(opts, utils=utils, context=context)

    def functions(self, given, event):
        """Documentation by name, of functions that are not Salt's own."""
        return {kind: self.docs(kind) for kind in ("runner", "wheel")}

    def docs(self, kind):
        loader = self.loader(kind, {})
        names = [name for name, (path, *_) in loader.file_mapping.items() if is_of_site(path)]
        docs = {}
        for name in sorted(names):
            before = set(loader._dict)
            loader._load_module(name)
            for fun in sorted(set(loader._dict) - before):
                docs[fun] = inspect.getdoc(loader._dict[fun]) or ""
        return docs

    def run(self, given, event):
        """Calls a runner or wheel function as RunnerClient does, without its events."""
        kind, fun, jid = given["kind"], given["fun"], given["jid"]
        prefix = "run" if kind == "runner" else "wheel"
        known = {
            "__jid__": jid,
            "__user__": given["user"],
            "__tag__": "salt/%s/%s" % (prefix, jid),
            "__jid_event__": Progress(event),
        }
        context = {}
        loader = self.loader(kind, context)
        give_to_modules(loader, known)
        if fun not in loader:
            raise UnknownName(fun)
        called = loader[fun]
        # These were judged: they reach the function as they are. Salt would read keywords out of
        # texts and maps here once more.
        args, kwargs = given["args"], given["kwargs"]
        spec = salt.utils.args.get_function_argspec(called)
        if not spec.keywords and not kwargs.keys() <= set(spec.args):
            return {"value": {fun: inspect.getdoc(called) or ""}, "success": True}
        return outcome(kind, fun, called, args, kwargs, context)

    # Pillars.

    def minion(self, given):
        """Salt's pillar compiler for a minion, the same for all calls of one pillar."""
        if self.compiler is None or self.compiler[0] != given["pillar_run"]:
            asked = given["minion"]
            made = salt.pillar.Pillar(
                self.options(),
                asked["grains"],
                asked["id"],
                asked["saltenv"],
                pillarenv=asked["pillarenv"],
            )
            self.compiler = (given["pillar_run"], made)
        made = self.compiler[1]
        for loader in (made.functions, made.ext_pillars._dict, made.rend._dict):
            loader.pack["__pillar__"] = given["pillar"]
        return made

    def external(self, given, event):
        compiler = self.minion(given)
        name = given["name"]
        if name not in compiler.ext_pillars:
            raise UnknownName(name)
        return compiler._external_pillar_data(given["pillar"], given["args"], name)

    def knows(self, given, event):
        return given["fun"] in self.minion(given).functions

    def function(self, given, event):
        functions = self.minion(given).functions
        if given["fun"] not in functions:
            raise UnknownName(given["fun"])
        return functions[given["fun"]](*given["args"], **given["kwargs"])

    def top(self, given, event):
        tops = salt.loader.tops(self.options())
        name, grains = given["name"], given["grains"]
        if name not in tops:
            raise UnknownName(name)
        return tops[name](opts={"id": given["id"], "grains": grains}, grains=grains)

    def render(self, given, event):
        """One step of a pipe of renderers, as salt.template.compile_template makes it."""
        renderers = self.minion(given).rend
        if given["name"] not in renderers:
            raise UnknownName(given["name"])
        kwargs = dict(renderers=renderers, tmplpath=given["path"], _pillar_rend=True)
        kwargs.update(given["defaults"])
        if given["argline"]:
            kwargs["argline"] = given["argline"]
        source = given["input"]
        template = io.StringIO(source) if isinstance(source, str) else source
        with pillar_at_hand(given["pillar"]):
            made = renderers[given["name"]](template, given["saltenv"], given["sls"], **kwargs)
        return made.read() if hasattr(made, "read") else made

    # Outputters and returners.

    def outputters(self, options):
        return salt.loader.outputters(self.options(**options))

    def has_output(self, given, event):
        return given["name"] in self.outputters({})

    def output(self, given, event):
        show = self.outputters(given["options"])[given["name"]]
        keywords = salt.utils.args.get_function_argspec(show).keywords
        more = {"_retcode": given["retcode"]} if keywords else {}
        return show(given["data"], **more)

    def deliver(self, given, event):
        """Hands events to a returner of event_return."""
        self.returner_of(given["returner"] + ".event_return")(given["events"])
        return True

    def returner(self, given, event):
        """Hands the result of a job of the master's schedule to a returner."""
        self.returner_of(given["returner"] + ".returner")(given["load"])
        return True

    def returner_of(self, name):
        if self.returners is None:
            opts = self.options(file_client="local")
            self.returners = salt.minion.MasterMinion(opts).returners
        if name not in self.returners:
            raise UnknownName(name)
        return self.returners[name]


@contextlib.contextmanager
def pillar_at_hand(pillar):
    """Keeps Salt's states from compiling the pillar of which a file is just being rendered.

    The renderer stateconf makes a State to look for what is wrong in its data. That would compile
    the pillar, with the same file in it, and so on without end.
    """
    gather = salt.state.State._gather_pillar
    salt.state.State._gather_pillar = lambda state: pillar
    try:
        yield
    finally:
        salt.state.State._gather_pillar = gather


def site_options(config):
    """The options of the master's file, as modules of the site get them."""
    opts = salt.config.master_config(config)
    # The addresses and passwords of the services are not for modules.
    opts.pop("brine", None)
    opts["sock_dir"] = own_sockets(opts["sock_dir"])
    return opts


def own_sockets(sock_dir):
    """The event sockets for the release of this Salt.

    Those in sock_dir itself are for the Salt of the host, which may be another one and read them
    otherwise.
    """
    found = re.match(r"(\d+)(?:\.(\d+))?", salt.version.__version__)
    major, minor = (int(part or 0) for part in found.groups()) if found else (3008, 0)
    name = "bare"
    if major == 3007:
        name = "3007"
    elif major == 3006 and minor >= 26:
        name = "prefixed"
    own = os.path.join(sock_dir, name)
    return own if os.path.isdir(own) else sock_dir


def outcome(kind, fun, called, args, kwargs, context):
    """The result of a function with its success, in the words of salt.client.mixins."""
    try:
        try:
            value = called(*args, **kwargs)
        except TypeError as exc:
            text = "\nPassed invalid arguments: {}\n\nUsage:\n{}"
            value = text.format(exc, called.__doc__)
    except MemoryError:
        raise
    except salt.exceptions.NotImplemented as exc:
        return {"value": str(exc), "success": False, "retcode": 1}
    except (Exception, SystemExit):
        trace = traceback.format_exc()
        text = "Exception occurred in {} {}: {}".format(kind, fun, trace)
        return {"value": text, "success": False, "retcode": 1}
    retcode = context.get("retcode", 0)
    success = retcode == 0
    if isinstance(value, dict) and "data" in value:
        success = bool(salt.utils.state.check_result(value["data"]))
    return {"value": value, "success": success, "retcode": retcode}


def give_to_modules(loader, known):
    """Puts names into the globals of each module as it is loaded."""
    load = loader._load_module

    @functools.wraps(load)
    def load_and_give(name):
        before = set(loader._dict)
        done = load(name)
        for fun in set(loader._dict) - before:
            getattr(loader._dict[fun], "__globals__", {}).update(known)
        return done

    loader._load_module = load_and_give


def is_of_site(path):
    return not os.path.realpath(path).startswith(SALT_DIR)


def facts(path):
    try:
        found = os.stat(path)
    except OSError:
        return (path, 0, 0)
    return (path, found.st_mtime_ns, found.st_size)


def set_log_level(name):
    """Sends Salt's log to stderr, which the master's process reads."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("[%(levelname)s] %(name)s: %(message)s"))
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(handler)
    level = logging.getLevelName(str(name or "warning").upper())
    # Below `info` the lines of the loader alone are thousands.
    root.setLevel(max(level, logging.INFO) if isinstance(level, int) else logging.WARNING)


def unmask():
    """Salt 3008 hides pillar values from output; what is made here is no output."""
    try:
        from salt.utils.secret import mask_pillar
    except ImportError:
        return
    mask_pillar.set(False)
