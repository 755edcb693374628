import { integer, map, texts } from '../kinds.ts';
import { type ConfigMap, Misfit, Odd, type Option } from '../option.ts';
import { restCherrypyMisfit } from '../standings/rest-cherrypy.ts';

const restCherrypy = map({
  default: {},
  doc:
    "Salt's options of the HTTP API: port, host, ssl_crt, ssl_key, ssl_chain, disable_ssl, " +
    'root_prefix, app, static, webhook_url, api_acl, authorized_ips. docs/http-api.md lists them.',
});

/** The HTTP API, under Salt's names. */
export const httpOptions = {
  netapi_enable_clients: texts({
    default: [],
    doc:
      'Clients that the HTTP API serves: local, local_async, local_batch, local_subset, runner, ' +
      'runner_async, wheel, wheel_async. Without any, it runs nothing.',
  }),
  rest_cherrypy: {
    ...restCherrypy,
    read: (value) => {
      const read = restCherrypy.read(value);
      if (read instanceof Misfit || read instanceof Odd) return read;
      return restCherrypyMisfit(read) ?? read;
    },
  } satisfies Option<ConfigMap>,
  rest_timeout: integer({
    default: 300,
    min: 1,
    unit: 's',
    doc: 'How long a call of a runner by HTTP waits for its result.',
  }),
} as const;
