import { isJid } from '@brine/job';
import { formatTrace, readTrace, traceDir } from '@brine/telemetry';
import { EXIT } from '../exit-codes.ts';
import { readMasterConfig } from '../master-config.ts';
import { BASE_OPTIONS } from '../options/common-groups.ts';
import { OptionParser } from '../options/parser.ts';
import type { Terminal } from '../terminal.ts';

/** `brine trace <jid>`: the way of one job through all services, as a tree with times. */
export async function runTrace(args: readonly string[], terminal: Terminal): Promise<number> {
  const parser = new OptionParser({
    prog: 'brine trace',
    usage: '[options] <jid>',
    description: 'Shows the way of one job through all services, with times.',
    version: '0.1.0',
    groups: [{ title: 'Options', options: BASE_OPTIONS }],
  });
  const options = parser.parse(args);
  const [jid, ...more] = options.args;
  if (jid === undefined || more.length > 0) throw parser.error('one job id is needed');
  if (!isJid(jid)) throw parser.error(`'${jid}' is not a valid JID`);
  const config = readMasterConfig(options, terminal);
  const trace = await readTrace(traceDir(config.cachedir), jid);
  terminal.out(formatTrace(trace));
  return trace.spans > 0 ? EXIT.ok : EXIT.noReturn;
}
