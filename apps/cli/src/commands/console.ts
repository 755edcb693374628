import { createHash, randomBytes } from 'node:crypto';
import { MasterUnreachableError, RefusedError, RequestTimeoutError } from '@brine/client';
import { intOf, mapOf, textOf } from '@brine/wire';
import { consoleAddresses } from '../console-addresses.ts';
import { EXIT, Exit } from '../exit-codes.ts';
import { openLocalMaster } from '../local-master.ts';
import { readMasterConfig } from '../master-config.ts';
import { brineForm } from '../options/common-groups.ts';
import { OptionParser } from '../options/option-parser.ts';
import type { Terminal } from '../terminal.ts';

/** Random bytes of a code. */
const CODE_BYTES = 32;

const DESCRIPTION = `Prints an address of the HTTP API that logs a browser in with your rights on
this host.

The address is good once, for ten minutes. It needs no external_auth. The session ends with
token_expire, with your log-out, and with the key by which the master knows you.`;

/**
 * `brine console`: makes a one-time code and has the master keep its hash. The code itself goes to
 * the terminal alone.
 */
export async function runConsole(args: readonly string[], terminal: Terminal): Promise<number> {
  const parser = new OptionParser(brineForm('console', DESCRIPTION));
  const options = parser.parse(args);
  if (options.args.length > 0) throw parser.error('console takes options only');
  const config = readMasterConfig(options, terminal);
  const code = randomBytes(CODE_BYTES).toString('base64url');
  const hash = createHash('sha256').update(code).digest('hex');
  const master = openLocalMaster(config, terminal);
  try {
    const kept = await master.client.command(mapOf({ cmd: 'brine_code', code_hash: hash }));
    const until = new Date((intOf(kept, 'expire') ?? 0) * 1_000).toISOString();
    for (const address of consoleAddresses(config)) terminal.out(`${address}#code=${code}\n`);
    terminal.err(`Good once, until ${until}, as ${textOf(kept, 'principal') ?? ''}.\n`);
    return EXIT.ok;
  } catch (error) {
    const isKnown =
      error instanceof RefusedError ||
      error instanceof MasterUnreachableError ||
      error instanceof RequestTimeoutError;
    if (!isKnown) throw error;
    throw new Exit(EXIT.generic, `${error.message}\n`);
  } finally {
    await master.close();
  }
}
