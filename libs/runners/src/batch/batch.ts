import { listOf, mapIn, mapOf, SaltFloat, type SaltMap, type SaltValue } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import {
  type BoundArguments,
  masterOf,
  type RunnerContext,
  type RunnerFunction,
} from '../function.ts';
import type { OwnedRunRecord } from '../owned-run.ts';

/** Fields of a record for other processes, hidden from readers. */
const INNER: ReadonlySet<SaltValue> = new Set(['plan', 'at', 'seq']);

/** The state of a batch, with the age of its last step (Salt: salt/runners/batch.py _summary). */
function summary({ data, owner }: OwnedRunRecord, nowMs: number): SaltMap {
  const shown: SaltMap = new Map([...data].filter(([name]) => !INNER.has(name)));
  const last = secondsOf(data.get('last_progress'));
  const age = last === undefined ? null : new SaltFloat(Math.max(0, nowMs / 1000 - last));
  // Ours: the id of the process that runs it.
  return shown.set('age_seconds', age).set('worker', owner);
}

function secondsOf(value: SaltValue | undefined): number | undefined {
  if (value instanceof SaltFloat) return value.value;
  return typeof value === 'number' ? value : undefined;
}

/** The batch of the argument `jid`, current or ended. */
async function batchOf(
  { named }: BoundArguments,
  context: RunnerContext,
): Promise<OwnedRunRecord | undefined> {
  const found = await masterOf(context).runs.find(pyStr(named.get('jid') ?? ''));
  return found?.kind === 'batch' ? found : undefined;
}

/** Sends a message to the process of a batch; false if no such batch is running. */
async function print(
  given: BoundArguments,
  context: RunnerContext,
  what: 'stop' | 'pause' | 'resume',
): Promise<boolean> {
  const found = await batchOf(given, context);
  if (found === undefined || found.ended) return false;
  return masterOf(context).runs.send(found.jid, mapOf({ what }));
}

const status: RunnerFunction = {
  name: 'batch.status',
  parameters: [['jid']],
  doc:
    'Shows the state of a batch: how many minions are done, active, pending and failed. jid: its ' +
    'job id. None for an unknown batch; a batch that has ended is known for 7 days.',
  async run(given, context) {
    const found = await batchOf(given, context);
    return { value: found === undefined ? null : summary(found, masterOf(context).now()) };
  },
};

const listActive: RunnerFunction = {
  name: 'batch.list_active',
  parameters: [],
  doc: 'Lists the batches that are under way, each as batch.status shows it.',
  async run(_given, context) {
    const master = masterOf(context);
    const batches = (await master.runs.list()).filter(({ kind }) => kind === 'batch');
    const sorted = [...batches].sort((a, b) => (a.jid < b.jid ? -1 : 1));
    return { value: sorted.map((one) => summary(one, master.now())) };
  },
};

const stop: RunnerFunction = {
  name: 'batch.stop',
  parameters: [['jid'], ['kill', false]],
  doc:
    'Stops a batch: no further minion begins, and those that run continue. With kill=True they ' +
    'end their job too. False if no such batch is running.',
  async run(given, context) {
    const found = await batchOf(given, context);
    if (found === undefined || found.ended) return { value: false };
    const printed = await print(given, context, 'stop');
    if (printed && given.named.get('kill') === true) await killActive(found, context);
    return { value: printed };
  },
};

/** Makes the minions in flight end their job. */
async function killActive({ jid, data }: OwnedRunRecord, context: RunnerContext): Promise<void> {
  const plan = mapIn(data, 'plan');
  const active = (plan && listOf(plan, 'active')) ?? [];
  const tgt = active.filter((id) => typeof id === 'string').sort();
  if (tgt.length === 0) return;
  const fun = 'saltutil.kill_job';
  await context.client.publish({ tgt, tgtType: 'list', fun, arg: [jid], isOwn: true });
}

const pause: RunnerFunction = {
  name: 'batch.pause',
  parameters: [['jid']],
  doc:
    'Lets no further minion of a batch begin until batch.resume. Those that run continue. False ' +
    'if no such batch is running.',
  run: async (given, context) => ({ value: await print(given, context, 'pause') }),
};

const resume: RunnerFunction = {
  name: 'batch.resume',
  parameters: [['jid']],
  doc: 'Resumes a paused batch. False if no such batch is running.',
  run: async (given, context) => ({ value: await print(given, context, 'resume') }),
};

export const BATCH_RUNNER: readonly RunnerFunction[] = [status, listActive, stop, pause, resume];
