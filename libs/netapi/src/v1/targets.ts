import { type Resolved, resolvedSchema, targetSchema } from '@brine/api';
import { publishLoad } from '@brine/client';
import type { DescribedApp } from '@brine/http';
import { checkNames, isMap, listOf, mapOf, type SaltMap, textOf } from '@brine/wire';
import { askedBy } from './asking.ts';
import type { V1Parts } from './parts.ts';
import { RefusedRequest } from './problem.ts';
import { problems } from './schemas.ts';
import { texts } from './values.ts';
import { inPlace, whoAsks } from './who.ts';

/** Ids that are shown. */
const SHOWN = 50;
/** Minions whose presence is counted; above it the answer of the master would be large. */
const COUNTED_MAX = 20_000;

/** `/v1/targets`: which minions a command would be sent to. */
export function addTargets(app: DescribedApp, parts: V1Parts): void {
  app.post(
    '/targets/resolve',
    {
      schema: {
        tags: ['targets'],
        summary: 'Count the minions of a target',
        description:
          'Judged as a command that runs `fun` there: who may not run it, may not count them.',
        body: targetSchema,
        response: {
          200: resolvedSchema,
          ...problems('forbidden', 'bad-target', 'too-many', 'no-master'),
        },
      },
    },
    async (request) => {
      const { tgt, tgtType, fun } = request.body;
      const { token } = whoAsks(request).session;
      const command = { tgt, tgtType, fun, arg: [], kwargs: mapOf({ token }) };
      const load = publishLoad(command, '', parts.settings).set('cmd', 'brine_resolve');
      load.delete('key');
      load.set('sample', COUNTED_MAX);
      checkNames(load, 'the target');
      const answer = await inPlace(request, parts.room, () =>
        parts.requests.ask(load, askedBy(request)),
      );
      if (!isMap(answer) || !answer.has('digest')) throw new RefusedRequest('bad-target');
      return resolvedIn(answer, await presentIn(parts, answer));
    },
  );
}

/** How many minions of an answer are connected; null for more of them than are looked up. */
async function presentIn({ fleet }: V1Parts, answer: SaltMap): Promise<number | null> {
  const ids = texts(listOf(answer, 'minions'));
  if (ids.length < Number(answer.get('count'))) return null;
  const { index } = await fleet.whole();
  return ids.filter((id) => {
    const row = index.find(id);
    return row !== undefined && index.read(row, { grains: false, runs: false }).present === true;
  }).length;
}

function resolvedIn(answer: SaltMap, present: number | null): Resolved {
  return {
    count: Number(answer.get('count')),
    digest: textOf(answer, 'digest') ?? '',
    sample: texts(listOf(answer, 'minions')).slice(0, SHOWN),
    present,
    missing: texts(listOf(answer, 'missing')).slice(0, SHOWN),
  };
}
