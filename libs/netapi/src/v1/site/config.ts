import { mayRead } from '@brine/acl';
import { noQuery } from '@brine/api';
import { type Config, configSchema } from '@brine/api/site';
import type { DescribedApp } from '@brine/http';
import type { SecretScanner } from '@brine/operations/secrets';
import { isMap, mapIn, mapOf } from '@brine/wire';
import { addressOf } from '../../rest-cherrypy/asked.ts';
import { callerAgain } from '../caller.ts';
import { needClient } from '../enabled.ts';
import type { V1Parts } from '../parts.ts';
import { RefusedRequest } from '../problem.ts';
import { problems } from '../schemas.ts';
import { plain } from '../values.ts';
import { inPlace } from '../who.ts';

/** The replacement of a secret, as in `brine config`. */
const MASK = '********';

/** `/v1/config`: the options of the master. */
export function addConfig(app: DescribedApp, parts: V1Parts): void {
  app.get(
    '/config',
    {
      exposeHeadRoute: true,
      schema: {
        tags: ['site'],
        summary: 'The options of the master',
        description:
          'As the wheel `config.values` gives them, with the rights of the caller. Secrets are ' +
          'masked.',
        querystring: noQuery,
        response: { 200: configSchema, ...problems('forbidden', 'too-many', 'no-master') },
      },
    },
    (request): Promise<Config> =>
      inPlace(request, parts.room, async () => {
        needClient(parts, 'callWheel');
        const { reader, token } = await callerAgain(request, parts);
        if (!mayRead(reader, { kind: 'config' })) throw new RefusedRequest('forbidden');
        const chunk = mapOf({ fun: 'config.values', token });
        const by = { address: addressOf(request) };
        const result = await parts.client.run({ client: 'wheel', chunk }, by);
        const value = result.kind === 'value' ? result.value : null;
        const data = isMap(value) ? mapIn(value, 'data') : undefined;
        const values = data && mapIn(data, 'return');
        if (values === undefined) throw new RefusedRequest('fault', 'config.values failed');
        return { values: masked(plain(values), parts.secrets()) as Config['values'] };
      }),
  );
}

/** A value whose texts have no secret of this host, wherever it stands. */
function masked(value: unknown, secrets: SecretScanner): unknown {
  const shown = (text: string): string => (secrets.find(text).length > 0 ? MASK : text);
  if (typeof value === 'string') return shown(value);
  if (typeof value === 'number') return secrets.find(String(value)).length > 0 ? MASK : value;
  if (Array.isArray(value)) return value.map((one) => masked(one, secrets));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [shown(name), masked(one, secrets)]),
  );
}
