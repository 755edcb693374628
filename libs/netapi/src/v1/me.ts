import type { Acl, FunctionRule } from '@brine/acl';
import { type Me, meSchema, type Right, timeText } from '@brine/api';
import type { DescribedApp } from '@brine/http';
import { addressOf } from '../rest-cherrypy/asked.ts';
import { clientsOf } from './enabled.ts';
import type { V1Parts } from './parts.ts';
import { RefusedRequest } from './problem.ts';
import { problems } from './schemas.ts';
import { inPlace, whoAsks } from './who.ts';

/** The rights of a caller that may do all. */
const ALL: Acl = [
  { kind: 'everywhere', expression: '.*' },
  ...['@runner', '@wheel', '@jobs', '@events'].map((expression) => ({
    kind: 'everywhere' as const,
    expression,
  })),
];

/** `/v1/me`: who asks, and what it may do now. */
export function addMe(app: DescribedApp, parts: V1Parts): void {
  const { callers, room } = parts;
  app.get(
    '/me',
    {
      exposeHeadRoute: true,
      schema: {
        tags: ['session'],
        summary: 'Who asks, and what it may do',
        response: { 200: meSchema, ...problems('too-many', 'no-master') },
      },
    },
    async (request): Promise<Me> => {
      const { session } = whoAsks(request);
      const peer = addressOf(request);
      const caller = await inPlace(request, room, () => callers.ofToken(session.token, peer));
      if (caller === undefined) throw new RefusedRequest('not-logged-in');
      const { acl } = caller.reader;
      return {
        principal: caller.reader.principal,
        eauth: session.eauth,
        groups: [...caller.groups],
        expires: timeText(caller.expire),
        readsAll: acl === undefined,
        clients: clientsOf(parts),
        rights: rightsOf(acl ?? ALL),
      };
    },
  );
}

function rightsOf(acl: Acl): Right[] {
  return acl.map((entry): Right => {
    if (entry.kind === 'on') return { on: entry.target, functions: entry.rules.map(ruleOf) };
    const { expression } = entry;
    const isWord = expression.startsWith('@');
    return isWord
      ? { on: expression, functions: [{ fun: '.*' }] }
      : { on: '*', functions: [{ fun: expression }] };
  });
}

function ruleOf({ fun, arguments: allowed }: FunctionRule): Right['functions'][number] {
  if (allowed === undefined) return { fun };
  return {
    fun,
    arguments: allowed.map(({ args, kwargs }) => ({
      args: [...args],
      kwargs: Object.fromEntries(kwargs),
    })),
  };
}
