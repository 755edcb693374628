import type { ClientSettings, Command } from '@brine/client';
import { LocalClient, runBatch } from '@brine/client';
import { mapOf } from '@brine/wire';
import type { EventSocket } from './world/event-host.ts';
import type { RequestPort } from './world/request-port.ts';
import type { Trace } from './world/trace.ts';

/** What a client's command came to. */
export interface ClientEnd {
  readonly name: string;
  readonly jids: readonly string[];
  readonly returned: readonly string[];
  readonly missing: readonly string[];
  readonly error: string | undefined;
  /** How long its publish was unanswered, ms; undefined for a batch. */
  readonly publishMs: number | undefined;
  /** The most minions that had a part of a batch at once, and the size that was asked for. */
  readonly batch: { readonly most: number; readonly size: number } | undefined;
}

/** What a client is to do. */
export interface ClientPlan {
  readonly name: string;
  readonly fun: string;
  readonly arg: readonly (string | number)[];
  readonly tgt: string | readonly string[];
  readonly tgtType: 'glob' | 'list';
  /** `brine_deadline` of the job, in seconds. */
  readonly deadline?: number;
  readonly batchSize?: number;
  /** Published so often, one after the other, without waiting for returns. */
  readonly times?: number;
}

/** Where a client lives. */
export interface ClientSurroundings {
  readonly request: RequestPort;
  readonly events: EventSocket;
  readonly trace: Trace;
  readonly key: string;
}

const SETTINGS: ClientSettings = {
  user: 'root',
  nodegroups: new Map(),
  configFile: 'master',
  timeoutMs: 5_000,
  gatherJobTimeoutMs: 10_000,
  orderMasters: false,
  syndicWaitMs: 5_000,
  sockDir: 'sim',
};

/** Runs one command as `salt` does, with the product's own client. */
export async function runClient(plan: ClientPlan, around: ClientSurroundings): Promise<ClientEnd> {
  const { trace } = around;
  const client = openClient(around);
  const jids: string[] = [];
  const returned: string[] = [];
  const missing: string[] = [];
  let batch: { most: number; size: number } | undefined;
  let failure: string | undefined;
  let publishMs: number | undefined;
  const command: Command = {
    tgt: plan.tgt,
    tgtType: plan.tgtType,
    fun: plan.fun,
    // What tells this command's jobs from all others.
    arg: [...plan.arg, plan.times === undefined ? plan.name : ''],
    ...(plan.deadline === undefined
      ? {}
      : { kwargs: mapOf({ metadata: mapOf({ brine_deadline: plan.deadline }) }) }),
  };
  try {
    if (plan.batchSize !== undefined) {
      batch = { most: 0, size: plan.batchSize };
      await runBatches(client, command, batch, { returned, missing, jids }, jidOf(plan.name));
    } else if (plan.times !== undefined) {
      for (let count = 0; count < plan.times; count += 1) await client.publish(command);
    } else {
      const askedAt = Date.now();
      const job = await client.publish(command, { listen: true });
      publishMs = Date.now() - askedAt;
      if (job !== undefined) {
        jids.push(job.jid);
        trace.note(plan.name, `published ${job.jid} to ${job.minions.length}`);
        for await (const item of client.returns(job)) {
          (item.kind === 'return' ? returned : missing).push(item.id);
        }
      }
    }
  } catch (error) {
    failure = error instanceof Error ? error.message : String(error);
  }
  await client.close();
  trace.note(plan.name, `${failure ?? 'done'}: ${returned.length} back, ${missing.length} not`);
  return { name: plan.name, jids, returned, missing, error: failure, batch, publishMs };
}

async function runBatches(
  client: LocalClient,
  command: Command,
  batch: { most: number; readonly size: number },
  into: { readonly returned: string[]; readonly missing: string[]; readonly jids: string[] },
  jid: string,
): Promise<void> {
  const settings = { size: String(batch.size), waitMs: 0, failhard: false, jid };
  let active = 0;
  let isFirst = true;
  for await (const step of runBatch(client, command, settings)) {
    if (step.kind === 'start') {
      active += step.ids.length;
      // The start of later ones comes before the returns that made room for them, one for each.
      batch.most = Math.max(batch.most, active - (isFirst ? 0 : step.ids.length));
      isFirst = false;
    }
    if (step.kind === 'return' || step.kind === 'silent') active -= 1;
    // They count, and their slots are free again.
    if (step.kind === 'unseen') active -= step.count;
    if (step.kind === 'return') into.returned.push(step.id);
    // Who has returned was sent a part of it.
    if (step.kind === 'return' && into.jids.length === 0) into.jids.push(jid);
    if (step.kind === 'silent' || step.kind === 'down') into.missing.push(step.id);
  }
}

/** The id of a batch is the client's own: every part runs under it. No two clients have one. */
function jidOf(name: string): string {
  const number = name.replace(/[^0-9]/g, '').padStart(3, '0');
  return `20261120120000${String(Date.now() % 1_000).padStart(3, '0')}${number}`;
}

function openClient({ request, events, key, trace }: ClientSurroundings): LocalClient {
  const peer = request.newPeer('local');
  return new LocalClient(
    {
      request: {
        request: async (body, { timeoutMs }) => {
          let lose: (error: Error) => void = () => undefined;
          const lost = new Promise<never>((_, reject) => (lose = reject));
          // As the client's socket: it knows at once when the connection went away.
          const gone = Object.assign(new Error('lost'), { code: 'SALT_ZMQ_LOST' });
          const answer = await Promise.race([
            request.request(peer, body, timeoutMs, () => lose(gone)),
            lost,
          ]);
          if (answer === undefined) throw new Error('no answer in time');
          return answer;
        },
      },
      events: { listen: (onEvent) => events.listen(onEvent) },
      master: { isPresent: () => true, readKey: () => Promise.resolve(key) },
      logError: (text) => trace.aside('client', text),
    },
    SETTINGS,
  );
}
