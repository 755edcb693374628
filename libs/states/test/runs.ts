import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { callHigh, type HighOptions, type HighResult } from '../src/call-high.ts';
import { type RenderedSls, renderHighstate, type SlsPort } from '../src/compile/render-high.ts';
import { NO_LEDGER, type RunPorts, type StateFunction } from '../src/ports.ts';
import { textAt } from '../src/values.ts';

/** Data of an SLS file as an object of JavaScript. */
export type Plain = null | boolean | number | string | readonly Plain[] | { [key: string]: Plain };

/** The same as Salt's values. */
export function salted(value: Plain): SaltValue {
  if (Array.isArray(value)) return value.map(salted);
  if (typeof value !== 'object' || value === null) return value;
  return new Map(Object.entries(value).map(([key, item]) => [key, salted(item)]));
}

/** A state function with a fixed result. */
function fixed(name: string, result: boolean | null, changed: boolean): StateFunction {
  return {
    name: `t.${name}`,
    parameters: [['name']],
    open: true,
    outside: true,
    run: (args, { test }) => {
      const changes = changed ? mapOf({ a: 1 }) : mapOf({});
      const seen = test && changed ? null : result;
      return mapOf({
        name: args.get('name') ?? null,
        result: seen,
        changes,
        comment: args.get('comment') ?? name,
      });
    },
  };
}

/** States of the tests: module `t` reacts to a watch, module `w` does not. */
export const STATES: readonly StateFunction[] = [
  fixed('ok', true, false),
  fixed('changes', true, true),
  fixed('bad', false, false),
  { ...fixed('mod_watch', true, true) },
  { ...fixed('ok', true, false), name: 'w.ok' },
  {
    name: 't.needs',
    parameters: [['name'], ['what'], ['more', 1]],
    run: (args) =>
      mapOf({ name: args.get('name') ?? null, result: true, changes: new Map(), comment: 'x' }),
  },
  {
    name: 't.throws',
    parameters: [['name']],
    run: () => {
      throw Object.assign(new Error('broken'), { name: 'ValueError' });
    },
  },
];

/** Ports of a run that reaches nothing; `more` replaces some of them. */
export function ports(more: Partial<RunPorts> = {}): RunPorts {
  let now = 1_000;
  return {
    stateFunction: (name) => STATES.find((fun) => fun.name === name),
    missing: () => undefined,
    call: (fun) => Promise.resolve(fun === 'yes'),
    reloadPillar: () => Promise.resolve(),
    now: () => (now += 1),
    sleep: () => Promise.resolve(),
    gate: () => Promise.resolve('run'),
    fire: () => Promise.resolve(),
    log: () => undefined,
    ledger: NO_LEDGER,
    ...more,
  };
}

/** The options of the runs of the tests. */
export const OPTIONS: HighOptions = {
  id: 'm_master',
  jid: '20260101000000000000',
  test: false,
  failhard: false,
  stateEvents: false,
  maxParallel: 0,
  disabled: [],
};

/** SLS files by name, as data. */
export function slsPort(files: Readonly<Record<string, Plain>>): SlsPort {
  return {
    environments: () => Promise.resolve(['base', 'dev']),
    names: (saltenv) =>
      Promise.resolve(
        saltenv === 'base'
          ? Object.keys(files)
              .map((name) => plainName(name))
              .sort()
          : [],
      ),
    render: (sls) => {
      const init = files[`${sls}.init`];
      const data = files[sls] ?? init;
      if (data === undefined) return Promise.resolve(undefined);
      const path = `${sls.replaceAll('.', '/')}${init === undefined ? '' : '/init'}.sls`;
      const rendered: RenderedSls =
        typeof data === 'object' && data !== null && 'ERROR' in data
          ? { path, error: JSON.stringify(data['ERROR']).slice(1, -1) }
          : { path, value: salted(data) };
      return Promise.resolve(rendered);
    },
  };
}

function plainName(name: string): string {
  return name.replace(/\.init$/, '');
}

/** Renders and runs SLS files. */
export async function runSls(
  files: Readonly<Record<string, Plain>>,
  mods: readonly string[] = ['main'],
  given: { readonly ports?: Partial<RunPorts>; readonly options?: Partial<HighOptions> } = {},
): Promise<HighResult> {
  const { high, errors } = await renderHighstate(new Map([['base', mods]]), slsPort(files), true);
  if (errors.length > 0) return errors;
  return callHigh(high, ports(given.ports), { ...OPTIONS, ...given.options });
}

/** Ids of a run in their order with their outcome: `id: result comment`. */
export function told(result: HighResult): readonly string[] {
  if (!(result instanceof Map)) return result;
  return [...result.entries()]
    .sort(([, a], [, b]) => Number(a.get('__run_num__')) - Number(b.get('__run_num__')))
    .map(([tag, ret]) => {
      const [, id = '', name = ''] = tag.split('_|-');
      const shown = id === name ? id : `${id}/${name}`;
      return `${shown}: ${JSON.stringify(ret.get('result'))} ${textAt(ret, 'comment')}`;
    });
}

/** The result of one state by its id. */
export function resultOf(result: HighResult, id: string): SaltMap {
  const found =
    result instanceof Map ? [...result].find(([tag]) => tag.split('_|-')[1] === id) : undefined;
  if (found === undefined) throw new Error(`no result of ${id}: ${JSON.stringify(told(result))}`);
  return found[1];
}
