import type { RequestOutcome, RequestToSend } from '@brine/bus/rpc';
import type { SaltMap } from '@brine/wire';
import { mapOf, pack } from '@brine/wire';
import { readEnvelope } from '@brine/wire/frames';
import type { PublishRequest } from '@brine/wire/load';
import { parsePublish } from '@brine/wire/load';
import { expect, test } from 'vitest';
import { RequestsBelow } from './below.ts';

const JOB: PublishRequest = {
  tgt: '*',
  tgtType: 'glob',
  fun: 'test.ping',
  arg: [],
  ret: '',
  jid: '20261122101112131415',
};

/** Publishes over workers that give these answers; the clock stands but for waits. */
function relay(answers: readonly RequestOutcome[], keys: readonly (string | undefined)[] = ['k']) {
  const sent: RequestToSend[] = [];
  const told: string[] = [];
  let now = 1_000;
  const tell = (_fields: object, text: string): void => void told.push(text);
  const below = new RequestsBelow({
    requests: {
      send: (request) => {
        sent.push(request);
        return Promise.resolve(answers[Math.min(sent.length, answers.length) - 1] ?? GONE);
      },
    },
    readKey: () => Promise.resolve(keys[Math.min(sent.length, keys.length - 1)]),
    log: { info: tell, warn: tell, error: tell },
    nowMs: () => now,
    wait: (ms) => {
      now += ms;
      return Promise.resolve();
    },
  });
  return { below, sent, told };
}

const GONE: RequestOutcome = { kind: 'expired', why: 'deadline', handed: false };

function reply(body: SaltMap): RequestOutcome {
  return { kind: 'reply', body: pack(body) };
}

const PUBLISHED = reply(mapOf({ enc: 'clear', load: mapOf({ jid: JOB.jid, minions: ['a'] }) }));

test('publishes with the key of the master, as a local client does', async () => {
  const { below, sent } = relay([PUBLISHED]);
  expect(await below.publish(JOB, 'syndic:1')).toBe('published');
  const [request] = sent;
  expect(request).toMatchObject({ id: 'syndic:1', class: 'clear' });
  const envelope = readEnvelope(request?.body ?? pack(''), { minimumAuthVersion: 0 });
  if (envelope.enc !== 'clear') throw new Error('not clear');
  expect(parsePublish(envelope.load)).toEqual({ ...JOB, key: 'k' });
});

test('the same request goes again while no worker takes it, and then no more', async () => {
  const away = relay([GONE, GONE, PUBLISHED]);
  expect(await away.below.publish(JOB, 'syndic:1')).toBe('published');
  expect(away.sent.map(({ id }) => id)).toEqual(['syndic:1', 'syndic:1', 'syndic:1']);
  const gone = relay([GONE]);
  expect(await gone.below.publish(JOB, 'syndic:1')).toBe('away');
  expect(gone.sent.length).toBeLessThanOrEqual(100);
});

test('a master without a match and a refusal have different outcomes', async () => {
  const nobody = relay([reply(mapOf({ enc: 'clear', load: mapOf({ jid: null, minions: [] }) }))]);
  expect(await nobody.below.publish(JOB, 'x')).toBe('nobody');
  const error = mapOf({ name: 'AuthorizationError', message: 'Authorization error occurred.' });
  const refused = relay([reply(mapOf({ error }))]);
  expect(await refused.below.publish(JOB, 'x')).toBe('refused');
  expect(refused.told).toEqual(['a job from above was refused']);
});

test('waits for the key of a master that has just been set up', async () => {
  const { below, sent, told } = relay([PUBLISHED], [undefined]);
  expect(await below.publish(JOB, 'x')).toBe('away');
  expect(sent).toEqual([]);
  expect(told[0]).toContain('is not there yet');
});
