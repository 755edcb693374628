import { type MasterBelow, type PublishedBelow, tokenOf } from '@brine/syndic';
import type { SaltMap } from '@brine/wire';
import { mapOf } from '@brine/wire';
import type { PublishedJob } from '@brine/wire/load';
import { expect, test } from 'vitest';
import { Downward } from './downward.ts';

const TOKEN = tokenOf('above:4506');
const SETTINGS = {
  masterId: 'below',
  timeout: 5,
  orderMasters: false,
  extJobCache: '',
  user: 'root',
};

function job(jid: string, rest: SaltMap = mapOf({})): PublishedJob {
  return { fun: 'test.ping', arg: [], tgt: '*', tgtType: 'glob', jid, ret: '', rest };
}

function relay(publish: MasterBelow['publish']) {
  const told: string[] = [];
  const tell = (_fields: object, text: string): void => void told.push(text);
  const log = { info: tell, warn: tell, error: tell };
  return { downward: new Downward({ publish }, SETTINGS, log), told };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('each job is counted by its outcome', async () => {
  const outcomes: PublishedBelow[] = ['published', 'nobody', 'refused', 'away'];
  const { downward, told } = relay(({ jid }) =>
    Promise.resolve(outcomes[Number(jid)] ?? 'published'),
  );
  for (const [index] of outcomes.entries()) downward.take(job(String(index)), TOKEN);
  await turn();
  const counts = { inHand: 0, published: 1, nobody: 1, refused: 1, lost: 1, own: 0 };
  expect(downward.stats).toEqual(counts);
  expect(told).toEqual(['a job from above is lost: no worker took it in time']);
});

test('a job of this master that comes round is passed over, and reported once', () => {
  const { downward, told } = relay(() => Promise.reject(new Error('published')));
  for (const jid of ['1', '2']) downward.take(job(jid, mapOf({ master_id: 'below' })), TOKEN);
  expect(downward.stats).toMatchObject({ own: 2, inHand: 0 });
  expect(told).toHaveLength(1);
});

test('no more than a thousand jobs wait for a worker', () => {
  const { downward, told } = relay(() => new Promise(() => undefined));
  for (let index = 0; index < 1_003; index += 1) downward.take(job(String(index)), TOKEN);
  expect(downward.stats).toMatchObject({ inHand: 1_000, lost: 3 });
  expect(told).toEqual(['jobs from above are lost: too many wait for a worker']);
});
