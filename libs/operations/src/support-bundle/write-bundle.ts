import { link, unlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename } from 'node:path';
import type { JobRecords } from '@brine/client';
import type { LoadedConfig, MasterOptions } from '@brine/config';
import { RefusedError } from '@brine/master-host';
import { errorText } from '@brine/tasks';
import { sizeText } from '../doctor/check-disks.ts';
import { lookAtFacts } from '../doctor/facts/facts.ts';
import { SecretScanner } from '../secrets/secret-scanner.ts';
import { type HostSecrets, secretsOfHost } from '../secrets/secrets-of-host.ts';
import { cleanPart, packBundle, type PackedPart } from './pack-bundle.ts';
import { partsOf } from './parts.ts';

/** Inputs for a support bundle. */
export interface BundleArguments {
  readonly file: string;
  readonly loaded: LoadedConfig<MasterOptions>;
  readonly configDir: string | undefined;
  readonly jobs: JobRecords;
}

/**
 * Writes a file with everything that support needs, without secrets of this host. Returns its
 * parts, and its size as text. @throws RefusedError
 */
export async function writeBundle(
  args: BundleArguments,
): Promise<{ readonly parts: readonly PackedPart[]; readonly size: string }> {
  const { dir, parts, scanner } = await collect(args);
  const packed = await packOrNote(dir, parts, scanner);
  await writeNew(args.file, packed);
  return { parts, size: sizeText(packed.length) };
}

interface Bundle {
  readonly dir: string;
  readonly parts: readonly PackedPart[];
  readonly scanner: SecretScanner;
}

async function collect({ loaded, configDir, jobs }: BundleArguments): Promise<Bundle> {
  const { options } = loaded;
  const known = await secretsOfHost(options, { configDir });
  const scanner = new SecretScanner(known.secrets);
  const facts = await lookAtFacts(options, jobs);
  const parts: PackedPart[] = [];
  for (const part of await partsOf({ loaded, configDir, jobs, facts })) {
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
}

/** Text that describes the file and what is missing in it. */
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

async function packOrNote(
  dir: string,
  parts: readonly PackedPart[],
  scanner: SecretScanner,
): Promise<Buffer> {
  try {
    return await packBundle(dir, parts, scanner);
  } catch (error) {
    throw new RefusedError(`nothing was written: ${errorText(error)}`);
  }
}

/** Writes the whole file or nothing, readable only for this user; never replaces a file. */
async function writeNew(file: string, bytes: Uint8Array): Promise<void> {
  const draft = `${file}.${process.pid}.draft`;
  try {
    await writeFile(draft, bytes, { mode: 0o600, flag: 'wx' });
    await link(draft, file);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw new RefusedError(`${file} is there already: give another name`);
    throw new RefusedError(`${file} can not be written: ${message}`);
  } finally {
    await unlink(draft).catch(() => undefined); // It does not exist.
  }
}
