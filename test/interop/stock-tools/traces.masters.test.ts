import { BrineMaster, newestOf, saltVenv, type SaltVersion } from '@brine/testing';
import { orphansOf, readRecordedSpans, type RecordedSpan } from '@brine/testing/spans';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/** How many jobs; the full run sets 1000. */
const JOBS = Number(process.env['BRINE_TRACE_JOBS'] ?? 30);
const AT_ONCE = 2;
const VERSIONS: readonly SaltVersion[] = [newestOf('3006'), newestOf('3008')];
const IDS = VERSIONS.map((version) => `trace-${version}`);
/** A log-in of a real minion, a batch and a runner come on top of the jobs. */
const TIMEOUT_MS = 120_000 + JOBS * 10_000;
const HOST = 'trace-host';

/** The spans of one job, by part; those of a command that is a client's are not asked for. */
type Parts = ReadonlyMap<string, RecordedSpan>;

describe('traces of jobs on unmodified minions', () => {
  let master: BrineMaster;

  beforeAll(async () => {
    const venvs = await Promise.all(VERSIONS.map((version) => saltVenv(version)));
    master = await BrineMaster.start({
      brine: {
        workers: 2,
        host: HOST,
        trace: 'all',
      },
    });
    for (const [index, id] of IDS.entries()) {
      const home = await master.sandbox.minion(id, master.home.retPort);
      master.sandbox.startMinion(venvs[index]!, home);
    }
    await master.acceptKeys(IDS, 120_000);
    await master.waitForMinions(IDS, 120_000);
  }, 600_000);
  afterAll(() => master.close());

  const spans = (): RecordedSpan[] => readRecordedSpans(master.home.cacheDir);

  function partsOf(all: readonly RecordedSpan[], jid: string): Parts {
    const own = all.filter(({ attributes }) => attributes['brine.jid'] === jid);
    return new Map(own.map((span) => [String(span.attributes['brine.part']), span]));
  }

  /** Waits for the answers: minions that are given more than they can do send returns again. */
  async function runJob(at: number): Promise<string> {
    const args = ['*', 'test.echo', `n${at}`, '--show-jid', '-t', '60'];
    const { stdout, stderr } = await master.brine('salt', args);
    const jid = /(\d{20})/.exec(stdout)?.[1];
    if (jid === undefined) throw new Error(`no job id in ${stdout}${stderr}`);
    return jid;
  }

  async function settled(jids: readonly string[]): Promise<RecordedSpan[]> {
    const stored = (all: readonly RecordedSpan[], jid: string): boolean => {
      const parts = partsOf(all, jid);
      const has = (hop: string): boolean => [...parts.keys()].some((key) => key.startsWith(hop));
      const ends = ['store-job', 'announce.'].every(has);
      return ends && IDS.every((id) => has(`store.${id}`) && has(`minion.${id}`));
    };
    // Each service writes its spans at times of its own: the last are there when none misses one.
    const whole = (): RecordedSpan[] => {
      const all = spans();
      expect(jids.filter((jid) => !stored(all, jid))).toEqual([]);
      expect(orphansOf(all)).toEqual([]);
      return all;
    };
    return until('all traces are whole', whole, { withinMs: 60_000 });
  }

  it(
    `${JOBS} jobs: every trace has all hops and no orphan, minions by two times of their own`,
    async () => {
      const jids: string[] = [];
      const numbers = Array.from({ length: JOBS }, (_, at) => at).values();
      const lane = async (): Promise<void> => {
        for (const at of numbers) jids.push(await runJob(at));
      };
      await Promise.all(Array.from({ length: AT_ONCE }, lane));
      expect(jids).toHaveLength(JOBS);
      const all = await settled(jids);
      expect(orphansOf(all)).toEqual([]);
      const hops = [
        'request',
        'gateway.publish',
        'worker.publish',
        'record',
        'publish',
        'store-job',
        `announce.${HOST}`,
        ...IDS.flatMap((id) => [
          `minion.${id}`,
          `gateway.return.${id}`,
          `worker.return.${id}`,
          `store.${id}`,
        ]),
      ];
      for (const jid of jids) {
        const parts = partsOf(all, jid);
        // A job of the first seconds may be sent again, to minions that were late to connect.
        const seen = [...parts.keys()].filter((part) => !part.startsWith('again.'));
        expect(seen.sort()).toEqual([...hops].sort());
        const roots = [...parts.values()].filter((span) => span.parentSpanId === undefined);
        expect(roots.map(({ attributes }) => attributes['brine.part'])).toEqual(['request']);
        expect(new Set([...parts.values()].map(({ traceId }) => traceId)).size).toBe(1);
        for (const id of IDS) expectOwnTimes(parts, id);
      }
      // Ids are of one span each.
      expect(new Set(all.map(({ spanId }) => spanId)).size).toBe(all.length);
    },
    TIMEOUT_MS,
  );

  /** The publisher's time of sending and the gateway's of receipt, to the microsecond. */
  function expectOwnTimes(parts: Parts, id: string): void {
    const minion = parts.get(`minion.${id}`)!;
    const publish = parts.get('publish')!;
    const sentUs = publish.startUs + Number(publish.attributes['brine.sent_after_us']);
    expect(Math.abs(minion.startUs - sentUs)).toBeLessThanOrEqual(1);
    expect(minion.endUs).toBe(parts.get(`gateway.return.${id}`)!.startUs);
    expect(minion.attributes['brine.sent']).toBe(undefined);
    expect(minion.service).toMatch(/^worker-pool-/);
  }

  it('log-ins, pillars and events of the minions are traces of gateway and worker', () => {
    const all = spans();
    for (const kind of ['login', 'pillar', 'event']) {
      for (const id of IDS) {
        const part = `worker.${kind}`;
        const worker = all.find(
          ({ attributes }) => attributes['brine.part'] === part && attributes['salt.minion'] === id,
        );
        const gateway = all.find(({ spanId }) => spanId === worker?.parentSpanId);
        expect([kind, id, gateway?.attributes['brine.part']]).toEqual([
          kind,
          id,
          `gateway.${kind}`,
        ]);
        expect(gateway?.parentSpanId).toBe(undefined);
      }
    }
  });

  it('a batch is one trace, whose pieces each have their hops', async () => {
    await master.brine('salt', ['-b', '1', '*', 'test.ping']);
    // `--static` is one too (with one piece), so it is not the only one.
    const batches = spans().filter(({ name }) => name === 'cli batch');
    const newest = batches.sort((a, b) => b.startUs - a.startUs)[0];
    const jid = String(newest?.attributes['brine.jid']);
    const all = await settled([jid]);
    expect(orphansOf(all)).toEqual([]);
    const parts = [...partsOf(all, jid).keys()];
    // A worker publishes the pieces: no gateway is on their way.
    expect(parts.filter((part) => part.startsWith('worker.publish#'))).toHaveLength(2);
    expect(parts.filter((part) => part.startsWith('publish#'))).toHaveLength(2);
    const batch = partsOf(all, jid);
    const sendings = IDS.map((id) => batch.get(`minion.${id}`)!.parentSpanId);
    const sent = [...batch.values()].filter(({ name }) => name === 'publish');
    expect([...sendings].sort()).toEqual(sent.map(({ spanId }) => spanId).sort());
  });

  it('a runner is a trace of its own, to which the requests it leads to are linked', async () => {
    await master.brine('run', ['jobs.list_jobs', '--out', 'json']);
    const run = (): RecordedSpan | undefined =>
      spans().find(({ attributes }) => attributes['salt.fun'] === 'jobs.list_jobs');
    await expect.poll(run).toBeDefined();
    const link = { traceId: run()?.traceId, spanId: run()?.spanId };
    const linked = (): unknown[] =>
      spans()
        .filter(({ name }) => name === 'worker query')
        .map(({ links }) => links);
    await expect.poll(linked).toContainEqual([link]);
    await expect.poll(() => orphansOf(spans()), { timeout: 30_000 }).toEqual([]);
  });

  it('brine trace shows the tree and, with --json, the same as data', async () => {
    const jid = await runJob(-1);
    await settled([jid]);
    const { stdout } = await master.brine('trace', [jid]);
    for (const id of IDS) expect(stdout).toMatch(new RegExp(`└─ gateway\\.return\\.${id}`));
    const json = await master.brine('trace', [jid, '--json']);
    const trace = JSON.parse(json.stdout) as { readonly spans: number; readonly orphans: number };
    expect(trace).toMatchObject({ jid, spans: 15, orphans: 0, returnsLeftOut: 0, spansLeftOut: 0 });
  });
});
