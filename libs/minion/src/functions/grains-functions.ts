import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import {
  type Call,
  type FunctionTable,
  type MinionFunction,
  textArgument,
} from './minion-function.ts';
import type { OwnState } from './own-state.ts';

/** The modules `grains` and `pillar`: the minion's own data. */
export function grainsFunctions(own: OwnState): FunctionTable {
  const grains = (): SaltMap => own.grains();
  const pillar = (): SaltMap => own.pillar();
  return new Map<string, MinionFunction>([
    ['grains.items', { doc: "Return all of the minion's grains.", out: 'nested', run: grains }],
    [
      'grains.ls',
      { doc: 'Return a list of all available grains.', run: () => sortedKeys(grains()) },
    ],
    ['grains.item', itemsOf('Return one or more grains.', grains)],
    ['grains.get', getOf('Attempt to retrieve the named value from grains.', grains)],
    [
      'grains.has_value',
      {
        doc: 'Determine whether a key exists in the grains dictionary.',
        parameters: [{ name: 'key' }],
        run: (call) => isTrue(traverse(grains(), textArgument(call, 'key'), ':')),
      },
    ],
    ['grains.keys', { doc: 'Return the names of the grains.', run: () => sortedKeys(grains()) }],
    ['pillar.items', { doc: 'Return the pillar of this minion.', run: pillar }],
    ['pillar.raw', { doc: 'Return the pillar of this minion.', run: pillar }],
    ['pillar.ls', { doc: 'List the keys of the pillar.', run: () => sortedKeys(pillar()) }],
    ['pillar.item', itemsOf('Return one or more pillar entries.', pillar)],
    ['pillar.get', getOf('Attempt to retrieve the named value from pillar.', pillar)],
  ]);
}

function itemsOf(doc: string, source: () => SaltMap): MinionFunction {
  return {
    doc,
    takes: 'args',
    out: 'nested',
    run: (call) => {
      const found: SaltMap = new Map();
      for (const key of call.args) {
        const value = typeof key === 'string' ? traverse(source(), key, ':') : undefined;
        found.set(key, value ?? '');
      }
      return found;
    },
  };
}

function getOf(doc: string, source: () => SaltMap): MinionFunction {
  return {
    doc,
    parameters: [
      { name: 'key' },
      { name: 'default', default: '' },
      { name: 'delimiter', default: ':' },
    ],
    run: (call: Call) => {
      const found = traverse(source(), textArgument(call, 'key'), textArgument(call, 'delimiter'));
      return found ?? call.named.get('default') ?? '';
    },
  };
}

/** Follows a path `key:sub:0`, or returns undefined. */
export function traverse(data: SaltMap, path: string, delimiter: string): SaltValue | undefined {
  let at: SaltValue | undefined = data;
  for (const key of delimiter === '' ? [path] : path.split(delimiter)) {
    if (isMap(at)) at = at.get(key) ?? (/^\d+$/.test(key) ? at.get(Number(key)) : undefined);
    else if (Array.isArray(at)) at = /^-?\d+$/.test(key) ? at.at(Number(key)) : undefined;
    else return undefined;
  }
  return at;
}

function sortedKeys(map: SaltMap): string[] {
  return [...map.keys()].map(String).sort();
}

function isTrue(value: SaltValue | undefined): boolean {
  if (value === undefined || value === null || value === false) return false;
  if (value === '' || value === 0) return false;
  if (Array.isArray(value)) return value.length > 0;
  return !(value instanceof Map) || value.size > 0;
}
