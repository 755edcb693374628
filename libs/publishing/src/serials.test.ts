import type { PublicationTimes } from '@brine/bus/jobs';
import { expect, test } from 'vitest';
import { EpochChoice } from './serials.ts';

type Place = Parameters<EpochChoice['of']>[0];

const base = { subject: '', incarnation: 'i', timeUs: 0, deliveries: 1 };
const nothing = {
  written: () => undefined,
  ack: () => undefined,
  nak: () => undefined,
  failed: () => undefined,
};
const again = (seq: number, jobSeq: number): Place => ({
  ...base,
  ...nothing,
  seq,
  kind: 'again',
  again: { jid: 'j', seq: jobSeq, notAfter: 0 },
});

/** The marker of epoch 2 stands at 1,000, of the time 5,000. */
const rotated = {
  overtaking: (seq: number, serial: number) => (seq < 1_000 && serial < 5_000 ? 2 : undefined),
};
/** The stream has `jobs` jobs, 1 to `jobs`, then the marker. */
function started(jobs: number): EpochChoice {
  const before: PublicationTimes['times'] = [
    ...Array.from({ length: jobs }, (_, n) => ({ seq: n + 1, kind: 'job', timeUs: n }) as const),
    { seq: 1_000, kind: 'marker', timeUs: 5_000 },
  ];
  const choice = new EpochChoice(rotated);
  choice.seed(1, before);
  return choice;
}

test('a new key overtakes jobs that stand before its marker', () => {
  const choice = started(3);
  expect(choice.of(again(4, 3), 4_999)).toBe(2);
  choice.marker(2);
  expect(choice.of(again(1_001, 3), 5_001)).toBe(2);
});

test('a serial that would make minions deaf to the next ones goes out under its own key', () => {
  expect(started(3).of(again(4, 3), 5_000)).toBe(1);
});

test('jobs of which a minion may have forgotten the jid go out under the key they had', () => {
  const choice = started(100);
  // 80 later ones, and 79.
  expect(choice.of(again(500, 20), 20)).toBe(1);
  expect(choice.of(again(500, 21), 21)).toBe(2);
});

test('no minion ran a job that a publisher had not sent before its key was overtaken', () => {
  const choice = new EpochChoice(rotated);
  choice.seed(1, []);
  expect(choice.of(again(500, 1), 20)).toBe(2);
});
