import { validateHeaderName, validateHeaderValue } from 'node:http';
import { JinjaError, renderTemplate } from '@brine/jinja';
import { errorText } from '@brine/tasks';
import type { SaltValue } from '@brine/wire';
import { OptionError, Options } from '../child/options.ts';
import type { EngineEvent, EngineStart } from '../engine.ts';
import { saltMap } from '../plain.ts';
import { deliverEach, NotTakenError } from './deliver.ts';
import { post } from './post.ts';

/** One after the other, so that a chat shows them in their order. */
const AT_ONCE = 1;
const NO_OUTSIDE = { now: () => Date.now(), random: () => Math.random(), load: () => undefined };

/**
 * Sends events to any web API by templates: `url`, `headers` and `body` are rendered by Jinja with
 * `tag`, `data` and `master`. For chats, pagers and webhooks of others. An empty body sends
 * nothing.
 */
export const start: EngineStart = async (engine, given) => {
  const options = new Options(given);
  const url = options.text('url');
  const body = options.text('body', '{{ data | tojson }}');
  const headers = options.textMap('headers');
  const method = options.oneOf('method', ['POST', 'PUT', 'PATCH', 'GET'], 'POST');
  const timeoutMs = options.number('timeout', 60, { min: 1, max: 600 }) * 1000;
  const verify = options.flag('verify_ssl', true);
  const caBundle = options.maybeText('ca_bundle');
  for (const template of [url, body, ...headers.values()]) checkSyntax(template);
  const always = [...headers].map(([name, value]) => [name, fixed(value, '')] as const);
  const wrong = whyNot(fixed(url, 'http://localhost'), new Map(always));
  if (wrong !== undefined) throw new OptionError(wrong);
  const delivery = { tags: options.texts('tags'), funs: options.texts('funs'), atOnce: AT_ONCE };
  await deliverEach(engine, delivery, async (event) => {
    const variables = variablesOf(event, engine.masterId);
    const rendered = render(body, variables);
    if (rendered.trim() === '') return;
    const made = [...headers].map(([name, value]) => [name, render(value, variables)] as const);
    const typed = new Map([...JSON_TYPE, ...made]);
    const request = { url: render(url, variables), method, headers: typed, body: rendered };
    const why = whyNot(request.url, typed);
    if (why !== undefined) throw new NotTakenError(why);
    await post({ ...request, verify, caBundle, timeoutMs });
  });
};

const JSON_TYPE = new Map([['Content-Type', 'application/json']]);

/** The result of a template that is the same for every event; else `preset`. */
function fixed(template: string, preset: string): string {
  return template.includes('{') ? preset : render(template, new Map());
}

/** Why a request can never be made; undefined if it can. */
function whyNot(url: string, headers: ReadonlyMap<string, string>): string | undefined {
  try {
    const { protocol } = new URL(url);
    if (protocol !== 'http:' && protocol !== 'https:') return `no web address: ${protocol}//`;
    for (const [name, value] of headers) {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    }
    return undefined;
  } catch (error) {
    return errorText(error);
  }
}

type Variables = ReadonlyMap<string, SaltValue>;

function variablesOf({ tag, data, timeMs }: EngineEvent, master: string): Variables {
  const time = new Date(timeMs).toISOString();
  return new Map<string, SaltValue>([
    ['tag', tag],
    ['data', saltMap(data)],
    ['master', master],
    ['time', time],
  ]);
}

/** @throws NotTakenError for an event that the template fails on */
function render(template: string, variables: Variables): string {
  try {
    return renderTemplate(template, { variables, outside: NO_OUTSIDE });
  } catch (error) {
    if (!(error instanceof JinjaError)) throw error;
    throw new NotTakenError(`the template failed: ${error.message}`);
  }
}

/** @throws OptionError for a template that fails on every event */
function checkSyntax(template: string): void {
  try {
    renderTemplate(template, { variables: new Map(), outside: NO_OUTSIDE });
  } catch (error) {
    // Without an event all names are missing, so only the grammar can be checked.
    if (!(error instanceof JinjaError)) throw error;
    if (error.kind === 'Syntax') throw new OptionError(`a template is wrong: ${error.message}`);
  }
}
