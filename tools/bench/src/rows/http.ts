import { Releasers } from '@brine/service';
import { freePorts } from '@brine/testing';
import { Fleet } from '../load/fleet.ts';
import { HttpCaller, httpConfig } from '../load/http-caller.ts';
import type { MasterName, MasterUnderTest } from '../masters/master.ts';
import { startMaster } from '../masters/start-masters.ts';
import { percentile } from '../measure/statistics.ts';
import { cellOf, type Figure, figureOf } from '../report/figure.ts';
import { alternate, type Row, type RowContext, type Samples } from './row.ts';

/** The stock salt-api beside it. */
const STOCK = '3008.2';
const MINIONS = 3;
const READY_MS = 60_000;
const AT_ONCE = [1, 8] as const;
/** Above this share of a core the caller itself is the limit. */
const RIG_SHARE = 0.8;

/** What is called, by client. */
const CALLS = {
  local: { client: 'local', tgt: '*', fun: 'test.ping' },
  local_async: { client: 'local_async', tgt: '*', fun: 'test.ping' },
  wheel: { client: 'wheel', fun: 'key.list_all' },
  runner: { client: 'runner', fun: 'test.arg' },
} as const;
type Client = keyof typeof CALLS;

/** Calls of the HTTP API: one at a time, and eight. */
export const HTTP_ROW: Row = {
  name: 'http',
  about: `calls of the HTTP API, beside a salt-api of ${STOCK}`,
  inTable: false,
  run: runHttp,
};

/** What one slice of calls showed. */
interface Sample {
  readonly perSecond: number;
  readonly times: readonly number[];
  readonly rigShare: number;
}

async function runHttp(context: RowContext): Promise<readonly Figure[]> {
  const { installed, pairs, sliceSeconds, say } = context;
  await using releasers = new Releasers();
  const masters: MasterUnderTest[] = [];
  const callers = new Map<MasterName, HttpCaller>();
  for (const name of ['brine', STOCK] as const) {
    if (name !== 'brine' && !installed.stock.has(name)) continue;
    const { master, caller } = await openSide(context, name, releasers);
    masters.push(master);
    callers.set(name, caller);
  }
  const figures: Figure[] = [];
  for (const client of Object.keys(CALLS) as Client[]) {
    for (const atOnce of AT_ONCE) {
      say(`http: ${client}, ${atOnce} at once`);
      const slice = async ({ name }: MasterUnderTest): Promise<Sample> => {
        const caller = callers.get(name);
        if (caller === undefined) throw new Error(`nothing calls ${name}`);
        return sliceOf(caller, client, atOnce, sliceSeconds * 1_000);
      };
      const samples = await alternate(masters, pairs, slice, { warmUp: true });
      figures.push(...figuresOf(`${client}, ${atOnce} at once`, samples));
    }
  }
  return figures;
}

/** A master with its HTTP API and minions that answer. */
async function openSide(
  { installed, say }: RowContext,
  name: MasterName,
  releasers: Releasers,
): Promise<{ readonly master: MasterUnderTest; readonly caller: HttpCaller }> {
  const [port = 0] = await freePorts(1);
  const master = await startMaster(installed, name, { config: httpConfig(port) });
  releasers.add(() => master.close());
  await master.serveHttp(port);
  const fleet = await Fleet.start(master, { minions: MINIONS, say });
  releasers.add(() => fleet.close());
  await fleet.connect();
  const caller = await HttpCaller.open(port);
  releasers.add(() => caller.close());
  const until = Date.now() + READY_MS;
  while (answered(await caller.call(CALLS.local)) < MINIONS) {
    if (Date.now() > until) throw new Error(`${name}: not all minions answer by HTTP`);
  }
  return { master, caller };
}

/** Makes `atOnce` calls in parallel, for a time. @throws Error for an answer that is not whole */
async function sliceOf(
  caller: HttpCaller,
  client: Client,
  atOnce: number,
  ms: number,
): Promise<Sample> {
  const times: number[] = [];
  const cpu = process.cpuUsage();
  const begun = performance.now();
  const lane = async (): Promise<void> => {
    while (performance.now() - begun < ms) {
      const since = performance.now();
      const body = await caller.call(CALLS[client]);
      if (client === 'local' && answered(body) < MINIONS) throw new Error(`not whole: ${body}`);
      times.push(performance.now() - since);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  const took = performance.now() - begun;
  const { user, system } = process.cpuUsage(cpu);
  return {
    perSecond: (times.length * 1_000) / took,
    times,
    rigShare: (user + system) / 1_000 / took,
  };
}

function answered(body: string): number {
  return body.match(/true/g)?.length ?? 0;
}

function figuresOf(what: string, samples: Samples<Sample>): Figure[] {
  const line = (
    name: string,
    head: Pick<Figure, 'unit' | 'better'>,
    read: (one: Sample) => number,
  ): Figure => {
    const cells = [...samples].map(([master, all]) => {
      const rigBound = all.some(({ rigShare }) => rigShare > RIG_SHARE);
      const calls = all.reduce((sum, { times }) => sum + times.length, 0);
      return [master, cellOf(all.map(read), { rigBound, detail: { calls } })] as const;
    });
    return figureOf({ row: 'http', name, ...head, cells: Object.fromEntries(cells) });
  };
  const ms = { unit: 'ms', better: 'less' } as const;
  return [
    line(`${what}: calls/s`, { unit: '1/s', better: 'more' }, ({ perSecond }) => perSecond),
    line(`${what}: p50`, ms, ({ times }) => percentile(times, 0.5)),
    line(`${what}: p99`, ms, ({ times }) => percentile(times, 0.99)),
  ];
}
