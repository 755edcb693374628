import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { runFailing } from './run-failing.ts';

type Run = Awaited<ReturnType<typeof runFailing>>;

// What starts masters has the time of a hook.
let ofMaster: Run;
let ofHook: Run;
beforeAll(async () => {
  ofMaster = await runFailing('master');
  ofHook = await runFailing('hook', { BRINE_KEEP_FAILED: '1' });
});

/** The reports by the directory that they are about. */
function reportsIn(output: string): ReadonlyMap<string, string> {
  const found = [...output.matchAll(/^--- (\S+) \([^]*?\n---$/gm)];
  const reports = new Map(found.map(([text, dir]) => [dir!, text]));
  expect(reports.size).toBe(found.length);
  return reports;
}

test('a failed test tells once of its master: versions, settings, logs, events, jobs', () => {
  const { code, output } = ofMaster;
  const reports = reportsIn(output);
  expect(code).toBe(1);
  expect(output).toMatch(/2 failed \| 1 passed/);
  expect(reports.size).toBe(1);
  const [[dir, text] = ['', '']] = reports;
  expect(text).toMatch(/Brine \d+\.\d+\.\d+ \(.+\), Node \d+\.\d+\.\d+, Salt none/);
  expect(text).toMatch(/master: .*gather_job_timeout: 2.*my_password: "\(left out\)"/);
  expect(text).toMatch(/minion: .*id: "witness"/);
  expect(text).toMatch(/event-bus ready, pid \d+/);
  expect(text).toMatch(/ret salt\/job\/\d{20}\/ret\/witness \(\d+ B\)/);
  const job = text.slice(text.search(/\d{20} test\.echo\n/));
  expect(job).toMatch(/jobs\.why:\n +nobody:\n/);
  expect(job).toMatch(/trace:\n +job \d{20} .*\n(?:.*\n)*? +└─ gateway\.publish /);
  expect(text).toMatch(/\{dir\}\/master\.log:\n.+/);
  expect(text).toMatch(/\{dir\}\/minion-witness\.log:\n.+/);
  expect(text).not.toContain('not to be had');
  expect(text.length).toBeLessThan(100_000);
  expect(output).toMatch(/master\.failing\.ts: masters 1 \(\d+\.\d s\), minions 1 \(\d+\.\d s\)\n/);
  expect(output).not.toContain('hunter2');
  expect(dir).not.toBe('');
  expect(existsSync(dir)).toBe(false);
  const unharmed = /unharmed: (\S+)/.exec(output)?.[1] ?? '';
  expect([unharmed !== '', existsSync(unharmed)]).toEqual([true, false]);
});

test('a failed hook tells too, and a test whose sandbox was closed; --keep keeps both', async () => {
  const { output } = ofHook;
  const reports = reportsIn(output);
  const dirs = [...reports.keys()];
  try {
    expect(reports.size).toBe(2);
    for (const said of ['before the hook failed', 'before the test failed']) {
      const text = [...reports.values()].find((one) => one.includes(said)) ?? '';
      expect(text).toContain('(kept)');
      expect(text).toContain('nats://…@127.0.0.1');
      const lines = text.split('\n').filter((line) => line.includes(said));
      expect([lines.length, lines[0], lines.at(-1)]).toEqual([
        40,
        `    ${said} 60`,
        `    ${said} 99`,
      ]);
    }
    expect(output).not.toContain('hunter2');
    expect(dirs.map((dir) => existsSync(join(dir, 'minion-alone.log')))).toEqual([true, true]);
  } finally {
    for (const dir of dirs) await rm(dir, { recursive: true });
  }
});
