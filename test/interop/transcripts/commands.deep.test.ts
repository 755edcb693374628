import { describeTranscripts } from './describe-transcripts.ts';
import { lineOf } from './recorded-cases.ts';

/** Of the cases that 3008 prints alike, and runs all of, one in so many; 1 for each of them. */
const ONE_IN = Number(process.env['BRINE_TRANSCRIPTS_3006'] ?? 3);

// One lab at a time runs on a host, so all of them are one file: it waits for no other.
describeTranscripts('brine');
describeTranscripts('salt 3008');

let alike = 0;
describeTranscripts(
  'salt 3006',
  ({ version }) => lineOf(version) === '3006' || alike++ % ONE_IN === 0,
);
