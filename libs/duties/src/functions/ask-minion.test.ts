import type { Command } from '@brine/client';
import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { expect, test } from 'vitest';
import { askMinion, minionsByRelease } from './ask-minion.ts';

const RELEASES: Readonly<Record<string, SaltValue>> = {
  old: '3006.30',
  new: '3008.5',
  candidate: '3009.0rc1',
  far: '3010.0',
  foreign: `3${'0'.repeat(50)}.1`,
  hostile: 'newest',
  number: 9,
};

async function found(presence: readonly string[] | undefined, accepted = Object.keys(RELEASES)) {
  const minions = await minionsByRelease({
    keys: { accepted: () => new Set(accepted) },
    minionData: {
      fetch: async (id: string) => {
        const saltversion = RELEASES[id];
        return saltversion === undefined ? undefined : { grains: mapOf({ saltversion }) };
      },
    },
    ...(presence === undefined
      ? {}
      : { presence: { present: async () => new Map(presence.map((id) => [id, ''])) } }),
  } as unknown as Parameters<typeof minionsByRelease>[0]);
  return minions.map(({ id }) => id);
}

test('minions that are connected come by their release, newest first', async () => {
  expect(await found(['old', 'new', 'candidate', 'hostile', 'foreign', 'number'])).toEqual([
    'candidate',
    'new',
    'old',
  ]);
  expect(await found(['old', 'far', 'new'], ['old', 'new'])).toEqual(['new', 'old']);
  expect(await found(undefined)).toEqual(['far', 'candidate', 'new', 'old']);
});

/** A client whose minion answers these functions; others have no answer. */
function client(answers: Readonly<Record<string, SaltValue>>) {
  const commands: Command[] = [];
  const publish = async (command: Command) => {
    commands.push(command);
    const fun = String(command.fun);
    const event = (tag: string, value: SaltValue): { tag: string; data: SaltMap } => ({
      tag,
      data: mapOf({ return: value }),
    });
    const events = [event('salt/job/1/ret/other', mapOf({ 'evil.f': 'x' }))];
    if (fun in answers) events.push(event('salt/job/1/ret/a', answers[fun] ?? null));
    const queue = { next: async () => events.shift(), close: () => undefined };
    return { jid: '1', minions: ['a'], events: queue };
  };
  return { client: { publish } as unknown as Parameters<typeof askMinion>[0], commands };
}

const minion = { id: 'a', release: '3008.5', isNewer: () => false };
const troubles: string[] = [];
const ask = (answers: Readonly<Record<string, SaltValue>>) => {
  const made = client(answers);
  const rows = askMinion(made.client, minion, (text) => void troubles.push(text));
  return { rows, commands: made.commands };
};

test('a minion is asked for modules, then for states, by jobs of the master itself', async () => {
  const { rows, commands } = ask({
    'sys.doc': mapOf({ 'test.ping': 'Pongs.' }),
    'sys.argspec': mapOf({ 'test.ping': mapOf({}) }),
    'sys.state_doc': mapOf({ 'pkg.installed': 'Installs.' }),
    'sys.state_argspec': mapOf({ 'pkg.installed': mapOf({}) }),
  });
  expect([...((await rows)?.keys() ?? [])]).toEqual(['module test.ping', 'state pkg.installed']);
  const common = { tgt: ['a'], tgtType: 'list', isOwn: true };
  expect(commands).toEqual([
    { ...common, fun: 'sys.doc', arg: [] },
    { ...common, fun: 'sys.argspec', arg: ['*'] },
    { ...common, fun: 'sys.state_doc', arg: [] },
    { ...common, fun: 'sys.state_argspec', arg: ['*'] },
  ]);
});

test('a minion that gives no documentation is asked nothing more', async () => {
  for (const answers of [{}, { 'sys.doc': 'is not available.' }]) {
    const { rows, commands } = ask(answers);
    expect(await rows).toBeUndefined();
    expect(commands).toHaveLength(1);
  }
});

test('that functions of a minion are left out is on record', async () => {
  const many = Object.fromEntries(Array.from({ length: 5_001 }, (_, at) => [`a.f${at}`, 'x']));
  expect((await ask({ 'sys.doc': mapOf(many) }).rows)?.size).toBe(5_000);
  expect(troubles).toEqual(['minion a has more functions than are shown']);
});
