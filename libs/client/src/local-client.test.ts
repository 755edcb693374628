import {
  isMap,
  mapIn,
  mapOf,
  pack,
  type SaltMap,
  type SaltValue,
  textOf,
  unpack,
} from '@brine/wire';
import { clearReply } from '@brine/wire/frames';
import { COMMAND_NAME } from '@brine/wire/load';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ClientSettings } from './client-settings.ts';
import type { JobReturn } from './command.ts';
import { MasterUnreachableError, RefusedError, RequestTimeoutError } from './errors.ts';
import { JobRecords } from './job-records.ts';
import { LocalClient } from './local-client.ts';
import type { ClientPorts } from './ports.ts';

const JID = '20261120171037123456';
const FIND_JID = '20261120171042000000';

const SETTINGS: ClientSettings = {
  user: 'root',
  nodegroups: new Map(),
  configFile: '/etc/salt/master',
  timeoutMs: 60,
  gatherJobTimeoutMs: 60,
  orderMasters: false,
  syndicWaitMs: 50,
  sockDir: '/var/run/salt/master',
};

/** A master in memory: answers loads and fires events. */
class FakeMaster {
  readonly loads: SaltMap[] = [];
  readonly bodies: Uint8Array[] = [];
  readonly requestIds: (string | undefined)[] = [];
  readonly timeoutsMs: number[] = [];
  present = true;
  key = 'k'.repeat(76);
  answer: (load: SaltMap, count: number) => SaltValue | Error;
  #fire: (tag: string, packed: Uint8Array) => void = () => undefined;

  constructor(answer: FakeMaster['answer']) {
    this.answer = answer;
  }

  readonly ports: ClientPorts = {
    request: {
      request: async (body, { requestId, timeoutMs }) => {
        this.timeoutsMs.push(timeoutMs);
        this.bodies.push(body);
        this.requestIds.push(requestId);
        const envelope = unpack(body);
        const load = isMap(envelope) ? (mapIn(envelope, 'load') ?? new Map()) : new Map();
        this.loads.push(load);
        const reply = this.answer(load, this.loads.length);
        if (reply instanceof Error) throw reply;
        return pack(reply);
      },
    },
    events: {
      listen: async (onEvent) => {
        this.#fire = onEvent;
        return { close: () => undefined };
      },
    },
    master: { isPresent: () => this.present, readKey: async () => this.key },
    logError: () => undefined,
  };

  fire(tag: string, data: Readonly<Record<string, SaltValue>>): void {
    this.#fire(tag, pack(mapOf(data), 'bin'));
  }

  returns(id: string, value: SaltValue, jid = JID): void {
    const data = { id, jid, return: value, retcode: 0, success: true };
    this.fire(`salt/job/${jid}/ret/${id}`, data);
  }
}

function published(
  jid: string,
  minions: readonly string[],
  missing: readonly string[] = [],
): SaltValue {
  const load = mapOf({ jid, minions: [...minions], missing: [...missing] });
  return mapOf({ enc: 'clear', load });
}

const PING = { tgt: '*', tgtType: 'glob', fun: 'test.ping', arg: [] };

async function gather(client: LocalClient): Promise<JobReturn[]> {
  const job = await client.publish(PING, { listen: true });
  if (job === undefined) return [];
  const all: JobReturn[] = [];
  for await (const item of client.returns(job)) all.push(item);
  return all;
}

afterEach(() => {
  vi.useRealTimers();
});

describe('publishing', () => {
  it('sends the load as the stock CLI builds it, and a name of the command', async () => {
    const master = new FakeMaster(() => published(JID, ['a']));
    const client = new LocalClient(master.ports, SETTINGS);
    await client.publish({ ...PING, kwargs: mapOf({ delimiter: ':' }) });
    expect([...(master.loads[0] ?? [])]).toEqual([
      ['cmd', 'publish'],
      ['tgt', '*'],
      ['fun', 'test.ping'],
      ['arg', []],
      ['key', master.key],
      ['tgt_type', 'glob'],
      ['ret', ''],
      ['jid', ''],
      ['kwargs', mapOf({ delimiter: ':' })],
      ['user', 'root'],
      [COMMAND_NAME, expect.any(String)],
    ]);
  });

  it('gives the same command, typed again, another name', async () => {
    const master = new FakeMaster(() => published(JID, ['a']));
    const client = new LocalClient(master.ports, SETTINGS);
    await client.publish(PING);
    await client.publish(PING);
    const [first, second] = master.loads.map((load) => textOf(load, COMMAND_NAME));
    expect(first).not.toBe(second);
  });

  it('does not send again what the master may have forgotten', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const master = new FakeMaster(() => {
      vi.advanceTimersByTime(60_000);
      return new Error('late');
    });
    const client = new LocalClient(master.ports, { ...SETTINGS, timeoutMs: 60_000 });
    await expect(client.publish(PING)).rejects.toThrow(RequestTimeoutError);
    expect(master.timeoutsMs).toEqual([60_000, 40_000]);
  });

  it('waits longer for a page of returns, which a busy master would read twice else', async () => {
    const master = new FakeMaster(() => mapOf({ value: mapOf({ returns: mapOf({}) }) }));
    const client = new LocalClient(master.ports, SETTINGS);
    const jobs = new JobRecords(client);
    await jobs.load(JID);
    await jobs.returns(JID);
    expect(master.timeoutsMs).toEqual([5_000, 30_000]);
  });

  it('sends the same bytes up to three times when no answer comes', async () => {
    const master = new FakeMaster(() => new Error('late'));
    const client = new LocalClient(master.ports, SETTINGS);
    await expect(client.publish(PING)).rejects.toThrow(RequestTimeoutError);
    expect(master.bodies).toHaveLength(3);
    expect(master.bodies[1]).toEqual(master.bodies[0]);
  });

  it('hands the id of a publish to a port inside of a master, at each try', async () => {
    const master = new FakeMaster((_load, count) =>
      count < 3 ? new Error('late') : published(JID, ['a']),
    );
    const client = new LocalClient(master.ports, SETTINGS);
    await client.publish({ ...PING, requestId: 'step-1' });
    await client.publish(PING);
    expect(master.requestIds).toEqual(['step-1', 'step-1', 'step-1', undefined]);
    for (const load of master.loads) expect(load.has('requestId')).toBe(false);
  });

  it('reads the key again when the answer is empty, and tries once more', async () => {
    const master = new FakeMaster((_load, count) => (count === 1 ? '' : published(JID, ['a'])));
    const client = new LocalClient(master.ports, SETTINGS);
    const first = client.publish(PING);
    master.key = 'n'.repeat(76);
    // The key is read before the first try; the new one is there for the second.
    await first.catch(() => undefined);
    expect(master.loads.map((load) => textOf(load, 'key')).at(-1)).toBe(master.key);
  });

  it('names the error that the master gave', async () => {
    const master = new FakeMaster(() =>
      mapOf({
        error: mapOf({ name: 'AuthorizationError', message: 'Authorization error occurred.' }),
      }),
    );
    const client = new LocalClient(master.ports, SETTINGS);
    const failure = client.publish(PING);
    await expect(failure).rejects.toThrow('Authorization error occurred.');
    await expect(failure).rejects.toBeInstanceOf(RefusedError);
  });

  it('gives nothing if no minion matched', async () => {
    const load = mapOf({ jid: null, minions: [], error: 'no minions' });
    const master = new FakeMaster(() => mapOf({ enc: 'clear', load }));
    expect(await gather(new LocalClient(master.ports, SETTINGS))).toEqual([]);
  });

  it('says so where no master runs', async () => {
    const master = new FakeMaster(() => null);
    master.present = false;
    const failure = new LocalClient(master.ports, SETTINGS).publish(PING);
    await expect(failure).rejects.toThrow(MasterUnreachableError);
    expect(master.loads).toEqual([]);
  });
});

describe('gathering', () => {
  it('does not miss a return that comes before the answer to the publish', async () => {
    const master: FakeMaster = new FakeMaster(() => {
      master.returns('a', true);
      return published(JID, ['a']);
    });
    const all = await gather(new LocalClient(master.ports, SETTINGS));
    expect(all).toEqual([{ kind: 'return', id: 'a', ret: true, retcode: 0, jid: JID }]);
  });

  it('counts a return once, and leaves events of other jobs alone', async () => {
    const master: FakeMaster = new FakeMaster(() => {
      master.returns('a', 1);
      master.returns('a', 2);
      master.returns('b', 3, FIND_JID);
      setTimeout(() => master.returns('b', 4), 5);
      return published(JID, ['a', 'b']);
    });
    const all = await gather(new LocalClient(master.ports, SETTINGS));
    expect(all.map((item) => [item.id, item.kind === 'return' && item.ret])).toEqual([
      ['a', 1],
      ['b', 4],
    ]);
  });

  it('waits for minions that an event adds', async () => {
    const master: FakeMaster = new FakeMaster(() => {
      master.fire(`salt/job/${JID}/new`, { minions: ['a', 'c'] });
      master.returns('a', true);
      setTimeout(() => master.returns('c', true), 10);
      return published(JID, ['a']);
    });
    const all = await gather(new LocalClient(master.ports, SETTINGS));
    expect(all.map(({ id }) => id)).toEqual(['a', 'c']);
  });

  it('asks which minions still run the job, and reports those that do not answer', async () => {
    const master: FakeMaster = new FakeMaster((load) => {
      if (load.get('fun') === 'saltutil.find_job') return published(FIND_JID, ['b']);
      master.returns('a', true);
      return published(JID, ['a', 'b']);
    });
    const all = await gather(new LocalClient(master.ports, SETTINGS));
    expect(all.at(-1)).toEqual({ kind: 'missing', id: 'b' });
    expect(master.loads[1]?.get('tgt')).toEqual(['b']);
    expect(master.loads[1]?.get('arg')).toEqual([JID]);
  });

  it('reports ids of a list that the master does not know, where no event names them', async () => {
    const master: FakeMaster = new FakeMaster(() => {
      master.returns('a', true);
      return published(JID, ['a'], ['ghost']);
    });
    const all = await gather(new LocalClient(master.ports, SETTINGS));
    expect(all.at(-1)).toEqual({ kind: 'missing', id: 'ghost', unknown: true });
    expect(master.loads).toHaveLength(1);
  });

  it('does not call an id unknown that a list of minions has', async () => {
    const master: FakeMaster = new FakeMaster((load) => {
      if (load.get('fun') === 'saltutil.find_job') return published(FIND_JID, []);
      master.fire(`salt/job/${JID}/new`, { jid: JID, minions: ['low'], missing: ['ghost'] });
      return published(JID, ['a'], ['low']);
    });
    const all = await gather(new LocalClient(master.ports, SETTINGS));
    expect(all).toEqual([
      { kind: 'missing', id: 'a' },
      { kind: 'missing', id: 'ghost', unknown: true },
      { kind: 'missing', id: 'low' },
    ]);
  });

  it('goes on waiting as long as a minion runs the job', async () => {
    let asked = 0;
    const master: FakeMaster = new FakeMaster((load) => {
      if (load.get('fun') !== 'saltutil.find_job') return published(JID, ['a']);
      asked += 1;
      const jid = `${FIND_JID.slice(0, -1)}${asked}`;
      setTimeout(() => {
        if (asked < 3) master.returns('a', mapOf({ jid: JID, pid: 1 }), jid);
        else master.returns('a', 'done');
      }, 5);
      return published(jid, ['a']);
    });
    const settings = { ...SETTINGS, gatherJobTimeoutMs: 500 };
    const all = await gather(new LocalClient(master.ports, settings));
    expect(all).toMatchObject([{ kind: 'return', ret: 'done' }]);
    expect(asked).toBe(3);
  });

  it('ends when the minions say that they do not run it', async () => {
    const master: FakeMaster = new FakeMaster((load) => {
      if (load.get('fun') !== 'saltutil.find_job') return published(JID, ['a']);
      setTimeout(() => master.returns('a', new Map(), FIND_JID), 5);
      return published(FIND_JID, ['a']);
    });
    const all = await gather(new LocalClient(master.ports, SETTINGS));
    expect(all).toEqual([{ kind: 'missing', id: 'a' }]);
  });

  describe('with order_masters', () => {
    const ABOVE: ClientSettings = { ...SETTINGS, orderMasters: true };

    it('ends if no lower master names a minion, without a question to any', async () => {
      const master = new FakeMaster(() => published(JID, []));
      expect(await gather(new LocalClient(master.ports, ABOVE))).toEqual([]);
      expect(master.loads).toHaveLength(1);
    });

    it('waits for lists of lower masters though all it knows of have returned', async () => {
      const master: FakeMaster = new FakeMaster(() => {
        master.returns('a', true);
        setTimeout(() => {
          master.fire(`syndic/syn/salt/job/${JID}/new`, { jid: JID, minions: ['low'] });
          master.returns('low', true);
        }, 10);
        return published(JID, ['a']);
      });
      const settings = { ...ABOVE, syndicWaitMs: 500 };
      const all = await gather(new LocalClient(master.ports, settings));
      expect(all.map(({ id }) => id)).toEqual(['a', 'low']);
    });

    it('asks and reports minions that only a lower master knows', async () => {
      const master: FakeMaster = new FakeMaster((load) => {
        if (load.get('fun') === 'saltutil.find_job') return published(FIND_JID, []);
        master.fire(`syndic/syn/salt/job/${JID}/new`, { jid: JID, minions: ['low'] });
        return published(JID, []);
      });
      const all = await gather(new LocalClient(master.ports, ABOVE));
      expect(all).toEqual([{ kind: 'missing', id: 'low' }]);
      expect(master.loads[1]?.get('tgt')).toEqual(['low']);
    });
  });

  it('stops on an error that the master reports', async () => {
    const master: FakeMaster = new FakeMaster(() => {
      master.fire(`salt/job/${JID}/error`, { error: 'refused' });
      return published(JID, ['a']);
    });
    const failure = gather(new LocalClient(master.ports, SETTINGS));
    await expect(failure).rejects.toThrow('Authorization error occurred');
  });
});

it('a reply in the outer form of the master is understood', () => {
  const reply = unpack(clearReply(mapOf({ jid: JID, minions: ['a'] })));
  expect(isMap(reply) && mapIn(reply, 'load')?.get('jid')).toBe(JID);
});
