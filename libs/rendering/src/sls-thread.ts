import { setPriority } from 'node:os';
import { PyFunction, str } from '@brine/jinja';
import {
  callStateFunction,
  type PillarFiles,
  type PillarPorts,
  RenderError,
  renderStateFile,
  type StateFileContext,
} from '@brine/pillar';
import { BlockingCalls, type BlockingEnd } from '@brine/python-host';
import {
  listOf,
  mapIn,
  mapOf,
  pack,
  type SaltMap,
  type SaltValue,
  textOf,
  unpackMap,
} from '@brine/wire';
import { hostFilters } from './filters/host-filters.ts';
import { hostFunctions } from './host-functions.ts';
import { PillarModules } from './pillar-modules.ts';
import { placeBelow } from './place-below.ts';
import { FILE, RUNNER } from './sls-questions.ts';
import { decryptAll } from './sources/gpg.ts';
import { type PillarThreadData, threadStart } from './thread-start.ts';

/** One SLS file to render, or a function to call. */
export interface SlsTask {
  /**
   * msgpack of `{id, grains, saltenv, pillarenv, override, pillar}` with `{sls, path, defaults}` of
   * a file, where `defaults` are more names for its template, or `{fun, args, kwargs}`.
   */
  readonly asked: Uint8Array;
  /** The way to the file server and to runners. */
  readonly way: BlockingEnd;
  /** The way leads to modules in Python too. */
  readonly hasPython: boolean;
}

/** msgpack of `{value}`, or of `{error}` with Salt's text; and the lines for the log. */
export interface SlsResult {
  readonly answer: Uint8Array;
  readonly log: readonly string[];
}

/** Longer than any render may take: the thread is ended before. */
const WAIT_MS = 60_000;

const { data, options: whole } = threadStart();
const options = { ...whole, extPillar: [] };

const OUTSIDE = {
  now: () => Date.now(),
  random: () => Math.random(),
  filters: hostFilters(options.opts),
};
/** What went wrong when the thread began; goes to the log with its first result. */
let trouble = becomeNice(data.niceness);

/**
 * Renders a file of states in a worker thread. Files come from the worker, because those of git are
 * found asynchronously; the thread stands still until it has them.
 *
 * @public the thread pool calls it by its name
 */
export function runSlsTask({ asked: packed, way, hasPython }: SlsTask): SlsResult {
  const asked = unpackMap(Buffer.from(packed));
  const log: string[] = trouble === undefined ? [] : [trouble];
  trouble = undefined;
  const calls = new BlockingCalls(way, WAIT_MS);
  const minion = {
    id: textOf(asked, 'id') ?? '',
    grains: mapIn(asked, 'grains') ?? new Map(),
    saltenv: textOf(asked, 'saltenv') ?? null,
    pillarenv: textOf(asked, 'pillarenv') ?? null,
    override: mapIn(asked, 'override') ?? new Map(),
    ext: null,
  };
  const ports: PillarPorts = {
    files: servedFiles(calls, data.fileRoots),
    outside: OUTSIDE,
    functions: () => new Map([...hostFunctions(), ...masterFunctions(calls, minion.saltenv)]),
    decrypt: (value, mayOpen) => decryptAll(value, data.gpg, mayOpen),
    external: () => undefined,
    python: hasPython ? new PillarModules(way, minion) : undefined,
    log: (level, text) => void log.push(`${level}: ${text}`),
  };
  const context = { ports, options, minion, pillar: mapIn(asked, 'pillar') ?? new Map() };
  return { answer: pack(answerTo(asked, context)), log };
}

/** Sets the niceness of this thread. On Linux that of the process stays. */
function becomeNice(niceness: number | undefined): string | undefined {
  if (niceness === undefined) return undefined;
  try {
    setPriority(0, niceness);
    return undefined;
  } catch (error) {
    return `niceness ${niceness} is not in force: ${(error as Error).message}`;
  }
}

function answerTo(asked: SaltMap, context: StateFileContext): SaltMap {
  const fun = textOf(asked, 'fun');
  try {
    if (fun !== undefined) {
      const args = listOf(asked, 'args') ?? [];
      const kwargs = mapIn(asked, 'kwargs') ?? mapOf({});
      return mapOf({ value: callStateFunction(context, fun, args, kwargs) as SaltValue });
    }
    const saltenv = textOf(asked, 'saltenv') ?? 'base';
    const [path, sls] = [textOf(asked, 'path') ?? '', textOf(asked, 'sls') ?? ''];
    const defaults = mapIn(asked, 'defaults') ?? mapOf({});
    return mapOf({ value: renderStateFile(context, { saltenv, path, sls, defaults }) });
  } catch (error) {
    const { name, message } = error as Error;
    return mapOf({ error: message, kind: error instanceof RenderError ? 'RenderError' : name });
  }
}

/**
 * The files of the file server; one that was read once stays the same for this file. An absolute
 * path below `file_roots` is that of a file of an environment; Salt reads any file of the host so
 * (salt/utils/jinja.py get_source).
 */
function servedFiles(calls: BlockingCalls, roots: PillarThreadData['fileRoots']): PillarFiles {
  const texts = new Map<string, string | undefined>();
  const ask = (saltenv: string, path: string): string | undefined => {
    const text = calls.call('render', FILE, mapOf({ saltenv, path }));
    return typeof text === 'string' ? text : undefined;
  };
  const found = (saltenv: string, path: string): string | undefined => {
    const place = placeBelow(roots, path);
    return ask(saltenv, path) ?? (place && ask(place.saltenv, place.path));
  };
  return {
    environments: [],
    list: () => [],
    read: (saltenv, path) => {
      const key = `${saltenv}\0${path}`;
      if (!texts.has(key)) texts.set(key, found(saltenv, path));
      return texts.get(key);
    },
  };
}

/** Functions that only a master has. */
function masterFunctions(calls: BlockingCalls, env: string | null): Map<string, PyFunction> {
  const runner = new PyFunction('saltutil.runner', ({ positional: [name], named }) => {
    const args = named.get('arg') ?? [];
    const kwargs: SaltMap = new Map(named.get('kwarg') as SaltMap | undefined);
    for (const [key, value] of named) {
      if (key !== 'arg' && key !== 'kwarg') kwargs.set(key, value as SaltValue);
    }
    const given = mapOf({ fun: str(name), args: args as SaltValue, kwargs });
    return calls.call('render', RUNNER, given);
  });
  const file = new PyFunction('cp.get_file_str', ({ positional: [path, saltenv], named }) => {
    const where = str(saltenv ?? named.get('saltenv') ?? env ?? 'base');
    const below = str(path).replace(/^salt:\/\//, '');
    const text = calls.call('render', FILE, mapOf({ saltenv: where, path: below }));
    return typeof text === 'string' ? text : false;
  });
  return new Map([runner, file].map((fun) => [fun.name, fun]));
}
