import { type Resolved, resolvedSchema, targetSchema } from '@brine/api';
import { publishLoad } from '@brine/client';
import type { DescribedApp } from '@brine/http';
import { checkNames, isMap, listOf, mapOf, type SaltMap, textOf } from '@brine/wire';
import { askedBy } from './asking.ts';
import type { V1Parts } from './parts.ts';
import { RefusedRequest } from './problem.ts';
import { problems } from './schemas.ts';
import { inPlace, whoAsks } from './who.ts';

const SAMPLE = 50;

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
      load.set('sample', SAMPLE);
      checkNames(load, 'the target');
      const answer = await inPlace(request, parts.room, () =>
        parts.requests.ask(load, askedBy(request)),
      );
      if (!isMap(answer) || !answer.has('digest')) throw new RefusedRequest('bad-target');
      return resolvedIn(answer);
    },
  );
}

function resolvedIn(answer: SaltMap): Resolved {
  const sample = (listOf(answer, 'minions') ?? []).filter((id) => typeof id === 'string');
  const count = Number(answer.get('count'));
  return { count, digest: textOf(answer, 'digest') ?? '', sample };
}
