import { generateKeyPairSync } from 'node:crypto';
import { PrivateKey } from '@brine/crypt';
import type { KnownMinion } from '@brine/presence';
import { memoryMaster } from '@brine/testing';
import { isMap, mapOf, type SaltValue } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import { expect, test } from 'vitest';
import { MasterUnavailableError } from '../errors.ts';
import type { MasterPorts } from '../ports/ports.ts';
import type { MinionPresence } from '../ports/presence-port.ts';
import { callTheRoll, listMinions } from './cluster-state.ts';

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const masterKey = PrivateKey.parse(privateKey.export({ type: 'pkcs1', format: 'pem' }).toString());

function scene(states: Readonly<Record<string, 'accepted' | 'pending' | 'deleted'>>) {
  const master = memoryMaster({ masterKey });
  for (const [id, state] of Object.entries(states))
    master.setKey(id, { state, pub: 'PEM', denied: state === 'deleted' ? ['OTHER'] : [] });
  return master.ports;
}

function presenceOf(lost: Readonly<Record<string, number>>, present: readonly string[]) {
  const presence: MinionPresence = {
    present: async () => new Map(present.map((id) => [id, '10.0.0.1'])),
    of: async (ids) =>
      new Map(
        ids.flatMap((id): [string, KnownMinion][] => {
          const goneMs = lost[id];
          if (goneMs === undefined) return [];
          return [[id, { present: false, sinceMs: goneMs, goneMs, address: '10.0.0.9' }]];
        }),
      ),
  };
  return presence;
}

function asJson(value: SaltValue): unknown {
  if (Array.isArray(value)) return value.map(asJson);
  if (!isMap(value)) return value;
  return Object.fromEntries([...value].map(([key, one]) => [pyStr(key), asJson(one)]));
}

test('absent minions come first, those that were lost last before all others', async () => {
  const keys = {
    a: 'accepted',
    b: 'accepted',
    c: 'accepted',
    d: 'accepted',
    n: 'pending',
  } as const;
  const ports: MasterPorts = { ...scene(keys), presence: presenceOf({ b: 5, c: 9 }, ['a']) };
  const found = asJson(await listMinions(ports, mapOf({}))) as { listed: { id: string }[] };
  expect(found).toMatchObject({ keys: { accepted: 4, pending: 1 }, present: 1, absent: 3 });
  expect(found.listed.map(({ id }) => id)).toEqual(['c', 'b', 'd', 'n']);
  expect(found.listed[0]).toMatchObject({ state: 'absent', goneMs: 9, address: '10.0.0.9' });
});

test('the list has a limit, and all are counted', async () => {
  const keys = Object.fromEntries(
    Array.from({ length: 1_200 }, (_, at) => [`m${at}`, 'accepted' as const]),
  );
  const ports: MasterPorts = { ...scene(keys), presence: presenceOf({}, []) };
  const all = await listMinions(ports, mapOf({ limit: 9_999 }));
  expect(asJson(all)).toMatchObject({ absent: 1_200 });
  expect((asJson(all) as { listed: unknown[] }).listed).toHaveLength(500);
  const few = asJson(await listMinions(ports, mapOf({ limit: 2 }))) as { listed: unknown[] };
  expect(few.listed).toHaveLength(2);
});

test('where no worker can tell, presence is unknown and keys are counted', async () => {
  const away = (): Promise<never> => Promise.reject(new MasterUnavailableError('no owner'));
  for (const presence of [undefined, { present: away, of: away }]) {
    const base = scene({ a: 'accepted', b: 'deleted' });
    const ports: MasterPorts = presence === undefined ? base : { ...base, presence };
    expect(asJson(await listMinions(ports, mapOf({})))).toEqual({
      keys: { accepted: 1, denied: 1 },
      present: null,
      absent: null,
      listed: [],
    });
  }
});

test('the roll is the answer of the services, or says that there are none', async () => {
  const ports = scene({});
  const told = mapOf({ services: [], leftOut: 0 });
  expect(await callTheRoll({ ...ports, roll: async () => told })).toBe(told);
  await expect(callTheRoll(ports)).rejects.toThrow('no services can be called here');
});
