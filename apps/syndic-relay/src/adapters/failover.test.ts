import type { MasterAbove, Sent } from '@brine/syndic';
import { mapOf } from '@brine/wire';
import { expect, test } from 'vitest';
import { failover } from './failover.ts';

const signal = new AbortController().signal;

function masters(answers: Readonly<Record<string, Sent>>) {
  const asked: string[] = [];
  const all = Object.entries(answers).map(([name, answer]): MasterAbove => {
    return {
      send: () => {
        asked.push(name);
        return Promise.resolve(answer);
      },
    };
  });
  return { all, asked };
}

test('the first that takes it has it', async () => {
  const { all, asked } = masters({ a: 'away', b: 'taken', c: 'taken' });
  expect(await failover(all, 'ordered', 3).send(mapOf({}), signal)).toBe('taken');
  expect(asked).toEqual(['a', 'b']);
});

test('while all are unreachable each is asked syndic_retries times', async () => {
  const { all, asked } = masters({ a: 'away', b: 'away' });
  expect(await failover(all, 'ordered', 3).send(mapOf({}), signal)).toBe('away');
  expect(asked).toEqual(['a', 'b', 'a', 'b', 'a', 'b']);
});

test('a request that one master refuses goes to no other', async () => {
  const { all, asked } = masters({ a: 'refused', b: 'taken' });
  expect(await failover(all, 'ordered', 3).send(mapOf({}), signal)).toBe('refused');
  expect(asked).toEqual(['a']);
});

test('in a random order by chance', async () => {
  const { all, asked } = masters({ a: 'taken', b: 'taken' });
  const chances = [0.9, 0.1];
  const any = failover(all, 'random', 1, () => chances.shift() ?? 0);
  await any.send(mapOf({}), signal);
  expect(asked).toEqual(['b']);
});
