import { isMap, type SaltValue } from '@brine/wire';
import { pyStr, readJson } from '@brine/wire/text';
import { loadYaml, YamlWork } from '@brine/yaml';
import type { ExternalMinion, ExternalSettings } from './source-settings.ts';

const TIMEOUT_MS = 20_000;
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * What a web service says of a minion; `%s` in its address stands for the id, `<grain>` for a
 * grain where `with_grains` is set (Salt: salt/pillar/http_json.py, http_yaml.py). An
 * unreachable service, or an answer that is no map, is logged and gives no data.
 * @throws TypeError where there is no address
 */
export async function readHttp(
  form: 'json' | 'yaml',
  minion: ExternalMinion,
  args: SaltValue,
  { log }: Pick<ExternalSettings, 'log'>,
): Promise<SaltValue> {
  const [given, flag] = isMap(args)
    ? [args.get('url'), args.get('with_grains')]
    : Array.isArray(args)
      ? args
      : [args];
  if (typeof given !== 'string') throw new TypeError('the url must be a text');
  const address = addressOf(given, minion, flag === true);
  if (address === undefined) {
    log('error', `Unable to get minion grains of the url ${given}`);
    return new Map();
  }
  try {
    const text = await fetchText(address);
    const value = form === 'json' ? readJson(text) : loadYaml(text, YamlWork.ofFile());
    if (isMap(value)) return value;
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
    // Dots would lead to another path of the service, in any encoding.
    if (grain === undefined || grain === null || /^\.*$/.test(value)) isWhole = false;
    return encodeURIComponent(value);
  });
  return isWhole ? full : undefined;
}

async function fetchText(address: string): Promise<string> {
  const answer = await fetch(address, { signal: AbortSignal.timeout(TIMEOUT_MS) });
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
