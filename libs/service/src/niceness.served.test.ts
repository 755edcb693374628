import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const run = promisify(execFile);
const NICENESS = new URL('./niceness.ts', import.meta.url).pathname;

/** A process of its own: the niceness of this one must not change. */
const SCRIPT = `
const { readdirSync, readFileSync } = await import('node:fs');
const { applyNiceness } = await import(process.argv[1]);
const said = [];
const log = { info: () => undefined, warn: (fields, text) => said.push(text) };
applyNiceness('publisher', { pubServerNiceness: Number(process.argv[2]) }, log);
const nice = readdirSync('/proc/self/task').map((thread) => {
  const stat = readFileSync('/proc/self/task/' + thread + '/stat', 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]);
});
process.stdout.write(JSON.stringify({ nice, said }));`;

async function applied(
  niceness: number,
  by: readonly [string, ...string[]] = [process.execPath],
): Promise<{ nice: number[]; said: string[] }> {
  const tsx = ['--import', 'tsx', '--conditions=source', '--input-type=module', '-e', SCRIPT];
  const [program, ...before] = by;
  // tsx would leave a directory of the other user.
  const env = { ...process.env, TSX_DISABLE_CACHE: '1' };
  const args = [...before, ...tsx, NICENESS, String(niceness)];
  const { stdout } = await run(program, args, { env });
  return JSON.parse(stdout) as { nice: number[]; said: string[] };
}

test('every thread of a service gets the niceness of its option', async () => {
  const [before = 0] = (await applied(0)).nice;
  const { nice, said } = await applied(3);
  expect(nice.length).toBeGreaterThan(4);
  expect(new Set(nice)).toEqual(new Set([Math.min(19, before + 3)]));
  expect(said).toEqual([]);
});

test('one that the host refuses is told of', async () => {
  // Root may do all of it, but not in a user namespace.
  const { said } = await applied(-5, ['unshare', '--user', process.execPath]);
  expect(said).toEqual(['niceness is not in force: only root may lower it']);
});
