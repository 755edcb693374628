import { readAcl } from '@brine/acl';
import { PrivateKey } from '@brine/crypt';
import { memoryMaster, vectorFile } from '@brine/testing';
import { mapOf } from '@brine/wire';
import { describe, expect, it } from 'vitest';
import type { MasterPorts, MasterRules } from '../ports/ports.ts';
import { coversJob, expectedMinions } from './expected-minions.ts';

const auth = vectorFile<{ readonly master_key: { readonly pem: string } }>('auth.json');
const masterKey = PrivateKey.parse(auth.master_key.pem);
const IDS = ['db1', 'new1', 'web1', 'web2'];

/** `new1` has sent and got nothing, `web2` has sent its grains and got no pillar. */
function start(rules: Partial<MasterRules> = {}): { ports: MasterPorts; loaded: Set<string> } {
  const master = memoryMaster({ masterKey, rules });
  const { ports, grains } = master;
  for (const id of IDS) master.setKey(id, { state: 'accepted', pub: '', denied: [] });
  for (const id of ['web1', 'web2', 'db1']) grains.set(id, mapOf({ os: 'Debian' }));
  const pillars = new Map([
    ['web1', mapOf({ role: 'web' })],
    ['db1', mapOf({ role: 'db' })],
  ]);
  const loaded = new Set<string>();
  const load = (bank: string) => async (): Promise<void> => void loaded.add(bank);
  return {
    loaded,
    ports: {
      ...ports,
      minionData: { ...ports.minionData, ready: load('grains') },
      // Nothing is there before it was loaded.
      pillars: {
        render: () => Promise.resolve(new Map()),
        ready: load('pillars'),
        of: (id) => (loaded.has('pillars') ? pillars.get(id) : undefined),
        kept: async () => undefined,
      },
    },
  };
}

const expected = async (ports: MasterPorts, tgtType: string, tgt: string): Promise<string[]> =>
  (await expectedMinions(ports, { tgt, tgtType })).minions.sort();

describe('the data that are loaded for a target', () => {
  it.each([
    ['web* or E@db.', 'compound', ['db1', 'web1', 'web2'], []],
    ['ids', 'nodegroup', ['web1', 'web2'], []],
    ['web* and G@os:Debian', 'compound', ['web1', 'web2'], ['grains']],
    ['role:w*', 'pillar', ['web1'], ['grains', 'pillars']],
    ['N@dbs or new1', 'compound', ['db1', 'new1'], ['grains', 'pillars']],
  ])('is what it asks for: %s', async (tgt, tgtType, minions, loads) => {
    const { ports, loaded } = start({ nodegroups: { ids: 'web*', dbs: 'I@role:db' } });
    expect(await expected(ports, tgtType, tgt)).toEqual(minions);
    expect([...loaded].sort()).toEqual(loads);
  });

  it.each([
    ['grain', 'os:Arch', IDS],
    ['compound', 'web1 and I@role:x', IDS],
    ['list', 'web1', ['web1']],
    ['other', 'web1', []],
  ])('is nothing without minion_data_cache: %s', async (tgtType, tgt, minions) => {
    const { ports, loaded } = start({ minionDataCache: false });
    expect(await expected(ports, tgtType, tgt)).toEqual(minions);
    expect([...loaded]).toEqual([]);
  });
});

describe('a right that names minions by their pillar', () => {
  const rights = readAcl([{ 'I@role:web': ['test.*'] }, { 'L@db1 and J@role:d.': ['disk.*'] }]);
  const covers = async (rules: Partial<MasterRules>, fun: string, ...minions: string[]) =>
    coversJob(start(rules).ports, rights, { fun, arg: [] }, minions);

  it('covers minions whose cached pillar says so, and no others', async () => {
    expect(await covers({}, 'test.ping', 'web1')).toBe(true);
    expect(await covers({}, 'disk.usage', 'db1')).toBe(true);
    expect(await covers({}, 'disk.usage', 'web1')).toBe(false);
    expect(await covers({}, 'test.ping', 'web1', 'db1')).toBe(false);
  });

  it('covers no minion without a cached pillar, however jobs take such minions', async () => {
    expect(await covers({ cachelessTargets: 'keep' }, 'test.ping', 'web2')).toBe(false);
    expect(await covers({ cachelessTargets: 'keep' }, 'test.ping', 'new1')).toBe(false);
    expect(await covers({ minionDataCache: false }, 'test.ping', 'web1')).toBe(false);
  });
});
