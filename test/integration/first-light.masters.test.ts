import { BrineMaster } from '@brine/testing';
import { faultLasts } from '@brine/testing/waits';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const MINIONS = ['light-1', 'light-2'];
/** A command ends by events; the store commits beside. */
const STORED = { timeout: 30_000 };

describe('a whole master with two minions', () => {
  let master: BrineMaster;

  beforeAll(async () => {
    master = await BrineMaster.start({}, { firstStart: true });
    for (const id of MINIONS) await master.startMinion(id);
    await master.acceptKeys(MINIONS);
    await master.waitForMinions(MINIONS);
  });
  afterAll(async () => {
    await master.close();
  });

  async function jidOf(...args: string[]): Promise<string> {
    const { stdout } = await master.brine('salt', [...args, '--show-jid']);
    const jid = /^jid: (\d{20})$/m.exec(stdout)?.[1];
    if (jid === undefined) throw new Error(`no job id in ${stdout}`);
    return jid;
  }

  it('runs eight services and says so', async () => {
    const names = (await master.services()).map((service) => service.name);
    for (const name of [
      'event-bus',
      'job-cache-returner',
      'publisher',
      'req-gateway',
      'syndic-relay',
      'http-api',
    ]) {
      expect(names).toContain(name);
    }
    expect(names.filter((name) => name.startsWith('worker-pool'))).toHaveLength(2);
    expect(names).toContain('runner-pool');
  });

  it('prints answers as salt does', async () => {
    const { code, stdout, stderr } = await master.brine('salt', ['*', 'test.ping']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const id of MINIONS) expect(stdout).toContain(`${id}:\n    True\n`);
  });

  it('answers commands whose connection the event bus was too busy to take', async () => {
    const bus = (await master.services()).find(({ name }) => name === 'event-bus');
    if (bus?.pid === undefined) throw new Error('no event bus');
    process.kill(bus.pid, 'SIGSTOP');
    // The system connects them; what they wait for is in the stream before the bus takes them.
    const shows = Array.from({ length: 4 }, () =>
      master.brine('run', ['pillar.show_pillar', 'nobody', '--out', 'json'], 30_000),
    );
    try {
      await faultLasts(4_000);
    } finally {
      process.kill(bus.pid, 'SIGCONT');
    }
    for (const { code, stdout } of await Promise.all(shows)) {
      expect({ code, stdout: stdout.trim() }).toEqual({ code: 0, stdout: '{}' });
    }
  });

  it('targets by glob, list, regex, grain and compound', async () => {
    const ids = async (...args: string[]): Promise<string[]> => {
      const { stdout } = await master.brine('salt', [
        ...args,
        'test.ping',
        '--static',
        '--out',
        'json',
      ]);
      return Object.keys(JSON.parse(stdout) as object).sort();
    };
    expect(await ids('light-?')).toEqual(MINIONS);
    expect(await ids('-L', 'light-2')).toEqual(['light-2']);
    expect(await ids('-E', 'light-(1|3)')).toEqual(['light-1']);
    expect(await ids('-G', 'id:light-2')).toEqual(['light-2']);
    expect(await ids('-C', 'G@kernel:Linux and not light-1')).toEqual(['light-2']);
  });

  it('exits as salt does when no minion matches and when a command fails', async () => {
    const nobody = await master.brine('salt', ['nobody*', 'test.ping']);
    expect(nobody.code).toBe(2);
    expect(nobody.stdout).toContain(
      'No minions matched the target. No command was sent, no jid was assigned.',
    );
    const failed = await master.brine('salt', ['light-1', 'cmd.run', 'exit 3']);
    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain('ERROR: Minions returned with non-zero exit code');
  });

  it('keeps bytes that are not UTF-8 from a command to the database and back', async () => {
    const jid = await jidOf('light-1', 'cmd.run', 'printf "a\\\\377\\\\376z"');
    const args = ['jobs.lookup_jid', jid, '--out', 'raw'];
    await expect
      .poll(async () => (await master.brine('run', args)).stdout, STORED)
      .toContain(`'light-1': b'a\\xff\\xfez'`);
  });

  it('keeps the job in PostgreSQL and its way in one trace', async () => {
    const jid = await jidOf('*', 'test.echo', 'seen');
    const stored = async (): Promise<object> => {
      const { stdout } = await master.brine('run', ['jobs.list_job', jid, '--out', 'json']);
      const job = JSON.parse(stdout) as { Function: string; Result: Record<string, unknown> };
      return { fun: job.Function, ids: Object.keys(job.Result).sort() };
    };
    await expect.poll(stored, STORED).toEqual({ fun: 'test.echo', ids: MINIONS });
    let trace = '';
    const until = Date.now() + 15_000;
    while (!trace.includes('store') && Date.now() < until) {
      trace = (await master.brine('trace', [jid])).stdout;
    }
    for (const part of ['gateway', 'worker', 'record', 'publish', 'store']) {
      expect(trace).toContain(part);
    }
  });

  it('lists keys by state', async () => {
    const { stdout } = await master.brine('key', ['-L', '--out', 'json']);
    expect(JSON.parse(stdout)).toMatchObject({ minions: MINIONS, minions_pre: [] });
  });

  it('refuses a wrong login with the words of Salt, and exits 2', async () => {
    const { code, stdout } = await master.brine('salt', [
      '-a',
      'pam',
      '--username',
      'x',
      '--password',
      'y',
      '*',
      'test.ping',
    ]);
    expect(code).toBe(2);
    expect(stdout).toContain('Authentication error occurred.');
  });
});
