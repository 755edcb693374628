import { Crypticle, newKeyString } from '@brine/crypt';
import { until } from '@brine/testing/waits';
import { mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { toJson } from '@brine/wire/text';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sealedLoad } from '../../../tools/request-table/aes-frames.ts';
import { sealed } from '../../../tools/request-table/frames.ts';
import type { AttackedMaster } from './attacked-master.ts';
import {
  ask,
  clearRaw,
  jobIsStored,
  sendSealed,
  startBesieged,
} from './hostile/besieged-master.ts';
import { type Act, type Actor, ACTORS, ACTS } from './hostile/who-may.ts';

/* Each cell of the table "who may see or cause what" of SECURITY.md, asked of a whole master. */

let it: AttackedMaster;

beforeAll(async () => {
  it = await startBesieged();
  await jobIsStored(it);
});
afterAll(() => it?.close());

/** The credentials of an actor, in the clear. */
function credentialsOf(actor: Actor): Readonly<Record<string, SaltValue>> {
  switch (actor) {
    case 'stranger':
      return {};
    case 'minion':
      return { user: 'a', token: sealedLoad(it.a, 'x', {}).get('tok') ?? null };
    case 'root':
      return { user: 'root', key: it.rootKey };
    case 'anne':
    case 'rick':
    case 'wanda':
      return { eauth: 'file', username: actor, password: `secret of ${actor}` };
  }
}

async function outcomeOf({ form, cmd, fields, awaited }: Act, actor: Actor): Promise<string> {
  if (form === 'clear') {
    const credentials = credentialsOf(actor);
    const load: SaltMap = mapOf({ cmd, ...fields, ...credentials });
    if (cmd === 'publish') load.set('kwargs', mapOf(credentials));
    if (awaited !== true) return clearRaw(it, load);
    const answer = await ask(it, Object.fromEntries(load) as Record<string, SaltValue>);
    const jid = textOf(answer, 'jid');
    return jid === undefined ? 'refused' : resultOf(jid);
  }
  const load = sealedLoad(it.a, cmd, fields);
  if (actor === 'minion') return sendSealed(it.a, load);
  // All other actors may know the ids of minions, but have no key of theirs.
  load.set('tok', Buffer.alloc(256, 1));
  const sealedWith = new Crypticle(newKeyString());
  return it.send(sealed(load, { sealedWith, version: 3, outerId: 'a' }));
}

/** What a runner returned, as JSON. */
async function resultOf(jid: string): Promise<string> {
  const asked = { cmd: 'brine_query', query: 'get_jid', args: mapOf({ jid }) };
  let returns: SaltMap | undefined;
  await until(`run ${jid} has ended`, async () => {
    const page = await ask(it, { ...asked, user: 'root', key: it.rootKey });
    returns = mapIn(mapIn(page, 'value') ?? mapOf({}), 'returns');
    return (returns?.size ?? 0) > 0;
  });
  return toJson(returns ?? null).json;
}

describe.each(Object.keys(ACTORS) as Actor[])('%s', (actor) => {
  test.each(ACTS)('$name', async (act) => {
    const outcome = await outcomeOf(act, actor);
    if (act.may.includes(actor)) expect(outcome).toMatch(act.done);
    else expect(outcome).not.toMatch(act.done);
  });
});
