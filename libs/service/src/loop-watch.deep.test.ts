import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { faultLasts, until } from '@brine/testing/waits';
import { afterEach, expect, test } from 'vitest';

const BLOCKED = fileURLToPath(new URL('../fixtures/blocked.mjs', import.meta.url));

let child: ChildProcess | undefined;
const crowd: ChildProcess[] = [];

afterEach(() => {
  for (const one of [child, ...crowd.splice(0)]) one?.kill('SIGKILL');
});

function start(...args: string[]) {
  const stdio: ('ignore' | 'pipe')[] = ['ignore', 'pipe', 'pipe'];
  const options = ['--import', 'tsx', '--conditions=source'];
  const started = spawn(process.execPath, [...options, BLOCKED, ...args], { stdio });
  child = started;
  let beats = 0;
  let stderr = '';
  started.stdout?.on('data', (chunk: Buffer) => {
    beats += chunk.toString().split('beat').length - 1;
  });
  started.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const exit = once(started, 'close').then(([code, signal]) => ({ code, signal }));
  return { started, exit, stderr: () => stderr, beats: () => beats };
}

test.each(['busy', 'matching', 'microtasks'])(
  'a process whose loop is blocked (%s) is ended, and its log says where it was',
  async (how) => {
    const { exit, stderr } = start(how);
    expect(await exit).toEqual({ code: null, signal: 'SIGKILL' });
    const line = JSON.parse(stderr()) as { stack: string[]; msg: string };
    expect(line).toMatchObject({ level: 'fatal', service: 'fixture', stalledMs: 1000 });
    expect(line.msg).toBe('the event loop is blocked, ending this process');
    const frame = /^(busy|matching|turn) .*\/fixtures\/blocked\.mjs:\d+$/;
    expect(line.stack[0] ?? 'no stack').toMatch(frame);
  },
);

test('one that is blocked in a system call is ended without a stack', async () => {
  const { exit, stderr } = start('waiting');
  expect(await exit).toEqual({ code: null, signal: 'SIGKILL' });
  expect(JSON.parse(stderr())).toMatchObject({ stack: [] });
});

test('one that was stopped for longer goes on: it did not stall', async () => {
  const { started, exit, stderr, beats } = start('no way', '2000');
  let ended = false;
  void exit.then(() => (ended = true));
  await until('ten beats', () => beats() > 10);
  started.kill('SIGSTOP');
  await faultLasts(4_000);
  const before = beats();
  started.kill('SIGCONT');
  await until('thirty beats more, or its end', () => ended || beats() > before + 30);
  expect(ended).toBe(false);
  expect(stderr()).toBe('');
});

test('one that has to wait for a CPU goes on: it does not stand still', async () => {
  const { started, exit, stderr, beats } = start('working');
  let ended = false;
  void exit.then(() => (ended = true));
  await until('three turns', () => beats() > 2);
  // With six others on its CPU, a turn of 0.3 s takes about 2 s.
  for (let n = 0; n < 6; n += 1) {
    crowd.push(spawn('taskset', ['-c', '0', process.execPath, '-e', 'for (;;);']));
  }
  await once(spawn('taskset', ['-a', '-c', '-p', '0', String(started.pid)]), 'close');
  const before = beats();
  const isOver = (): boolean => ended || beats() > before + 3;
  await until('three turns more, or its end', isOver, { withinMs: 120_000 });
  expect(ended).toBe(false);
  expect(stderr()).toBe('');
});
