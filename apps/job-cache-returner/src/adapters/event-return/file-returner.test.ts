import { appendFile, mkdtemp, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Batch, eventLine } from '@brine/event-return';
import { mapOf, pack } from '@brine/wire';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FileReturner } from './file-returner.ts';

let dir: string;
let path: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'brine-events-'));
  path = join(dir, 'events');
});
afterEach(() => rm(dir, { recursive: true, force: true }));

function event(n: number): Batch['events'][number] {
  const data = pack(mapOf({ n, text: 'é"\n' }));
  return { tag: `t/${n}`, timeMs: n, data, position: `p${n}` };
}

const batch = (from: number, to: number): Batch => ({
  events: Array.from({ length: to - from + 1 }, (_, n) => event(from + n)),
  from: `p${from - 1}`,
  to: `p${to}`,
});

const written = (): Promise<string> => readFile(path, 'utf8');
const lines = (...numbers: readonly number[]): string =>
  numbers.map((n) => eventLine(event(n))).join('');

async function opened(note?: unknown, host = 'h1'): Promise<FileReturner> {
  const returner = new FileReturner(path, host);
  await returner.open(note === undefined ? {} : { note });
  return returner;
}

test('events are lines of JSON behind what is there', async () => {
  await writeFile(path, 'of a stock master\n');
  const returner = await opened();
  await returner.write(batch(1, 2));
  await returner.write(batch(3, 3));
  expect(await written()).toBe(`of a stock master\n${lines(1, 2, 3)}`);
  const [, second = ''] = (await written()).split('\n');
  expect(JSON.parse(second)).toEqual({ tag: 't/1', data: { n: 1, text: 'é"\n' } });
});

test('what was written behind the saved place is not written again, in any order', async () => {
  const note = await (await opened()).write(batch(1, 2));
  const dead = await opened(note);
  await dead.write(batch(3, 5));
  // Its place was not saved: the next process gets the same events, perhaps in another order.
  const next = await opened(note);
  const again = { ...batch(3, 6), events: [event(4), event(3), event(6), event(5)] };
  await next.write(again);
  expect(await written()).toBe(lines(1, 2, 3, 4, 5, 6));
});

test('events that are alike are there as often as they came', async () => {
  const note = await (await opened()).write(batch(1, 1));
  const alike = { ...batch(2, 4), events: [event(2), event(2), event(2)] };
  await (await opened(note)).write({ ...alike, events: alike.events.slice(1) });
  await (await opened(note)).write(alike);
  expect(await written()).toBe(lines(1, 2, 2, 2));
});

test('a batch that was cut short is completed to the byte', async () => {
  const note = await (await opened()).write(batch(1, 1));
  const before = Buffer.byteLength(lines(1));
  const whole = Buffer.byteLength(lines(1, 2, 3));
  for (let size = before; size < whole; size += 1) {
    await writeFile(path, lines(1, 2, 3));
    await truncate(path, size);
    await (await opened(note)).write(batch(2, 3));
    const found = await written();
    expect(found.split('\n').filter(Boolean).sort()).toEqual(
      lines(1, 2, 3).split('\n').filter(Boolean).sort(),
    );
    // A new file has another inode, and the mark must mean this one.
    expect(found.endsWith('\n')).toBe(true);
  }
});

test('a line that is not of these events ends, and the events follow whole', async () => {
  const note = await (await opened()).write(batch(1, 1));
  await appendFile(path, 'half a li');
  await (await opened(note)).write(batch(2, 2));
  expect(await written()).toBe(`${lines(1)}half a li\n${lines(2)}`);
});

test('a file that was rotated, or of another host, is begun without a look behind', async () => {
  const note = await (await opened()).write(batch(1, 1));
  await rename(path, `${path}.1`);
  const rotated = await opened(note);
  await rotated.write(batch(2, 2));
  expect(await written()).toBe(lines(2));
  const elsewhere = await opened(note, 'h2');
  await elsewhere.write(batch(2, 3));
  expect(await written()).toBe(lines(2, 2, 3));
});

test('a directory that is not there is an outage', async () => {
  const returner = new FileReturner(join(dir, 'no', 'events'), 'h1');
  await returner.open({});
  await expect(returner.write(batch(1, 1))).rejects.toMatchObject({ failure: 'away' });
});
