import type { LocalClient } from '@brine/client';
import type { MasterPorts } from '@brine/master';
import { compareVersions } from '@brine/runners';
import type { Trouble } from '@brine/tasks';
import { isMap, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { type FunctionRows, functionRows } from './function-rows.ts';

/** A minion that may be asked for its functions. */
export interface AskedMinion {
  readonly id: string;
  readonly release: string;
  /** True if its release is newer than another one. */
  readonly isNewer: (release: string) => boolean;
}

/** Limit of minions whose grains are read; they are spread over the connected ones. */
const LOOKED_MAX = 1_000;
/** A minion may take so long for one answer: it loads all of its modules first. */
const ANSWER_MS = 60_000;
const RELEASE_MAX = 40;

/** The accepted, connected minions, those of the newest release first. */
export async function minionsByRelease({
  keys,
  presence,
  minionData,
}: Pick<MasterPorts, 'keys' | 'presence' | 'minionData'>): Promise<readonly AskedMinion[]> {
  const accepted = keys.accepted();
  const connected = [...((await presence?.present())?.keys() ?? accepted)];
  const ids = connected.filter((id) => accepted.has(id)).sort();
  const step = Math.max(1, Math.ceil(ids.length / LOOKED_MAX));
  const found: AskedMinion[] = [];
  for (const id of ids.filter((_, at) => at % step === 0)) {
    const grains = (await minionData.fetch(id))?.grains;
    const release = grains && textOf(grains, 'saltversion');
    if (release === undefined || !isRelease(release)) continue;
    found.push({ id, release, isNewer: (than) => (compareVersions(release, than) ?? 0) > 0 });
  }
  return found.sort((a, b) => compareVersions(b.release, a.release) ?? 0);
}

function isRelease(text: string): boolean {
  return text.length <= RELEASE_MAX && compareVersions(text, text) !== undefined;
}

/** Asks a minion for its modules and states, one question after the other. */
export async function askMinion(
  client: Pick<LocalClient, 'publish'>,
  { id, release }: AskedMinion,
  onTrouble: Trouble,
): Promise<FunctionRows | undefined> {
  const ask = (fun: string, ...arg: string[]): Promise<SaltMap | undefined> =>
    answerOf(client, id, fun, arg);
  const docs = await ask('sys.doc');
  if (docs === undefined) return undefined;
  const specs = await ask('sys.argspec', '*');
  const stateDocs = (await ask('sys.state_doc')) ?? mapOf({});
  const stateSpecs = await ask('sys.state_argspec', '*');
  const { rows, left } = functionRows(
    [
      { kind: 'module', docs, specs },
      { kind: 'state', docs: stateDocs, specs: stateSpecs },
    ],
    `minion ${release}`,
  );
  if (left > 0) onTrouble(`minion ${id} has more functions than are shown`, { left });
  return rows;
}

async function answerOf(
  client: Pick<LocalClient, 'publish'>,
  id: string,
  fun: string,
  arg: readonly SaltValue[],
): Promise<SaltMap | undefined> {
  const command = { tgt: [id], tgtType: 'list', fun, arg, isOwn: true };
  const job = await client.publish(command, { listen: true });
  if (job?.events === undefined) return undefined;
  const untilMs = Date.now() + ANSWER_MS;
  try {
    for (;;) {
      const event = await job.events.next(untilMs);
      if (event === undefined) return undefined;
      if (event.tag !== `salt/job/${job.jid}/ret/${id}`) continue;
      const value = event.data.get('return') ?? null;
      return isMap(value) ? value : undefined;
    }
  } finally {
    job.events.close();
  }
}
