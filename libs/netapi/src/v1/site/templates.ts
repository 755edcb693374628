import { mayRead, type Reader } from '@brine/acl';
import { noQuery } from '@brine/api';
import { type Templates, templatesSchema } from '@brine/api/site';
import type { DescribedApp } from '@brine/http';
import { callerAgain } from '../caller.ts';
import type { V1Parts } from '../parts.ts';
import { problems } from '../schemas.ts';
import { inPlace } from '../who.ts';
import type { Template } from './read-templates.ts';

/** `/v1/templates`: commands that the operator has prepared. */
export function addTemplates(app: DescribedApp, parts: V1Parts): void {
  app.get(
    '/templates',
    {
      exposeHeadRoute: true,
      schema: {
        tags: ['site'],
        summary: 'Commands that the operator has prepared',
        description:
          'From `saltgui_templates`, with secrets masked. A caller sees those whose functions it ' +
          'may run somewhere.',
        querystring: noQuery,
        response: { 200: templatesSchema, ...problems('too-many', 'no-master') },
      },
    },
    async (request): Promise<Templates> => {
      const { reader } = await inPlace(request, parts.room, () => callerAgain(request, parts));
      const items = parts.templates.filter((one) => maySee(reader, one));
      return { items: items.map(({ calls: _, ...shown }) => shown) };
    },
  );
}

function maySee(reader: Reader, { calls: { of, functions } }: Template): boolean {
  return functions.every((fun) => mayRead(reader, { kind: 'function', of, fun }));
}
