import { link, unlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename } from 'node:path';
import { JobRecords } from '@brine/client';
import {
  ConfigError,
  type LoadedConfig,
  loadMasterConfig,
  type MasterOptions,
} from '@brine/config';
import { sizeText } from '../doctor/check-disks.ts';
import { look } from '../doctor/look.ts';
import { EXIT, Exit } from '../exit-codes.ts';
import { lookAtMaster } from '../look-at-master.ts';
import { textValue } from '../options/command-form.ts';
import { brineForm } from '../options/common-groups.ts';
import { OptionParser } from '../options/option-parser.ts';
import { logLine, type Terminal } from '../terminal.ts';
import { cleanPart, packBundle, type PackedPart } from './pack-bundle.ts';
import { partsOf } from './parts.ts';
import { SecretScanner } from './secret-scanner.ts';
import { type HostSecrets, secretsOfHost } from './secrets-of-host.ts';

const FORM = brineForm(
  'support-bundle',
  `Writes what others need to help into one file: status of all hosts, doctor, configuration with
masked passwords, the ends of the logs, the state of streams and PostgreSQL, the newest jobs without
arguments. It works while the master does not run, and changes nothing.

Secrets of this host are looked for in every part before the file is written. Lines that hold one
are left out, and parts that hold one still are removed; each is named. Names of hosts, users and
minions stay.`,
  [],
  '[options] FILE',
);

/** The master answers within this, or its parts say why not, ms. */
const ASK_MS = 10_000;

/** `brine support-bundle FILE`. Gives the exit code. */
export async function runSupportBundle(
  args: readonly string[],
  terminal: Terminal,
): Promise<number> {
  const parser = new OptionParser(FORM);
  const parsed = parser.parse(args);
  const [file, ...rest] = parsed.args;
  if (file === undefined || rest.length > 0) throw parser.error('name one file, as night.tar.gz');
  const configDir = textValue(parsed, 'config_dir');
  let loaded: LoadedConfig<MasterOptions>;
  try {
    loaded = loadMasterConfig({ configDir });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    logLine(terminal, 'ERROR', error.message);
    return EXIT.generic;
  }
  const bundle = await collect(loaded, configDir);
  const packed = await packOrSay(bundle.dir, bundle.parts, bundle.scanner);
  await writeNew(file, packed);
  for (const { name, note } of bundle.parts) {
    if (note !== undefined) terminal.err(`${name}: ${note}\n`);
  }
  const size = sizeText(packed.length);
  terminal.out(`${file}: ${bundle.parts.length} parts, ${size}. Read it before you send it.\n`);
  return EXIT.ok;
}

interface Bundle {
  readonly dir: string;
  readonly parts: readonly PackedPart[];
  readonly scanner: SecretScanner;
}

async function collect(
  loaded: LoadedConfig<MasterOptions>,
  configDir: string | undefined,
): Promise<Bundle> {
  const { options } = loaded;
  const known = await secretsOfHost(options, { configDir });
  const scanner = new SecretScanner(known.secrets);
  // What a client of the master says on the way belongs to no part.
  const master = lookAtMaster(options, QUIET, ASK_MS);
  try {
    const seen = await look(options, new JobRecords(master.client));
    const parts: PackedPart[] = [];
    for (const part of await partsOf({ loaded, configDir, master, seen })) {
      parts.push(await cleanPart(part, scanner));
    }
    const atMs = Date.now();
    const text = readme(parts, known, scanner, atMs);
    const head = await cleanPart(
      { name: 'README.txt', isLines: true, make: async () => text },
      scanner,
    );
    const time = new Date(atMs).toISOString().slice(0, 19).replaceAll(/[:T]/g, '-');
    return {
      dir: `brine-support-${basename(hostname())}-${time}`,
      parts: [head, ...parts],
      scanner,
    };
  } finally {
    await master.close();
  }
}

/** What the file is, and what is not in it. */
function readme(
  parts: readonly PackedPart[],
  { secrets, unread }: HostSecrets,
  { weak }: SecretScanner,
  atMs: number,
): string {
  const gaps = parts.flatMap(({ name, note }) =>
    note === undefined ? [] : [`  ${name}: ${note}`],
  );
  const list = (title: string, lines: readonly string[]): readonly string[] =>
    lines.length === 0 ? [] : ['', title, ...lines];
  return [
    `Support bundle of Brine on ${hostname()}, ${new Date(atMs).toISOString()}`,
    '',
    `Each part was searched for ${secrets.length} secrets of this host, for PEM blocks, tokens and`,
    'passwords. It names hosts, users, minions and functions.',
    ...list('Not whole:', gaps),
    ...list(
      'Not looked for, because the value is too short or too common. Change it:',
      weak.map((from) => `  ${from}`),
    ),
    ...list(
      'Not looked for, because this user can not read it. Run the command as root:',
      unread.map((path) => `  ${path}`),
    ),
    ...list(
      'Parts:',
      parts.map(({ name, text }) => `  ${name} (${sizeText(Buffer.byteLength(text))})`),
    ),
    '',
  ].join('\n');
}

async function packOrSay(
  dir: string,
  parts: readonly PackedPart[],
  scanner: SecretScanner,
): Promise<Buffer> {
  try {
    return await packBundle(dir, parts, scanner);
  } catch (error) {
    throw refused(`nothing was written: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Writes all of it or nothing, for this user alone, and never over a file that is there. */
async function writeNew(file: string, bytes: Uint8Array): Promise<void> {
  const draft = `${file}.${process.pid}.draft`;
  try {
    await writeFile(draft, bytes, { mode: 0o600, flag: 'wx' });
    await link(draft, file);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw refused(`${file} is there already: give another name`);
    throw refused(`${file} can not be written: ${message}`);
  } finally {
    await unlink(draft).catch(() => undefined); // It was not made.
  }
}

function refused(text: string): Exit {
  return new Exit(EXIT.generic, `brine support-bundle: ${text}\n`);
}

const QUIET: Terminal = {
  out: () => undefined,
  err: () => undefined,
  isTerminal: false,
  ownsSignals: false,
  ask: async () => undefined,
  askSecret: async () => undefined,
  readInput: async () => '',
};
