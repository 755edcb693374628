import { readFile, stat } from 'node:fs/promises';
import type { MasterOptions } from '@brine/config';
import { mapOf, type SaltMap } from '@brine/wire';
import { COPY_FORM, type CopyCommand, readCopy } from '../copy/copy-options.ts';
import { type Sending, sendInPieces, sendWhole } from '../copy/send-files.ts';
import { listSources } from '../copy/source-files.ts';
import { EXIT, Exit, unhandled } from '../exit-codes.ts';
import { openLocalMaster } from '../local-master.ts';
import { readMasterConfig } from '../master-config.ts';
import { isOn, numberValue, type ParsedOptions } from '../options/command-form.ts';
import { OptionParser } from '../options/option-parser.ts';
import { emptyOutputFile, Printer } from '../printer.ts';
import { whenInterrupted } from '../salt/interrupt.ts';
import { asSaltError, pythonName } from '../salt/salt-errors.ts';
import { checkTargetKinds } from '../salt/salt-options.ts';
import { logLine, type Terminal } from '../terminal.ts';

/** Limit without `-C`, where all files are in one message. Larger ones need pieces. */
const WHOLE_MAX_BYTES = 64 * 1024 * 1024;

/** `salt-cp`: copies files of this host to minions. Returns the exit code. */
export async function runCopy(args: readonly string[], terminal: Terminal): Promise<number> {
  const parser = new OptionParser(COPY_FORM);
  const options = parser.parse(args);
  emptyOutputFile(options, parser);
  const config = readMasterConfig(options, terminal);
  checkTargetKinds(options, parser);
  const copy = readCopy(options, parser, terminal);
  const printer = new Printer(options, config, terminal);
  const seconds = numberValue(options, 'timeout') ?? 0;
  const given = options.given.has('timeout') && seconds > 0;
  const master = openLocalMaster(config, terminal, given ? { timeoutMs: seconds * 1000 } : {});
  const interrupt = whenInterrupted(terminal);
  try {
    const sending: Sending = {
      client: master.client,
      copy,
      chunkBytes: config.saltCpChunkSize,
      compressed: isOn(options, 'gzip'),
      print: (text) => logLine(terminal, 'WARNING', text),
      out: (text) => terminal.out(text),
    };
    printer.show(await send(sending, options, terminal, config), 'nested');
    return EXIT.ok;
  } catch (error) {
    const known = asSaltError(error);
    if (known === undefined) throw error;
    throw unhandled(terminal, `${pythonName(known)}: ${known.message}`);
  } finally {
    interrupt.dispose();
    await master.close();
  }
}

async function send(
  sending: Sending,
  options: ParsedOptions,
  terminal: Terminal,
  config: MasterOptions,
): Promise<SaltMap> {
  const { sources } = sending.copy;
  if (!isOn(options, 'chunked')) {
    const limit = Math.min(WHOLE_MAX_BYTES, config.brine.maxRequestSize);
    return sendWhole(sending, await textsOf(sending.copy, terminal, limit));
  }
  return sendInPieces(sending, await listSources(sources, sending.print));
}

/** The texts of the sources by their paths (Salt: salt/cli/cp.py _load_files). */
async function textsOf(
  { sources }: CopyCommand,
  terminal: Terminal,
  limit: number,
): Promise<SaltMap> {
  const texts: SaltMap = mapOf({});
  let room = limit;
  for (const path of sources) {
    const found = await stat(path).catch(() => undefined);
    if (found?.isDirectory() === true) {
      terminal.out(
        `${path} is a directory, only files are supported in non-chunked mode. ` +
          'Use "--chunked" command line argument.\n',
      );
      throw new Exit(EXIT.generic);
    }
    // Salt silently skips missing files.
    if (found?.isFile() !== true) {
      throw new Exit(EXIT.incomplete, `The referenced file, ${path} is not available.\n`);
    }
    room -= found.size;
    if (room < 0) {
      throw new Exit(EXIT.generic, `The files are larger than ${limit} bytes: use --chunked.\n`);
    }
    texts.set(path, decoded(await readFile(path), path, terminal));
  }
  return texts;
}

function decoded(bytes: Buffer, path: string, terminal: Terminal): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw unhandled(terminal, `UnicodeDecodeError: ${path} is not UTF-8 text: use --chunked`);
  }
}
