import { PyFunction, str } from '@brine/jinja';
import {
  callStateFunction,
  type PillarFiles,
  RenderError,
  renderStateFile,
  type StateFileContext,
} from '@brine/pillar';
import type { BlockingCalls } from '@brine/python-host';
import { listOf, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { decryptAll } from '../sources/gpg.ts';
import { hostFunctions } from './host-functions.ts';
import { placeBelow } from './place-below.ts';
import { FILE, RUNNER } from './questions.ts';
import type { Render } from './render-task.ts';
import type { ThreadData } from './thread-start.ts';

/** Renders a file of states. Gives `{value}`, or `{error}` with Salt's text and its `kind`. */
export function renderSls(render: Render): SaltMap {
  const { asked } = render;
  const saltenv = textOf(asked, 'saltenv') ?? 'base';
  const [path, sls] = [textOf(asked, 'path') ?? '', textOf(asked, 'sls') ?? ''];
  const defaults = mapIn(asked, 'defaults') ?? mapOf({});
  return outcome(() => renderStateFile(contextOf(render), { saltenv, path, sls, defaults }));
}

/** Calls a function of templates; the result is as in {@link renderSls}. */
export function callFunction(render: Render): SaltMap {
  const { asked } = render;
  const args = listOf(asked, 'args') ?? [];
  const kwargs = mapIn(asked, 'kwargs') ?? mapOf({});
  const fun = textOf(asked, 'fun') ?? '';
  return outcome(() => callStateFunction(contextOf(render), fun, args, kwargs) as SaltValue);
}

function outcome(value: () => SaltValue): SaltMap {
  try {
    return mapOf({ value: value() });
  } catch (error) {
    const { name, message } = error as Error;
    return mapOf({ error: message, kind: error instanceof RenderError ? 'RenderError' : name });
  }
}

/** The worker finds files of git asynchronously, so the thread blocks until it has them. */
function contextOf({
  asked,
  data,
  options,
  minion,
  outside,
  python,
  calls,
  log,
}: Render): StateFileContext {
  const functions = (): Map<string, PyFunction> =>
    new Map([...hostFunctions(), ...masterFunctions(calls, minion.saltenv)]);
  return {
    ports: {
      files: servedFiles(calls, data.fileRoots),
      outside,
      functions,
      decrypt: (value, mayOpen) => decryptAll(value, data.gpg, mayOpen),
      external: () => undefined,
      python,
      log,
    },
    options: { ...options, extPillar: [] },
    minion,
    pillar: mapIn(asked, 'pillar') ?? mapOf({}),
  };
}

/**
 * The files of the file server. A file that was read stays the same for this render. An absolute
 * path below `file_roots` is that of a file of an environment; Salt reads any file of the host so
 * (salt/utils/jinja.py get_source).
 */
function servedFiles(calls: BlockingCalls, roots: ThreadData['fileRoots']): PillarFiles {
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
