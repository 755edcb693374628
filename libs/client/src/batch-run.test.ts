import { isMap, listOf, mapIn, mapOf, pack, type SaltValue, textOf, unpack } from '@brine/wire';
import { describe, expect, it } from 'vitest';
import { batchSize, type BatchStep, runBatch } from './batch-run.ts';
import { BatchSizeError } from './errors.ts';
import { LocalClient } from './local-client.ts';

const JID = '20261120171037123456';

describe('the size of a batch', () => {
  it.each([
    ['10', 3, 10],
    ['0', 3, 1],
    ['50%', 3, 1],
    ['50%', 4, 2],
    ['10%', 2, 1],
    ['100%', 7, 7],
  ])('%s of %i minions', (spec, minions, size) => {
    expect(batchSize(spec, minions)).toBe(size);
  });

  it('must be a number or a percentage', () => {
    expect(() => batchSize('abc', 3)).toThrow(new BatchSizeError('abc'));
  });
});

/** Minions that answer every publication at once, each with its own retcode. */
function clientOf(retcodes: Readonly<Record<string, number>>): LocalClient {
  let fire: (tag: string, packed: Uint8Array) => void = () => undefined;
  let count = 0;
  return new LocalClient(
    {
      request: {
        request: async (body) => {
          const envelope = unpack(body);
          const load = (isMap(envelope) ? mapIn(envelope, 'load') : undefined) ?? new Map();
          count += 1;
          const jid = textOf(load, 'jid') || `2026112017103700000${count}`;
          const wanted = listOf(load, 'tgt') ?? Object.keys(retcodes);
          const ping = load.get('fun') === 'test.ping';
          const ids = wanted.filter((id): id is string => typeof id === 'string');
          setTimeout(() => {
            for (const id of ids) {
              const data = { id, jid, return: true, retcode: ping ? 0 : (retcodes[id] ?? 0) };
              fire(`salt/job/${jid}/ret/${id}`, pack(mapOf(data), 'bin'));
            }
          }, 1);
          return pack(mapOf({ enc: 'clear', load: mapOf({ jid, minions: ids }) }));
        },
      },
      events: {
        listen: async (onEvent) => {
          fire = onEvent;
          return { close: () => undefined };
        },
      },
      master: { isPresent: () => true, readKey: async () => 'key' },
      logError: () => undefined,
    },
    {
      user: 'root',
      nodegroups: new Map(),
      configFile: 'master',
      timeoutMs: 1000,
      gatherJobTimeoutMs: 1000,
      orderMasters: false,
      syndicWaitMs: 0,
      sockDir: '/sock',
    },
  );
}

async function steps(
  retcodes: Readonly<Record<string, number>>,
  size: string,
  failhard = false,
): Promise<BatchStep[]> {
  const all: BatchStep[] = [];
  const arg: SaltValue[] = [];
  const command = { tgt: '*', tgtType: 'glob', fun: 'lab.retcode', arg };
  const settings = { size, waitMs: 0, failhard, jid: JID };
  for await (const step of runBatch(clientOf(retcodes), command, settings)) all.push(step);
  return all;
}

describe('a batch', () => {
  it('starts the next minion before it shows the return that made room', async () => {
    const all = await steps({ a: 0, b: 0, c: 0 }, '1');
    expect(all.map((step) => step.kind)).toEqual([
      'start',
      'start',
      'return',
      'start',
      'return',
      'return',
    ]);
  });

  it('runs every part under one job id', async () => {
    const all = await steps({ a: 0, b: 0 }, '1');
    const jids = all.map((step) => (step.kind === 'return' ? step.jid : JID));
    expect(new Set(jids)).toEqual(new Set([JID]));
  });

  it('stops after the first bad return if asked to', async () => {
    const all = await steps({ a: 3, b: 0 }, '1', true);
    expect(all.map((step) => step.kind)).toEqual(['start', 'return', 'halted']);
  });
});
