import type { TestNats } from '@brine/testing';
import { startNats } from '@brine/testing';
import { headers } from '@nats-io/nats-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Bus } from '../connection/connect.ts';
import { isRecord } from '../connection/js-api.ts';
import { Bucket } from '../kv/bucket.ts';
import { putBody } from '../streams/bodies.ts';
import { escapeKey } from '../subjects/escape.ts';

/*
 * A gateway puts large requests into a stream and reads large answers there, and the server answers
 * such a question wherever the sender wants: with what is stored, or with `{"stream":…}`. Were that
 * a subject of a stream, a gateway could write keys that workers believe.
 */

const servers: TestNats[] = [];
beforeAll(async () => {
  servers.push(await startNats(), await startNats({ certificates: true }));
}, 600_000);
afterAll(() => Promise.all(servers.map((nats) => nats.close())));

type Connection = Bus['connection'];

const RECORD = Buffer.from('{"state":"accepted","pub":"PEM","at":1}');
const PUT = 'brine.bodies.req.forged';
const READ = '$JS.API.DIRECT.GET.brine_bodies.';
/** The streams of these. */
const STREAMS_HIT = [
  'EVENTS',
  'PUBLICATIONS',
  'brine_kept_bodies',
  'KV_brine_keys',
  'KV_brine_secrets',
];
/** Subjects that streams take in. */
const PLACES = [
  'brine.events.ret',
  'brine.events.key',
  'brine.publications.job',
  'brine.kept.evt.x.0',
  '$KV.brine_keys.web1',
  '$KV.brine_keys.forged',
  '$KV.brine_secrets.forged',
];

test.each([
  [0, 'password'],
  [1, 'certificate'],
])(
  'what server %i answers a gateway, known by %s, never becomes an event, a job, a key or a body',
  async (which) => {
    const nats = servers[which]!;
    const worker = await nats.connect('worker-pool');
    const owner = await nats.connect('event-bus');
    const gateway = await nats.connect('req-gateway');
    const keys = new Bucket(worker, 'brine_keys');
    await keys.put(escapeKey('web1'), RECORD);
    // A worker's large answer, such as that to `ping`, holds what was asked.
    const [, answer] = (await putBody(worker, 'rep', RECORD)).split('.');
    const stored = (): Promise<readonly unknown[]> =>
      Promise.all(
        STREAMS_HIT.map(async (stream) => {
          const told = await owner.inbox.request(`$JS.API.STREAM.INFO.${stream}`, '', {
            timeoutMs: 10_000,
          });
          const info: unknown = JSON.parse(Buffer.from(told.data).toString('utf8'));
          return isRecord(info) && isRecord(info['state']) ? info['state']['last_seq'] : info;
        }),
      );
    const before = await stored();

    const attack = (connection: Connection, places: readonly string[]): void => {
      const told = headers();
      told.set('Brine-Tag', 'salt/key');
      for (const [n, reply] of places.entries()) {
        connection.publish(`${PUT}.${n}`, RECORD, { reply, headers: told });
        const rightful = `${READ}brine.bodies.rep.${answer}.0`;
        connection.publish(rightful, '', { reply });
        connection.publish(`${READ}${PUT}.0`, '', { reply });
        for (const asked of [
          { last_by_subj: `${PUT}.0` },
          { seq: 1 },
          { multi_last: ['brine.>'] },
        ]) {
          connection.publish(rightful, JSON.stringify(asked), { reply });
        }
      }
    };
    attack(gateway.connection, PLACES);
    await gateway.flush();
    // The administrator can do this; once it is done, the server has handled the gateway's.
    const admin = await nats.connect('admin');
    attack(admin.connection, ['$KV.brine_requests.seen']);
    const seen = async () =>
      (await new Bucket(worker, 'brine_requests').get(escapeKey('seen')))?.value;
    await expect.poll(seen).toBeDefined();
    expect(await stored()).toEqual(before);
    expect(Buffer.from((await keys.get(escapeKey('web1')))!.value)).toEqual(RECORD);
  },
);
