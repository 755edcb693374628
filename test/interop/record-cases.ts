import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { anySaltVenv, newestOf, type SaltVenv } from '@brine/testing';
import { format } from 'prettier';

/** What a stock master is asked, and where the answers are kept. */
export interface Recorder<Case extends { readonly name: string }, Outcome> {
  readonly file: string;
  readonly cases: readonly Case[];
  readonly ask: (
    venv: SaltVenv,
    cases: readonly Case[],
    onDone: (name: string, outcome: Outcome) => void,
  ) => Promise<unknown>;
}

/**
 * Asks a stock master for cases, and writes what came of each. The command line may name cases:
 * the others stay as they are. `--salt RELEASE` names the release, by default the newest 3008;
 * `--out FILE` another file to write.
 */
export async function recordCases<Case extends { readonly name: string }, Outcome>({
  file,
  cases,
  ask,
}: Recorder<Case, Outcome>): Promise<void> {
  const { values, positionals } = parseArgs({
    options: { salt: { type: 'string', default: newestOf('3008') }, out: { type: 'string' } },
    allowPositionals: true,
  });
  const { salt, out = file } = values;
  const only = new Set(positionals);
  const asked = cases.filter(({ name }) => only.size === 0 || only.has(name));
  const kept = only.size === 0 ? '{}' : await readFile(file, 'utf8');
  const outcomes: Record<string, Outcome> = {};
  await ask(await anySaltVenv(salt), asked, (name, outcome) => {
    outcomes[name] = outcome;
    process.stderr.write(`${name}\n`);
  }).catch((error: unknown) => {
    // What was recorded until then is kept.
    process.exitCode = 1;
    process.stderr.write(`${String(error)}\n`);
  });
  const known = JSON.parse(kept) as Record<string, Outcome>;
  const all = Object.entries({ ...known, ...outcomes }).sort(([a], [b]) => (a < b ? -1 : 1));
  const text = JSON.stringify(Object.fromEntries(all));
  await writeFile(out, await format(text, { parser: 'json', printWidth: 100 }));
  process.stdout.write(`${all.length} outcomes in ${out}\n`);
}
