import type { BankName } from '@brine/master';
import { isMap, mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import {
  type BoundArguments,
  masterOf,
  type RunnerContext,
  type RunnerFunction,
  type RunnerMaster,
} from '../function.ts';
import { refusal } from '../given-values.ts';

/** The banks of 3008. */
const BANKS: readonly BankName[] = ['grains', 'mine', 'pillar'];

const HERE =
  'Banks: grains, pillar and mine with minion ids as keys, and as in 3006 minions/<id> with the ' +
  'keys data and mine';

/** The meaning of an argument `bank`. */
type Place =
  | { readonly kind: 'top' | 'minions' | 'nowhere' }
  | { readonly kind: 'bank'; readonly bank: BankName }
  | { readonly kind: 'minion'; readonly id: string };

/** The place of the argument `bank`, a path. Another `cachedir` is refused: there are no files. */
function placeOf({ named }: BoundArguments, { master }: RunnerContext): Place {
  const cachedir = named.get('cachedir') ?? null;
  if (cachedir !== null && cachedir !== master?.option('cachedir')) {
    throw new Error('cachedir is not in force: Brine keeps minion data in NATS, not in files');
  }
  const words = pyStr(named.get('bank') ?? '')
    .split('/')
    .filter((word) => word !== '' && word !== '.');
  const [first, second, ...more] = words;
  if (first === undefined) return { kind: 'top' };
  const bank = BANKS.find((name) => name === first);
  if (bank !== undefined && second === undefined) return { kind: 'bank', bank };
  if (first !== 'minions' || more.length > 0) return { kind: 'nowhere' };
  return second === undefined ? { kind: 'minions' } : { kind: 'minion', id: second };
}

function keyOf({ named }: BoundArguments): string {
  return pyStr(named.get('key') ?? '');
}

/** Grains and pillar of a minion in the form of 3006's key `data`; undefined without either. */
async function dataOf({ banks }: RunnerMaster, id: string): Promise<SaltMap | undefined> {
  const grains = await banks.fetch('grains', id);
  const pillar = await banks.fetch('pillar', id);
  if (grains === undefined && pillar === undefined) return undefined;
  return mapOf({ grains: grains ?? mapOf({}), pillar: pillar ?? mapOf({}) });
}

/** A key of the bank `pillar` may name an environment: `<id>:<env>`. */
async function pillarOf({ banks }: RunnerMaster, key: string): Promise<SaltMap | undefined> {
  const found = await banks.fetch('pillar', key);
  const colon = key.lastIndexOf(':');
  if (found !== undefined || colon < 1) return found;
  return banks.fetch('pillar', key.slice(0, colon), key.slice(colon + 1));
}

async function allIds({ banks }: RunnerMaster): Promise<string[]> {
  const ids = new Set<string>();
  for (const bank of BANKS) for (const id of await banks.ids(bank)) ids.add(id);
  return [...ids].sort();
}

const list: RunnerFunction = {
  name: 'cache.list',
  parameters: [['bank'], ['cachedir', null]],
  doc: `Lists the keys of a bank. ${HERE}. Another bank has none.`,
  async run(given, context) {
    const master = masterOf(context);
    const place = placeOf(given, context);
    switch (place.kind) {
      case 'top':
        return { value: [...BANKS] };
      case 'bank':
        return { value: [...(await master.banks.ids(place.bank))] };
      case 'minions':
        return { value: await allIds(master) };
      case 'minion': {
        const data = await dataOf(master, place.id);
        const mine = await master.banks.fetch('mine', place.id);
        return { value: [data && 'data', mine && 'mine'].filter((key) => key !== undefined) };
      }
      case 'nowhere':
        return { value: [] };
    }
  },
};

const fetchKey: RunnerFunction = {
  name: 'cache.fetch',
  parameters: [['bank'], ['key'], ['cachedir', null]],
  doc: `Shows what a bank has under a key; {} where there is nothing. ${HERE}.`,
  async run(given, context) {
    const master = masterOf(context);
    const place = placeOf(given, context);
    const key = keyOf(given);
    let found: SaltMap | undefined;
    if (place.kind === 'bank') {
      const { bank } = place;
      found = await (bank === 'pillar' ? pillarOf(master, key) : master.banks.fetch(bank, key));
    } else if (place.kind === 'minion' && key === 'data') found = await dataOf(master, place.id);
    else if (place.kind === 'minion' && key === 'mine') {
      found = await master.banks.fetch('mine', place.id);
    }
    return { value: found ?? mapOf({}) };
  },
};

/** Empties banks of minions; true if any had data. */
async function dropFrom(
  { banks }: RunnerMaster,
  names: readonly BankName[],
  ids: (bank: BankName) => Promise<readonly string[]> | readonly string[],
): Promise<boolean> {
  let had = false;
  for (const bank of names) had = (await banks.drop(bank, await ids(bank))).length > 0 || had;
  return had;
}

/** The banks of a key in `minions/<id>`, or all of them without a key. */
function banksUnder(key: string | undefined): readonly BankName[] {
  if (key === undefined) return BANKS;
  if (key === 'data') return ['grains', 'pillar'];
  return key === 'mine' ? ['mine'] : [];
}

const flush: RunnerFunction = {
  name: 'cache.flush',
  parameters: [['bank'], ['key', null], ['cachedir', null]],
  doc: `Empties a key of a bank, or without key the whole bank. False if it was empty. ${HERE}.`,
  async run(given, context) {
    const master = masterOf(context);
    const place = placeOf(given, context);
    const key = (given.named.get('key') ?? null) === null ? undefined : keyOf(given);
    const all = (bank: BankName) => master.banks.ids(bank);
    if (place.kind === 'bank') {
      const { bank } = place;
      return { value: await dropFrom(master, [bank], key === undefined ? all : () => [key]) };
    }
    if (place.kind === 'minion') {
      return { value: await dropFrom(master, banksUnder(key), () => [place.id]) };
    }
    const isAll = place.kind === 'minions' && key === undefined;
    return { value: isAll && (await dropFrom(master, BANKS, all)) };
  },
};

const store: RunnerFunction = {
  name: 'cache.store',
  parameters: [['bank'], ['key'], ['data'], ['cachedir', null]],
  doc:
    'Puts a dictionary into a bank, in the place of what is there, until the minion sends it ' +
    'again. The key is the id of a minion with a key. Banks: grains, pillar and mine; Brine ' +
    'keeps no others.',
  async run(given, context) {
    const master = masterOf(context);
    const place = placeOf(given, context);
    const bank = place.kind === 'bank' ? place.bank : mineOf(place, keyOf(given));
    if (bank === undefined) {
      const named = pyStr(given.named.get('bank') ?? '');
      throw refusal(`${named} is no bank of Brine. ${HERE}.`);
    }
    const id = place.kind === 'minion' ? place.id : keyOf(given);
    const state = master.keys.cached(id)?.state;
    if (state === undefined || state === 'deleted') {
      throw refusal(`no minion ${id} has a key here`);
    }
    const data: SaltValue = given.named.get('data') ?? null;
    if (!isMap(data)) throw refusal(`${bank} must be a dictionary`);
    await master.banks.store(bank, id, data);
    return { value: null };
  },
};

/** Among 3006's keys only `mine` is one record here. */
function mineOf(place: Place, key: string): BankName | undefined {
  return place.kind === 'minion' && key === 'mine' ? 'mine' : undefined;
}

/** The functions of the cache runner about banks and keys. */
export const CACHE_BANKS_RUNNER: readonly RunnerFunction[] = [fetchKey, flush, list, store];
