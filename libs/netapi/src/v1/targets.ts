import { createHash } from 'node:crypto';
import { type Resolved, resolvedSchema, targetSchema } from '@brine/api';
import { publishLoad } from '@brine/client';
import type { DescribedApp } from '@brine/http';
import { isMap, listOf, mapOf } from '@brine/wire';
import { addressOf } from '../rest-cherrypy/asked.ts';
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
      const { session } = whoAsks(request);
      const peer = addressOf(request);
      const { tgt, tgtType, fun } = request.body;
      const command = { tgt, tgtType, fun, arg: [], kwargs: mapOf({ token: session.token }) };
      const load = publishLoad(command, '', parts.settings).set('cmd', 'brine_resolve');
      load.delete('key');
      const asker = `user ${session.eauth} ${session.user}`;
      const answer = await inPlace(request, parts.room, () =>
        parts.requests.ask(load, { asker, peer }),
      );
      const minions = isMap(answer) ? listOf(answer, 'minions') : undefined;
      if (minions === undefined) throw new RefusedRequest('bad-target');
      return resolved(minions.filter((id) => typeof id === 'string'));
    },
  );
}

function resolved(ids: string[]): Resolved {
  ids.sort();
  return { count: ids.length, digest: digestOf(ids), sample: ids.slice(0, SAMPLE) };
}

/** Names a set of minions. @param ids sorted */
function digestOf(ids: readonly string[]): string {
  return createHash('sha256').update(ids.join('\n')).digest('base64url');
}
