import { join } from 'node:path';
import { readerLags } from '@brine/bus';
import { EventWriter } from '@brine/bus/events';
import { BrineMaster, connectToOwn, SaltProcess, saltVenv } from '@brine/testing';
import { BRINE } from '@brine/testing/checkouts';
import { until } from '@brine/testing/waits';
import { isMap, pack } from '@brine/wire';
import { fromJson } from '@brine/wire/text';
import { fireCases } from './fire-cases.ts';
import {
  masterConfig,
  MINIONS,
  type Reactions,
  type ReactorCase,
  VERSION,
} from './reactor-cases.ts';

/** From the sockets of the host to the log of the follower. */
const QUIET_MS = 500;
const FOLLOWS_MS = 60_000;

/** Fires the events of cases at a Brine master with stock minions. */
export async function reactAtBrine(
  asked: readonly ReactorCase[],
  brine: Readonly<Record<string, unknown>> = {},
): Promise<Record<string, Reactions>> {
  const venv = await saltVenv(VERSION);
  const config = { ...masterConfig(), brine: { python: venv.python, ...brine } };
  const master = await BrineMaster.start(config);
  try {
    const { sandbox, home } = master;
    for (const id of MINIONS) sandbox.startMinion(venv, await sandbox.minion(id, home.retPort));
    await master.acceptKeys(MINIONS);
    await master.waitForMinions(MINIONS);
    return await firedAt(master, asked);
  } finally {
    await master.close();
  }
}

async function firedAt(
  master: BrineMaster,
  asked: readonly ReactorCase[],
): Promise<Record<string, Reactions>> {
  const { sandbox, home } = master;
  const follower = SaltProcess.start({
    command: process.execPath,
    args: [BRINE, 'run', '-c', home.configDir, 'state.event'],
    env: sandbox.env(),
    logFile: join(sandbox.dir, 'events.log'),
  });
  const bus = await connectToOwn(join(home.cacheDir, 'brine'));
  const writer = new EventWriter(bus, { timeoutMs: 30_000 });
  let fired = 0;
  const fire = async (tag: string, json: string): Promise<void> => {
    const data = fromJson(JSON.parse(json));
    if (!isMap(data)) throw new TypeError(`the data of ${tag} are no map`);
    const msgId = `case:${(fired += 1)}`;
    await writer.append({ kind: 'local', tag, body: pack(data), msgId });
  };
  try {
    await until(
      'events are followed, and read by the reactor',
      async () => {
        await fire('elsewhere/ready', '{}');
        const isFollowed = (await follower.log()).includes('elsewhere/ready');
        return isFollowed && (await readerLags(bus)).some(({ reader }) => reader === 'reactor');
      },
      { withinMs: FOLLOWS_MS },
    );
    // The reactor, the sockets of the host and the store.
    const isOver = async (): Promise<boolean> =>
      (await readerLags(bus)).every(({ pending, unacknowledged }) => pending + unacknowledged < 1);
    let fences = 0;
    const fence = async (): Promise<void> => {
      const tag = `elsewhere/fence/${(fences += 1)}`;
      await fire(tag, '{}');
      const isSeen = async (): Promise<boolean> => (await follower.log()).includes(`${tag}\t`);
      await until(`${tag} is followed`, isSeen, { withinMs: FOLLOWS_MS });
    };
    return await fireCases(asked, { follower, fire, isOver, fence, quietMs: QUIET_MS });
  } finally {
    await follower.stop();
    await bus.close();
  }
}
