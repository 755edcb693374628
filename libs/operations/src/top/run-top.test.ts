import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { until } from '@brine/testing/waits';
import { expect, test } from 'vitest';
import { sampleCluster } from '../cluster-status/sample-cluster.fixture.ts';
import { runTop, type TopParts } from './run-top.ts';
import type { TopData } from './source.ts';
import type { TopState } from './state.ts';

/** A terminal that a test types on. */
function terminal() {
  const input = Object.assign(new PassThrough(), {
    raw: [] as boolean[],
    setRawMode(mode: boolean) {
      this.raw.push(mode);
      return this;
    },
  });
  const output = Object.assign(new EventEmitter(), {
    text: '',
    columns: 80,
    rows: 24,
    isTTY: true,
    write(chunk: string) {
      this.text += chunk;
      return true;
    },
  });
  return { input, output };
}

function scene(look: (state: Pick<TopState, 'view' | 'jid'>) => Promise<TopData>) {
  const { input, output } = terminal();
  const ending = new AbortController();
  const suspended: number[] = [];
  const running = runTop({
    source: { look },
    streams: { input, output } as unknown as TopParts['streams'],
    color: false,
    everyMs: 60_000,
    title: 'm1',
    suspend: () => void suspended.push(output.text.length),
    signal: ending.signal,
  });
  return { input, output, ending, suspended, running };
}

const DATA: TopData = {
  atMs: 0,
  cluster: sampleCluster(),
  perSecond: undefined,
  jobs: [],
  minions: undefined,
  silent: undefined,
};

const FIRST_PAGE = '\x1b[?1049l';

test('q gives the terminal back as it was', async () => {
  const { input, output, running } = scene(async () => DATA);
  await until('the picture is drawn', () => output.text.includes('host gone is silent'));
  expect(output.text).toContain('\x1b[?1049h');
  input.write('q');
  await running;
  expect(output.text.endsWith(FIRST_PAGE)).toBe(true);
  expect(input.raw).toEqual([true, false]);
});

test('a user who may see nothing of the master gets the terminal back, and the reason', async () => {
  const denied = Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' });
  const { output, running } = scene(() => Promise.reject(denied));
  await expect(running).rejects.toBe(denied);
  expect(output.text.endsWith(FIRST_PAGE)).toBe(true);
});

test('a signal ends it the same way', async () => {
  const { output, ending, running } = scene(async () => DATA);
  ending.abort();
  await running;
  expect(output.text.endsWith(FIRST_PAGE)).toBe(true);
});

test('a key changes the picture at once, and asks for what it shows', async () => {
  const asked: string[] = [];
  const { input, output, running } = scene(async ({ view }) => {
    asked.push(view);
    return DATA;
  });
  await until('it asked', () => asked.length === 1);
  input.write('3');
  await until('jobs are asked for', () => asked.includes('jobs'));
  expect(output.text).toContain('[3 jobs]');
  input.write('\x03');
  await running;
});

test('a master that is slow is asked once at a time', async () => {
  let open = 0;
  let most = 0;
  const answers: (() => void)[] = [];
  const { input, running } = scene(async () => {
    open += 1;
    most = Math.max(most, open);
    await new Promise<void>((resolve) => answers.push(resolve));
    open -= 1;
    return DATA;
  });
  for (const key of ['2', '3', '4']) input.write(key);
  await until('it is asked', () => answers.length === 1);
  answers[0]?.();
  await until('it is asked again, once', () => answers.length === 2);
  answers[1]?.();
  input.write('q');
  await running;
  expect(most).toBe(1);
});

test('Ctrl-Z gives the terminal back until the shell goes on', async () => {
  const { input, output, suspended, running } = scene(async () => DATA);
  input.write('\x1a');
  await until('it is suspended', () => suspended.length === 1);
  expect(output.text.slice(0, suspended[0]).endsWith(FIRST_PAGE)).toBe(true);
  await until('it is drawn again', () => output.text.slice(suspended[0]).includes('\x1b[?1049h'));
  input.write('q');
  await running;
  expect(input.raw).toEqual([true, false, true, false]);
});

test('another size is drawn from the first line', async () => {
  const { input, output, running } = scene(async () => DATA);
  output.columns = 40;
  output.emit('resize');
  await until('it is cleared', () => output.text.includes('\x1b[2J\x1b[H', 20));
  input.write('q');
  await running;
});
