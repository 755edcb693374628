import { describeTranscripts } from './describe-transcripts.ts';

describeTranscripts('salt 3008.2');
