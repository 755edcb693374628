import { mayCall, readAcl } from '@brine/acl';
import { isMap, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { JID, usualAnswer } from './api-scene.ts';
import { lastScene, served } from './served-scene.ts';

/** What may be done by the six users of the tables of rights. */
export const SIX: Readonly<Record<string, readonly SaltValue[] | undefined>> = {
  root: undefined,
  nothing: [],
  tests: ['test.*'],
  runner: ['@runner'],
  wheel: ['@wheel'],
  keys: [mapOf({ '@wheel': ['key.list_all'] })],
};

interface RunnerSceneOptions {
  /** Undefined: all. */
  readonly rights?: readonly SaltValue[] | undefined;
  readonly enabled?: readonly string[];
  /** What runners return, by their names; else null. */
  readonly returns?: Readonly<Record<string, SaltValue>>;
  readonly success?: boolean;
  readonly answer?: (load: SaltMap) => SaltValue | undefined;
}

/** A scene whose master judges runners and wheels as a worker does, and runs them at once. */
export async function runnerScene(options: RunnerSceneOptions = {}) {
  const { rights, enabled, returns = {}, success = true } = options;
  const calls = (cmd: string): SaltMap[] =>
    (lastScene()?.master.loads ?? []).filter((load) => textOf(load, 'cmd') === cmd);
  const { scene, token, ask } = await served({
    ...(enabled === undefined ? {} : { enabled }),
    answer: (load) => {
      const cmd = textOf(load, 'cmd');
      if (cmd === 'brine_rights' && rights !== undefined) {
        return mapOf({ principal: 'alice', acl: [...rights], reach: mapOf({}) });
      }
      const isCall = cmd === 'runner' || cmd === 'wheel';
      if (isCall && !mayBeCalled(cmd, load, rights)) return NO_RIGHT;
      const own = options.answer?.(load);
      if (own !== undefined) return own;
      if (cmd === 'runner') {
        const value = returns[textOf(load, 'fun') ?? ''] ?? null;
        lastScene()?.live.fire(`salt/run/${JID}/ret`, { return: value, success });
      }
      return usualAnswer(load);
    },
  });
  const known = { Authorization: `Bearer ${token}` };
  const send = async (path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const answer = await ask(`/v1${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { ...known, ...headers },
      ...(body === undefined ? {} : { body }),
    });
    return { ...answer, json: JSON.parse(answer.text) as Record<string, unknown> };
  };
  return { scene, send, calls };
}

/** As a worker refuses what a token may not do. */
const NO_RIGHT = mapOf({ error: mapOf({ name: 'TokenAuthenticationError', message: 'no right' }) });

function mayBeCalled(
  kind: 'runner' | 'wheel',
  load: SaltMap,
  rights: readonly SaltValue[] | undefined,
): boolean {
  if (rights === undefined) return true;
  const kwarg = mapIn(load, 'kwarg');
  const named = kwarg && mapIn(kwarg, 'kwarg');
  const kwargs = isMap(named ?? null) ? (named ?? mapOf({})) : mapOf({});
  return (
    mayCall(readAcl(rights), { kind, fun: textOf(load, 'fun') ?? '', args: [], kwargs }) === true
  );
}
