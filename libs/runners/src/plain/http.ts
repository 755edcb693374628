import { errorText } from '@brine/tasks';
import { isMap, mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { isTruthy, pyStr, readJson, toJson } from '@brine/wire/text';
import { loadYaml, YamlWork } from '@brine/yaml';
import { masterOf, type RunnerFunction, type RunnerMaster } from '../function.ts';
import { refusal, textGiven } from '../given-values.ts';
import type { WebAnswer, WebRequest } from '../host-ports.ts';

/** Limits of one request, whatever the options allow. */
const BODY_MAX_BYTES = 16 * 1024 * 1024;
const REQUEST_MAX_S = 300;
const CONNECT_S = 20;
/** A bundle of certificates has some hundred kilobytes. */
const BUNDLE_MAX_BYTES = 4 * 1024 * 1024;
const BUNDLE_URL = 'https://curl.se/ca/cacert.pem';

/** Arguments of Salt that are not supported, with the reason, if they are given and not empty. */
const REFUSED: Readonly<Record<string, string>> = {
  cert: 'certificates of clients are not served',
  cookie_jar: 'no cookies are kept',
  cookies: 'no cookies are kept',
  data_file: 'no files of the master are sent',
  data_render: 'nothing is rendered',
  data_renderer: 'nothing is rendered',
  decode_out: 'no files are written',
  formdata: 'forms with files are not sent',
  handle: 'the answer comes as a whole',
  header_callback: 'the answer comes as a whole',
  header_file: 'no files of the master are sent',
  header_render: 'nothing is rendered',
  header_renderer: 'nothing is rendered',
  headers_out: 'no files are written',
  opts: "the master's own options are in force",
  persist_session: 'no cookies are kept',
  session_cookie_jar: 'no cookies are kept',
  stream: 'the answer comes as a whole',
  streaming_callback: 'the answer comes as a whole',
  template_dict: 'nothing is rendered',
  text_out: 'no files are written',
};

const QUERY = [
  ['url'],
  ['output', true],
  ['method', 'GET'],
  ['params', null],
  ['data', null],
  ['header_dict', null],
  ['header_list', null],
  ['username', null],
  ['password', null],
  ['auth', null],
  ['decode', false],
  ['decode_type', 'auto'],
  ['status', false],
  ['headers', false],
  ['text', false],
  ['test', false],
  ['test_url', null],
  ['node', 'master'],
  ['port', 80],
  ['backend', null],
  ['ca_bundle', null],
  ['verify_ssl', null],
  ['agent', null],
  ['hide_fields', null],
  ['raise_error', true],
  ['decode_body', true],
] as const;

type Named = ReadonlyMap<string, SaltValue>;

const query: RunnerFunction = {
  name: 'http.query',
  parameters: QUERY,
  open: 'kwargs',
  doc:
    'Sends a request to a web server; shows the body, and what else is asked for. url; method ' +
    '(default GET); params: a map for the query; data: text or a map for the body; header_dict, ' +
    'header_list; username, password; decode, with decode_type json, yaml, plain or auto; ' +
    'status, headers, text: show these too; verify_ssl, ca_bundle (default: the options); ' +
    'raise_error: an error status gives error instead (default True). One answer has at most ' +
    '16 MiB and 300 s. Files, cookies, templates and forms are refused.',
  async run({ named, kwargs }, context) {
    const master = masterOf(context);
    refuseOthers(kwargs);
    return { value: await answered(named, webOf(master)) };
  },
};

/** The access of a query to its master. */
interface QueryNeeds {
  /** An option by Salt's name. */
  option(name: string): SaltValue | undefined;
  /** Sends a request. Rejects with a text for an operator. */
  web(request: WebRequest): Promise<WebAnswer>;
}

function webOf(master: RunnerMaster): QueryNeeds {
  return {
    option: (name) => master.option(name),
    web: (request) => master.outgoing.web(request),
  };
}

/**
 * As `http.query`, with its arguments by their names.
 * @throws RefusedError for an unsupported argument
 */
export async function queryWeb(given: SaltMap, needs: QueryNeeds): Promise<SaltMap> {
  const known = new Set<SaltValue>(QUERY.map(([name]) => name));
  refuseOthers(new Map([...given].filter(([name]) => !known.has(name))));
  const presets = QUERY.map(([name, preset = null]): [string, SaltValue] => [name, preset]);
  const named = [...given].map(([name, value]): [string, SaltValue] => [pyStr(name), value]);
  return answered(new Map([...presets, ...named]), needs);
}

async function answered(named: Named, needs: QueryNeeds): Promise<SaltMap> {
  const isTest = named.get('test') === true;
  const address = textGiven(named, isTest ? 'test_url' : 'url');
  if (address === undefined) return mapOf({});
  const value = await asked(named, address, needs);
  return isTest ? new Map([['test', true], ...value]) : value;
}

/** Refuses unsupported arguments, unless they are empty. */
function refuseOthers(kwargs: SaltMap): void {
  for (const [key, value] of kwargs) {
    const name = pyStr(key);
    if (name.startsWith('__') || !isTruthy(value)) continue;
    const why = Object.hasOwn(REFUSED, name) ? REFUSED[name] : 'it has no such argument';
    throw refusal(`http.query: ${name} is not served: ${why}.`);
  }
}

async function asked(named: Named, address: string, needs: QueryNeeds): Promise<SaltMap> {
  let answer: WebAnswer;
  try {
    answer = await needs.web(requestOf(named, address, needs));
  } catch (error) {
    const status = named.get('status') === true ? 0 : undefined;
    return mapOf({ status, error: errorText(error) });
  }
  const body = Buffer.from(answer.body).toString('utf8');
  const { status, reason } = answer;
  if ((status < 200 || status >= 300) && named.get('raise_error') !== false) {
    return mapOf({ status, error: `HTTP ${status}: ${reason}`, body });
  }
  return new Map([['body', body], ...shownOf(named, answer, body)]);
}

/** The result fields beside the body. */
function shownOf(named: Named, answer: WebAnswer, body: string): SaltMap {
  const shown: SaltMap = new Map();
  if (named.get('status') === true) shown.set('status', answer.status);
  if (named.get('headers') === true) shown.set('headers', new Map(answer.headers));
  let isText = named.get('text') === true;
  if (named.get('decode') === true) {
    const type = decodeType(named, answer);
    if (type === 'xml') throw refusal('http.query: decode_type xml is not served.');
    if (type === 'json') shown.set('dict', readJson(body));
    else if (type === 'yaml') shown.set('dict', loadYaml(body, YamlWork.ofPeer()));
    else if (type === 'plain') isText = true;
    else {
      const types = "('json', 'xml', 'yaml', 'plain')";
      const text = `Invalid decode_type specified. Valid decode types are: ${types}`;
      return shown.set('error', text);
    }
  }
  if (isText) shown.set('text', body);
  return shown;
}

function decodeType(named: Named, { headers }: WebAnswer): string {
  const given = textGiven(named, 'decode_type') ?? 'auto';
  if (given !== 'auto') return given;
  const content = headers.get('content-type') ?? 'application/json';
  return ['xml', 'json', 'yaml'].find((type) => content.includes(type)) ?? 'plain';
}

function requestOf(named: Named, address: string, needs: QueryNeeds): WebRequest {
  const seconds = (option: string, most: number): number => {
    const value = needs.option(option);
    return (typeof value === 'number' && value > 0 ? Math.min(value, most) : most) * 1000;
  };
  const limit = needs.option('http_max_body');
  const bundle = textGiven(named, 'ca_bundle') ?? bundleOf(needs);
  const data = named.get('data') ?? null;
  const isForm = isMap(data);
  const body = isForm ? formOf(data) : data === null ? undefined : bodyText(data);
  const method = pyStr(named.get('method') ?? 'GET');
  if (!/^[A-Z]{1,16}$/.test(method)) throw new Error(`no method: ${method}`);
  const headers = headersOf(named);
  if (body !== undefined && method === 'POST' && !hasHeader(headers, 'content-type')) {
    headers.set('Content-Type', 'application/x-www-form-urlencoded');
  }
  return {
    url: withParams(address, named.get('params') ?? null),
    method,
    headers,
    ...(body === undefined ? {} : { body }),
    verify: (named.get('verify_ssl') ?? needs.option('verify_ssl') ?? true) !== false,
    ...(bundle === undefined ? {} : { caBundle: bundle }),
    connectTimeoutMs: seconds('http_connect_timeout', CONNECT_S),
    timeoutMs: seconds('http_request_timeout', REQUEST_MAX_S),
    maxBytes: typeof limit === 'number' ? Math.min(limit, BODY_MAX_BYTES) : BODY_MAX_BYTES,
  };
}

function bodyText(data: SaltValue): string {
  if (typeof data === 'string') return data;
  return Array.isArray(data) ? toJson(data).json : pyStr(data);
}

function formOf(data: SaltMap): string {
  const pairs = [...data].map(([key, value]): [string, string] => [pyStr(key), pyStr(value)]);
  return new URLSearchParams(pairs).toString();
}

function withParams(address: string, params: SaltValue): string {
  const text = isMap(params) ? formOf(params) : params === null ? '' : pyStr(params);
  if (text === '') return address;
  return `${address}${address.includes('?') ? '&' : '?'}${text}`;
}

function headersOf(named: Named): Map<string, string> {
  const headers = new Map<string, string>();
  const given = named.get('header_dict');
  for (const [name, value] of isMap(given) ? given : []) headers.set(pyStr(name), pyStr(value));
  const lines = named.get('header_list');
  for (const line of Array.isArray(lines) ? lines : []) {
    const [name = '', value] = pyStr(line).split(':');
    if (value !== undefined) headers.set(name.trim(), value.trim());
  }
  const auth = named.get('auth');
  const [user, password] =
    Array.isArray(auth) && auth.length === 2
      ? auth.map(pyStr)
      : [textGiven(named, 'username'), textGiven(named, 'password')];
  if (user !== undefined && password !== undefined && user !== '') {
    headers.set('Authorization', `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`);
  }
  headers.set('User-agent', `${textGiven(named, 'agent') ?? 'Brine'} http.query()`);
  return headers;
}

function hasHeader(headers: ReadonlyMap<string, string>, name: string): boolean {
  return [...headers.keys()].some((key) => key.toLowerCase() === name);
}

function bundleOf(needs: Pick<QueryNeeds, 'option'>): string | undefined {
  const bundle = needs.option('ca_bundle');
  return typeof bundle === 'string' && bundle !== '' ? bundle : undefined;
}

const updateCaBundle: RunnerFunction = {
  name: 'http.update_ca_bundle',
  parameters: [
    ['target', null],
    ['source', null],
    ['merge_files', null],
  ],
  doc:
    'Fetches a bundle of certificates into the file that the option ca_bundle names, on the host ' +
    'of the worker. target: that file and no other. source: its address, https only (default: ' +
    `the option ca_bundle_url, or ${BUNDLE_URL}). merge_files: files with certificates, which ` +
    'are added at its end.',
  async run({ named }, context) {
    const master = masterOf(context);
    const bundle = bundleOf(master);
    const target = textGiven(named, 'target') ?? bundle;
    if (target === undefined || target !== bundle) {
      throw refusal('http.update_ca_bundle writes the file of the option ca_bundle only.');
    }
    const source =
      textGiven(named, 'source') ?? pyStr(master.option('ca_bundle_url') ?? BUNDLE_URL);
    if (!source.startsWith('https://')) {
      throw refusal('http.update_ca_bundle: certificates are fetched by https only.');
    }
    const request = requestOf(new Map(), source, webOf(master));
    const { status, body } = await master.outgoing.web({ ...request, maxBytes: BUNDLE_MAX_BYTES });
    if (status !== 200) throw new Error(`${source}: status ${status}`);
    const parts = [certificatesIn(body, source)];
    const merged = named.get('merge_files') ?? null;
    for (const file of merged === null ? [] : Array.isArray(merged) ? merged : [merged]) {
      const bytes = await master.hostFiles.readBounded(pyStr(file), BUNDLE_MAX_BYTES);
      if (bytes !== undefined) parts.push(certificatesIn(bytes, pyStr(file)));
    }
    await master.hostFiles.writeWhole(target, parts.join('\n'), 0o644);
    return { value: null };
  },
};

/** Only certificates may get into a file that every user can read. */
function certificatesIn(bytes: Uint8Array, source: string): string {
  const text = Buffer.from(bytes).toString('utf8');
  if (!text.includes('-----BEGIN CERTIFICATE-----') || text.includes('PRIVATE KEY')) {
    throw new Error(`${source} has no certificates, or a private key`);
  }
  return text;
}

/** `http.*` of `salt-run` (salt/runners/http.py). */
export const HTTP_RUNNER: readonly RunnerFunction[] = [query, updateCaBundle];
