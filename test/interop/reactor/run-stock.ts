import { join } from 'node:path';
import { SaltProcess, SaltSandbox, type SaltVenv } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { fireCases } from './fire-cases.ts';
import {
  masterConfig,
  MINIONS,
  NOT_AT_STOCK,
  type Reactions,
  type ReactorCase,
} from './reactor-cases.ts';

/** A stock master begins to react some time after its ports are open. */
const REACTOR_STARTS_MS = 120_000;
/** A stock reactor works off an event within this. */
const QUIET_MS = 2_500;

/** Fires the events of cases at a stock master with stock minions. */
export async function reactAtStock(
  venv: SaltVenv,
  asked: readonly ReactorCase[],
  onDone: (name: string, reactions: Reactions) => void,
): Promise<Record<string, Reactions>> {
  await using sandbox = await SaltSandbox.create();
  const config = masterConfig();
  const home = await sandbox.master({ ...config, worker_threads: 5 });
  await sandbox.startMaster(venv, home);
  for (const id of MINIONS) sandbox.startMinion(venv, await sandbox.minion(id, home.retPort));
  await until(
    'both minions answer',
    async () => {
      const args = ['*', 'test.ping', '--static', '--out', 'json', '-t', '5'];
      const { stdout } = await sandbox.run(venv, 'salt', home, args);
      return MINIONS.every((id) => stdout.includes(`"${id}": true`));
    },
    { withinMs: 120_000 },
  );
  const follower = SaltProcess.start({
    command: venv.python,
    args: [venv.bin('salt-run'), '-c', home.configDir, 'state.event'],
    env: sandbox.env(),
    logFile: join(sandbox.dir, 'events.log'),
  });
  const fire = async (tag: string, json: string): Promise<void> => {
    const { code, stderr } = await sandbox.run(venv, 'salt-run', home, ['event.send', tag, json]);
    if (code !== 0) throw new Error(`event.send ended with ${code}: ${stderr}`);
  };
  try {
    await until(
      'the reactor reacts',
      async () => {
        await fire('case/local-ping', '{"id": "one"}');
        return (await follower.log()).includes('test.ping');
      },
      { withinMs: REACTOR_STARTS_MS },
    );
    const cases = asked.filter(({ name }) => !(name in NOT_AT_STOCK));
    return await fireCases(cases, { follower, fire, quietMs: QUIET_MS }, onDone);
  } finally {
    await follower.stop();
  }
}
