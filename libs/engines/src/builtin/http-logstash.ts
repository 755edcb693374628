import { Options } from '../child/options.ts';
import type { EngineStart } from '../engine.ts';
import { deliverEach } from './deliver.ts';
import { post } from './post.ts';

const AT_ONCE = 8;
const TIMEOUT_MS = 60_000;
const HEADERS = new Map([['Content-Type', 'application/json']]);

/** Posts each event as JSON to a web server (salt/engines/http_logstash.py). */
export const start: EngineStart = async (engine, given) => {
  const options = new Options(given);
  const url = options.text('url');
  const [tags, funs] = [options.texts('tags'), options.texts('funs')];
  await deliverEach(engine, { tags, funs, atOnce: AT_ONCE }, ({ data }) =>
    post({
      url,
      method: 'POST',
      headers: HEADERS,
      verify: true,
      timeoutMs: TIMEOUT_MS,
      body: JSON.stringify(data),
    }),
  );
};
