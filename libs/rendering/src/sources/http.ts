import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import { isTruthy, pyStr, readJson } from '@brine/wire/text';
import { loadYaml, YamlWork } from '@brine/yaml';
import { callArguments } from './call-arguments.ts';
import type { ExternalMinion, ExternalSettings } from './source-settings.ts';

const TIMEOUT_MS = 20_000;
const MAX_BYTES = 16 * 1024 * 1024;

/** Its arguments beside `url` (Salt: salt/pillar/http_json.py ext_pillar). */
const OPTIONS = ['with_grains', 'header_dict', 'auth', 'username', 'password', 'namespace'];

/**
 * The answer of a web service about a minion. `%s` in its address stands for the id, `<grain>` for
 * a grain if `with_grains` is set (Salt: salt/pillar/http_json.py, http_yaml.py). An unreachable
 * service, or an answer that is no map, is logged and gives no data.
 * @throws TypeError without an address, or for arguments that Salt does not have
 * @throws Error for `auth`, which is not supported
 */
export async function readHttp(
  form: 'json' | 'yaml',
  minion: ExternalMinion,
  args: SaltValue,
  { log }: Pick<ExternalSettings, 'log'>,
): Promise<SaltValue> {
  const options = callArguments(args, ['url'], OPTIONS);
  const given = options.get('url');
  if (typeof given !== 'string') throw new TypeError('the url must be a text');
  if (isTruthy(options.get('auth') ?? null)) throw new Error(`http_${form}: auth is not served`);
  const address = addressOf(given, minion, isTruthy(options.get('with_grains') ?? null));
  if (address === undefined) {
    log('error', `Unable to get minion grains of the url ${given}`);
    return new Map();
  }
  try {
    const text = await fetchText(address, headersOf(options));
    const value = form === 'json' ? readJson(text) : loadYaml(text, YamlWork.ofFile());
    const namespace = options.get('namespace') ?? null;
    if (isMap(value)) return isTruthy(namespace) ? new Map([[namespace, value]]) : value;
    log('error', `http_${form}: ${address} returned no map`);
  } catch (error) {
    log('error', `http_${form}: ${address}: ${(error as Error).message}`);
  }
  return new Map();
}

function addressOf(url: string, minion: ExternalMinion, withGrains: boolean): string | undefined {
  const plain = url.replaceAll('%s', () => encodeURIComponent(minion.id));
  if (!withGrains) return plain;
  let isWhole = true;
  const full = plain.replaceAll(/<(.*?)>/g, (_whole, name: string) => {
    const grain = minion.grains.get(name);
    const value = pyStr(grain ?? null);
    // Dots would change the path on the service, in any encoding.
    if (grain === undefined || grain === null || /^\.*$/.test(value)) isWhole = false;
    return encodeURIComponent(value);
  });
  return isWhole ? full : undefined;
}

function headersOf(options: SaltMap): Record<string, string> {
  const more = options.get('header_dict');
  const headers = [...(isMap(more) ? more : [])].map(([name, value]) => [
    pyStr(name),
    pyStr(value),
  ]);
  const [user, password] = [options.get('username') ?? null, options.get('password') ?? null];
  if (isTruthy(user) && isTruthy(password)) {
    const login = Buffer.from(`${pyStr(user)}:${pyStr(password)}`).toString('base64');
    headers.push(['Authorization', `Basic ${login}`]);
  }
  return Object.fromEntries(headers) as Record<string, string>;
}

async function fetchText(address: string, headers: Record<string, string>): Promise<string> {
  const answer = await fetch(address, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  const chunks: Uint8Array[] = [];
  let size = 0;
  const body: AsyncIterable<Uint8Array> | null = answer.body;
  if (body === null) return '';
  for await (const chunk of body) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new Error('more than 16 MiB');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
