import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The recordings, with the lab that they were made in. */
export const FIXTURES = fileURLToPath(new URL('../../fixtures/transcripts/', import.meta.url));

/** The recorded topics. salt-api (`api.json`) speaks HTTP and has no command line. */
export const TOPICS = [
  'batch',
  'option-errors',
  'outputters',
  'returns',
  'runner',
  'runner-jobs',
  'salt-call',
  'salt-key',
  'states',
  'targeting',
  'waiting',
] as const;

/** One of {@link TOPICS}. */
export type Topic = (typeof TOPICS)[number];

/** A line of releases that the cases were recorded with. */
export type RecordedLine = '3008' | '3006';

/** A command that runs before a case or beside it. */
export interface Step {
  readonly argv: readonly string[];
  /** The first jid that it prints gets this name. */
  readonly capture?: string;
}

/** A recorded case (test/fixtures/transcripts/README.md). */
export interface RecordedCase {
  readonly name: string;
  readonly version: string;
  readonly argv: readonly string[];
  readonly stdin?: string;
  /** `keys-reset`, `jobs-clear`, `sleep N`, or a command. */
  readonly before?: readonly (string | Step)[];
  readonly during?: readonly (Step & { readonly delay: number })[];
  readonly signal?: { readonly after: number; readonly send: 'INT' | 'TERM' };
  readonly tty?: boolean;
  readonly exit: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly seconds: number;
  readonly unstable?: boolean;
  readonly 'in_3006.26'?: string;
}

/** The line of a release: `3008` of `3008.5`. */
export function lineOf(release: string): string {
  return release.slice(0, 4);
}

/** The cases that hold for a line: a text that is the same in both was recorded once. */
export function recordedCases(line: RecordedLine): readonly RecordedCase[] {
  return TOPICS.flatMap((topic) => {
    const text = readFileSync(join(FIXTURES, `${topic}.json`), 'utf8');
    const all = JSON.parse(text) as readonly RecordedCase[];
    const isSame = (one: RecordedCase): boolean => one['in_3006.26'] === 'same';
    return all.filter((one) => lineOf(one.version) === line || (line === '3006' && isSame(one)));
  });
}

/** The topic of a case. */
export function topicOf({ name }: RecordedCase): Topic {
  const topic = TOPICS.find((one) => name.startsWith(`${one}/`));
  if (topic === undefined) throw new Error(`${name} is of no known topic`);
  return topic;
}

/** All words of a case, its steps included. */
export function wordsOf({ argv, before = [], during = [] }: RecordedCase): readonly string[] {
  const steps = [...before, ...during].filter((step) => typeof step === 'object');
  return [argv, ...steps.map((step) => step.argv)].flat();
}
