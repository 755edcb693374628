import { splitInput } from '@brine/client';
import { listOf, mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { isTruthy } from '@brine/wire/text';
import {
  type BoundArguments,
  masterOf,
  type RunnerFunction,
  type RunnerMaster,
  type WheelFunction,
} from '../function.ts';

/** Minions of one question to the job cache. */
const ASKED_AT_ONCE = 10_000;
/** Where `publish_session` is off, in seconds. */
const DAY_S = 86_400;
/** Grains that are read at once. */
const READ_AT_ONCE = 64;

/**
 * The accepted minions that the master heard of lately, sorted: they logged in or returned within
 * `publish_session`. A connected minion does so each time the master renews its key.
 */
async function heardOf(master: RunnerMaster, subset?: readonly string[]): Promise<string[]> {
  const accepted = master.keys.accepted();
  const asked = subset === undefined ? [...accepted] : subset.filter((id) => accepted.has(id));
  const sinceMs = master.now() - windowSeconds(master) * 1000;
  const heard: string[] = [];
  for (let from = 0; from < asked.length; from += ASKED_AT_ONCE) {
    const ids = asked.slice(from, from + ASKED_AT_ONCE);
    const answer = await master.jobs.ask('heard_since', mapOf({ ids, sinceMs }));
    if (!Array.isArray(answer)) throw new Error('the job cache did not tell which were heard of');
    for (const id of answer) if (typeof id === 'string') heard.push(id);
  }
  return heard.sort();
}

function windowSeconds(master: RunnerMaster): number {
  const session = master.option('publish_session');
  return typeof session === 'number' && session > 0 ? session : DAY_S;
}

/** The argument `subset`: a list, or a text with commas. */
function subsetOf({ named }: BoundArguments): readonly string[] | undefined {
  return splitInput(named.get('subset'));
}

/** Ids with an address of their grains: which of them it connects from is not known. */
async function withAddresses(master: RunnerMaster, ids: readonly string[]): Promise<SaltMap> {
  const shown: SaltMap = new Map();
  for (let from = 0; from < ids.length; from += READ_AT_ONCE) {
    const some = ids.slice(from, from + READ_AT_ONCE);
    const found = await Promise.all(some.map((id) => master.minionData.fetch(id)));
    some.forEach((id, at) => shown.set(id, addressIn(found[at]?.grains ?? mapOf({}))));
  }
  return shown;
}

/** The first address that other hosts can use, else the first one; empty where there is none. */
function addressIn(grains: SaltMap): SaltValue {
  const all = ['ipv4', 'ipv6']
    .flatMap((name) => listOf(grains, name) ?? [])
    .filter((address) => typeof address === 'string');
  return all.find((address) => !/^(?:127\.|::1$|fe80:)/i.test(address)) ?? all[0] ?? '';
}

const PARAMETERS: RunnerFunction['parameters'] = [
  ['subset', null],
  ['show_ip', false],
];

const MEANING =
  'This master has no presence detection yet: it judges by log-ins and returns within ' +
  'publish_session, and asks no minion (manage.up does). subset: minion ids, a list or with ' +
  'commas. show_ip=True adds an address of its grains to each';

function present(name: string): RunnerFunction {
  return {
    name,
    parameters: PARAMETERS,
    doc: `Lists the minions that the master heard of lately. ${MEANING}.`,
    async run(given, context) {
      const master = masterOf(context);
      const found = await heardOf(master, subsetOf(given));
      if (!isTruthy(given.named.get('show_ip'))) return { value: found };
      return { value: await withAddresses(master, found) };
    },
  };
}

function notPresent(name: string): RunnerFunction {
  return {
    name,
    parameters: PARAMETERS,
    doc:
      `Lists the accepted minions that the master did not hear of lately. ${MEANING} that was ` +
      'heard of, so it is without effect here, as in Salt.',
    async run(given, context) {
      const master = masterOf(context);
      const subset = subsetOf(given);
      const wanted = subset === undefined ? undefined : new Set(subset);
      const heard = new Set(await heardOf(master));
      const silent = [...master.keys.accepted()].filter(
        (id) => !heard.has(id) && (wanted === undefined || wanted.has(id)),
      );
      return { value: silent.sort() };
    },
  };
}

/** The functions of the manage runner that ask no minion. Salt has many names for two of them. */
export const PRESENCE_RUNNER: readonly RunnerFunction[] = [
  ...['list_state', 'present', 'joined', 'allowed', 'alived', 'reaped'].map((name) =>
    present(`manage.${name}`),
  ),
  ...['list_not_state', 'not_present', 'not_joined', 'not_allowed', 'not_alived', 'not_reaped'].map(
    (name) => notPresent(`manage.${name}`),
  ),
];

const connected: WheelFunction = {
  name: 'minions.connected',
  parameters: [],
  doc:
    'Lists the accepted minions that the master heard of lately, by a log-in or a return within ' +
    'publish_session.',
  run: (_given, master) => heardOf(master),
};

/** `minions.*` (salt/wheel/minions.py). */
export const MINIONS_WHEEL: readonly WheelFunction[] = [connected];
