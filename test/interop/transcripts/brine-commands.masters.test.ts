import { describeTranscripts } from './describe-transcripts.ts';
import { topicOf } from './recorded-cases.ts';
import { turnOf } from './turns.ts';

/** When they were recorded, cases that wait took longer. */
const SECONDS_MAX = 1.5;

// All others are in the deep layer.
describeTranscripts('brine', (recorded) => {
  const isChosen = ['runner', 'targeting'].includes(topicOf(recorded));
  const isQuick = recorded.seconds < SECONDS_MAX && recorded.before === undefined;
  return isChosen && isQuick && turnOf(recorded) === 'beside';
});
