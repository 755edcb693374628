import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { ProcessTree, spent, total } from './process-tree.ts';
import { descendants, parseRollup, parseStat, readProcesses } from './processes.ts';
import { serviceOf } from './services.ts';

const STAT = '42 (a) b) (c) S 7 42 42 0 -1 4194560 1 2 3 4 100 20 30 4 20 0 5 0 98765 1 2 99';

describe('parseStat', () => {
  it('reads a name with blanks and parentheses', () => {
    expect(parseStat(STAT)).toEqual({
      pid: 42,
      parent: 7,
      name: 'a) b) (c',
      ownTicks: 120,
      reapedTicks: 34,
      startTick: 98765,
    });
  });

  it('refuses another text', () => {
    expect(() => parseStat('nothing')).toThrow(/not a line/);
    expect(() => parseStat('42 (cut) S 7')).toThrow(/not a line/);
  });
});

describe('descendants', () => {
  const process = (pid: number, parent: number) => ({ ...parseStat(STAT), pid, parent });

  it('are the root, its children and theirs, and no other', () => {
    const all = [process(5, 3), process(1, 0), process(3, 2), process(2, 1), process(9, 1)];
    expect(descendants(2, all).map(({ pid }) => pid)).toEqual([2, 3, 5]);
    expect(descendants(77, all)).toEqual([]);
  });
});

describe('parseRollup', () => {
  it('takes Pss itself, and what of it is not shared memory', () => {
    const text = 'Rss:  10 kB\nPss_Anon: 1 kB\nPss:   7 kB\nPss_Shmem: 3 kB\n';
    expect(parseRollup(text)).toEqual({ rss: 10, pss: 7, own: 4 });
  });
});

describe('serviceOf', () => {
  it.each([
    ['/usr/bin/node /srv/brine/apps/worker-pool/dist/main.js -c /etc/salt', 'worker-pool'],
    ['node /srv/brine/apps/event-bus/dist/joined/main.js', 'event-bus'],
    ['node /srv/brine/apps/cli/bin/brine.mjs master -c /etc/salt', 'supervisor'],
    ['/srv/cache/nats-server/2.12.8/nats-server -c nats.conf', 'nats-server'],
    ['postgres: brine brine 127.0.0.1(5000) idle', 'postgresql'],
    ['/v/bin/python /v/bin/salt-master -c /etc/salt MWorker-3', 'MWorker'],
    ['/v/bin/python /v/bin/salt-master -c /etc/salt', 'salt-master'],
    ['sleep 10', 'other'],
  ])('%s is %s', (line, service) => {
    expect(serviceOf(line)).toBe(service);
  });
});

describe('ProcessTree', () => {
  const burn =
    'const end = process.cpuUsage().user + 400000; while (process.cpuUsage().user < end);';

  it('counts the CPU time of children, also of those that have ended', async () => {
    const args = JSON.stringify(['-e', burn]);
    const child = `require('node:child_process').spawnSync(process.execPath, ${args});`;
    const stay = `${child} process.stdout.write('done'); setInterval(() => undefined, 1000);`;
    const root = spawn(process.execPath, ['-e', stay], { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      const tree = new ProcessTree(root.pid ?? 0);
      await once(root.stdout, 'data');
      const used = total(await tree.cpu());
      expect(used).toBeGreaterThan(0.39);
      expect(used).toBeLessThan(5);
      const sizes = Object.values(await tree.sizes());
      expect(sizes.reduce((sum, { pss }) => sum + pss, 0)).toBeGreaterThan(1_000);
      expect(sizes.every(({ descriptors }) => descriptors > 2)).toBe(true);
    } finally {
      root.kill('SIGKILL');
    }
  });

  it('counts a service that began or ended between two samples', () => {
    expect(spent({ a: 1, b: 2 }, { a: 1.5, c: 4 })).toEqual({ a: 0.5, b: -2, c: 4 });
  });

  it('has nothing of a process that is gone', async () => {
    const gone = spawn(process.execPath, ['-e', '0']);
    await once(gone, 'exit');
    expect((await readProcesses()).some(({ pid }) => pid === gone.pid)).toBe(false);
    expect(await new ProcessTree(gone.pid ?? 0).cpu()).toEqual({});
  });
});
