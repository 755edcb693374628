import { parseArguments } from '@brine/client';
import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import { YamlWork } from '@brine/yaml';

/**
 * Reads the arguments of a job that a minion publishes. They are texts as on a command line;
 * `name=value` and maps with `__kwarg__` become one map at the end (Salt: salt/utils/args.py
 * parse_input).
 * @throws YamlWorkError for more arguments than a peer may send
 */
export function peerArguments(
  args: readonly SaltValue[],
  noParse: readonly SaltValue[],
): SaltValue[] {
  const texts = new Set(noParse.filter((name) => typeof name === 'string'));
  const work = YamlWork.ofPeer();
  const list: SaltValue[] = [];
  const keywords: SaltMap = new Map();
  for (const arg of args) {
    const parsed = typeof arg === 'string' ? (parseArguments([arg], texts, work)[0] ?? null) : arg;
    if (!isMap(parsed) || parsed.get('__kwarg__') !== true) list.push(parsed);
    else for (const [name, value] of parsed) keywords.set(name, value);
  }
  return keywords.size === 0 ? list : [...list, keywords];
}
