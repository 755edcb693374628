import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { BRINE } from '@brine/testing/checkouts';
import { expect, it } from 'vitest';

it('brine demo starts a master and two minions, runs its jobs and stops', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [BRINE, 'demo']);
  for (const minion of ['one.demo', 'two.demo']) expect(stdout).toContain(`store.${minion}`);
  expect(stdout).toMatch(/stopped\.\s*$/);
});

it('brine demo --stay prints an address that logs a browser in, and runs until Ctrl-C', async () => {
  const stdio = ['ignore', 'pipe', 'inherit'] as const;
  const demo = spawn(process.execPath, [BRINE, 'demo', '--stay'], { stdio: [...stdio] });
  const ended = once(demo, 'exit');
  try {
    let shown = '';
    for await (const chunk of demo.stdout) {
      shown += String(chunk);
      if (shown.includes('Ctrl-C stops everything.')) break;
    }
    const [, base = '', code = ''] = /(http:\S+)\/console\/#code=(\S+)/.exec(shown) ?? [];
    const answer = await fetch(`${base}/v1/session`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Origin: base },
      body: JSON.stringify({ code }),
    });
    expect(answer.status).toBe(201);
  } finally {
    demo.kill('SIGINT');
  }
  expect(await ended).toEqual([0, null]);
});
