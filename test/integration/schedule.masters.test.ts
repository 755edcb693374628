// The schedule of a whole master: jobs run, are seen, and are switched.
import { BrineMaster } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const MINION = 'one.example';

/** Each look is a command. */
const PATIENT = { withinMs: 60_000 };

const SCHEDULE = {
  often: { function: 'test.arg', args: ['hello'], seconds: 2 },
  ping: { function: 'salt.execute', args: ['*', 'test.ping'], seconds: 3, return_job: 'nocache' },
  wheel: { function: 'key.list_all', seconds: 2 },
  resting: { function: 'test.arg', args: ['resting'], seconds: 1, enabled: false },
  nightly: { function: 'state.orchestrate', args: ['orch.nightly'], cron: '0 4 * * *' },
  wrong: { function: 'cmd.run', args: ['ls'], hours: 1, run_on_start: false },
};

interface Status {
  readonly enabled: boolean;
  readonly next_fire_time: string | null;
  readonly runs: readonly {
    readonly jid?: string;
    readonly success?: boolean;
    readonly skipped?: string;
  }[];
}

describe('the schedule of a whole master', () => {
  let master: BrineMaster;

  beforeAll(async () => {
    master = await BrineMaster.start({ schedule: SCHEDULE, brine: { workers: 2 } });
    await master.startMinion(MINION);
    await master.acceptKeys([MINION]);
    await master.waitForMinions([MINION]);
  });
  afterAll(async () => {
    await master?.close();
  });

  async function run<T>(...args: readonly string[]): Promise<T> {
    const { stdout, stderr } = await master.brine('run', [...args, '--out', 'json']);
    if (stdout.trim() === '') throw new Error(`${args.join(' ')} printed nothing: ${stderr}`);
    return JSON.parse(stdout) as T;
  }

  const status = (): Promise<Record<string, Status>> => run('schedule.status');

  it('runs runners and wheels, and keeps what they returned', async () => {
    let found: Record<string, Status> = {};
    await until(
      'three runs of each',
      async () => {
        found = await status();
        return ['often', 'wheel', 'ping'].every((name) => (found[name]?.runs.length ?? 0) >= 3);
      },
      PATIENT,
    );
    // One whose turn came while the one before it was still at work did not run.
    const ended = (name: string) => found[name]!.runs.find(({ success }) => success !== undefined)!;
    const last = ended('often');
    expect(last).toMatchObject({ success: true });
    await until('it is in the job cache', async () => {
      const kept = await run<Record<string, unknown>>('jobs.lookup_jid', last.jid!);
      expect(Object.values(kept)).toEqual([
        expect.objectContaining({ return: { args: ['hello'], kwargs: {} } }),
      ]);
      return true;
    });
    // Told to keep nothing.
    const ping = ended('ping');
    expect(await run('jobs.lookup_jid', ping.jid!)).toEqual({});
    expect(found['resting']).toMatchObject({ enabled: false, next_fire_time: null, runs: [] });
    expect(found['nightly']!.next_fire_time).toMatch(/T04:00:00$/);
  });

  it('tells of a job with a function that it does not have', async () => {
    const line = "wrong fails: 'cmd.run' is no runner or wheel of this master";
    await until('it is told', async () => (await master.log()).includes(line), PATIENT);
  });

  it('is switched off and on, for all workers', async () => {
    await run('schedule.disable_job', 'often');
    await until('it is off', async () => (await status())['often']?.enabled === false, PATIENT);
    const jids = async (name: string): Promise<readonly (string | undefined)[]> => {
      return ((await status())[name]?.runs ?? []).map(({ jid }) => jid);
    };
    let before: string | undefined;
    await until(
      'it rests while another one runs twice',
      async () => {
        const [last] = await jids('wheel');
        [before] = await jids('often');
        await until('two more', async () => ![0, 1].includes((await jids('wheel')).indexOf(last)));
        return (await jids('often'))[0] === before;
      },
      PATIENT,
    );
    const forced = await run('schedule.run_job', 'resting', 'force=True');
    expect(forced).toMatchObject({ comment: 'Job resting ran.', result: true });
    await run('schedule.enable_job', 'often');
    await until(
      'it runs again',
      async () => {
        return (await jids('often'))[0] !== before;
      },
      PATIENT,
    );
  });

  it('runs a job besides its times when it is asked to', async () => {
    await run('schedule.run_job', 'wrong');
    await until(
      'it ran, and failed',
      async () => {
        return (await status())['wrong']?.runs[0]?.success === false;
      },
      PATIENT,
    );
  });
});
