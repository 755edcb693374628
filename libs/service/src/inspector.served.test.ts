import { type ChildProcess, spawn } from 'node:child_process';
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { cleanNodeOptions, keepInspectorShut, withoutInspector } from './inspector.ts';

const SERVICE = fileURLToPath(new URL('../fixtures/service.mjs', import.meta.url));
const LINE_MS = 60_000;

let dir = '';
const children: ChildProcess[] = [];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'brine-inspector-'));
  writeFileSync(join(dir, 'master'), `root_dir: ${dir}\nlog_level: info\n`);
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(dir, { recursive: true, force: true });
});

/** A service whose inspector would open at any free port, and what it writes. */
function start(words: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const loader = ['--import', 'tsx', '--conditions=source'];
  const child = spawn(process.execPath, [...words, ...loader, SERVICE, '-c', dir], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  });
  children.push(child);
  let written = '';
  const ended = new Promise<never>((_resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`ended with ${code}: ${written}`)));
  });
  ended.catch(() => undefined);
  const heard: (() => void)[] = [];
  child.stderr?.on('data', (chunk: Buffer) => {
    written += chunk.toString();
    for (const look of heard) look();
  });
  const says = (text: string): Promise<void> => {
    const seen = new Promise<void>((resolve, fail) => {
      const late = setTimeout(() => fail(new Error(`no ${text} in: ${written}`)), LINE_MS);
      const look = (): void => {
        if (!written.includes(text)) return;
        clearTimeout(late);
        resolve();
      };
      heard.push(look);
      look();
    });
    return Promise.race([seen, ended]);
  };
  const ready = new Promise<void>((resolve) => child.once('message', () => resolve()));
  return { child, says, ready: Promise.race([ready, ended]), written: () => written };
}

/** Sockets of TCP on which a process listens. */
function listening(pid: number): number {
  const own = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? [];
      } catch {
        return []; // Closed since it was listed.
      }
    }),
  );
  const rows = ['tcp', 'tcp6'].flatMap((name) =>
    readFileSync(`/proc/${pid}/net/${name}`, 'utf8').split('\n').slice(1),
  );
  const LISTEN = '0A';
  return rows
    .map((row) => row.trim().split(/\s+/))
    .filter(([, , , state, , , , , , inode]) => state === LISTEN && own.has(inode ?? '')).length;
}

describe('a service', () => {
  test('takes SIGUSR1 for a question, and opens nothing', async () => {
    const { child, says, ready, written } = start(['--inspect-port=127.0.0.1:0']);
    await ready;
    const before = listening(child.pid ?? 0);
    for (let i = 0; i < 3; i += 1) child.kill('SIGUSR1');
    await says('SIGUSR1 is taken');
    await says('"served":1');
    expect(written()).not.toContain('Debugger listening');
    expect(listening(child.pid ?? 0)).toBe(before);
  });

  test('closes an inspector that the environment opened', async () => {
    const { child, says, ready } = start([], { NODE_OPTIONS: '--inspect=127.0.0.1:0' });
    await says('the inspector that NODE_OPTIONS opened is closed');
    await ready;
    // Only its health endpoint.
    expect(listening(child.pid ?? 0)).toBe(1);
  });
});

test('a process that the signal reaches before its first line can open nothing', async () => {
  const own = process.execArgv;
  keepInspectorShut();
  // What a fork takes from us.
  const taken = process.execArgv.filter((order) => order.startsWith('--inspect'));
  process.execArgv = own;
  process.removeAllListeners('SIGUSR1');
  const code = 'process.send(1); setInterval(() => undefined, 1000)';
  const child = spawn(process.execPath, [...taken, '-e', code], {
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  });
  children.push(child);
  await new Promise((resolve) => child.once('message', resolve));
  const told = new Promise<string>((resolve) =>
    child.stderr?.once('data', (chunk: Buffer) => resolve(chunk.toString())),
  );
  child.kill('SIGUSR1');
  expect(await told).toContain('failed: address not available');
  expect(listening(child.pid ?? 0)).toBe(0);
});

describe('options of the inspector are taken out', () => {
  test.each([
    ['--inspect', ''],
    ['--inspect=0.0.0.0:9229 --max-old-space-size=100', '--max-old-space-size=100'],
    ['--no-warnings --inspect-brk', '--no-warnings'],
    ['--inspect_brk=1', ''],
    ['"--inspect" --no-warnings', '--no-warnings'],
    ['--insp\\ect', ''],
    ['--inspect-port 9230 --no-warnings', '--no-warnings'],
    ['--inspect_port "9230"', ''],
    ['--debug-port=9230', ''],
    ['--inspect-publish-uid=http --inspect-wait', ''],
    ['--require "./a b.cjs" --inspect', '--require "./a b.cjs"'],
    ['--inspector-not-this', '--inspector-not-this'],
    ['--title=--inspect', '--title=--inspect'],
  ])('%s', (text, left) => expect(cleanNodeOptions(text)).toBe(left));

  test('of a command line too', () => {
    expect(withoutInspector(['--inspect', '-r', 'x', '--inspect-port', '1'])).toEqual(['-r', 'x']);
  });
});
