// Runs the recorded cases of a topic in the lab on a stock master and writes them down again:
// `npx tsx --conditions=source test/interop/transcripts/record.ts --salt RELEASE … [--out FILE]
// [--only PATTERN] TOPIC`. Cases of a line of which no release is named stay as they are, and so do
// texts that count as equal.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { anySaltVenv, newestOf } from '@brine/testing';
import { judgeCases, type Judged } from './judge.ts';
import { takeTurn } from './one-lab.ts';
import { FIXTURES, lineOf, type RecordedCase } from './recorded-cases.ts';
import { StockLab } from './stock-lab.ts';
import { stockTools } from './tools.ts';

const { values, positionals } = parseArgs({
  options: {
    salt: { type: 'string', multiple: true, default: [newestOf('3008')] },
    out: { type: 'string' },
    only: { type: 'string', default: '' },
  },
  allowPositionals: true,
});
const [topic = ''] = positionals;
const file = join(FIXTURES, `${topic}.json`);
const only = new RegExp(values.only);

let cases = JSON.parse(await readFile(file, 'utf8')) as readonly RecordedCase[];
const endTurn = await takeTurn();
try {
  for (const release of values.salt) cases = await recordedBy(release, cases);
} finally {
  endTurn();
}
await writeFile(values.out ?? file, `${JSON.stringify(cases, undefined, 1)}\n`);

/** The cases, those of the line of a release as it answers them. */
async function recordedBy(
  release: string,
  all: readonly RecordedCase[],
): Promise<readonly RecordedCase[]> {
  const asked = all.filter(
    ({ name, version }) => lineOf(version) === lineOf(release) && only.test(name),
  );
  if (asked.length === 0) return all;
  const venv = await anySaltVenv(release);
  const older = lineOf(release) === '3006' ? venv : await anySaltVenv(newestOf('3006'));
  const lab = await StockLab.start(venv, older);
  try {
    const judged = await judgeCases(lab, await stockTools(lab), asked, new Set());
    const now = new Map(judged.map((one) => [one.recorded, recordedNow(one, release)]));
    return all.map((one) => now.get(one) ?? one);
  } finally {
    await lab.close();
  }
}

function recordedNow({ recorded, equal, seen }: Judged, release: string): RecordedCase {
  const version = release;
  if (equal) return { ...recorded, version };
  const { exit, stdout, stderr, files } = seen;
  process.stderr.write(`${recorded.name}: not as it was\n`);
  return { ...recorded, version, exit, stdout, stderr, ...(files === null ? {} : { files }) };
}
