import { describeTranscripts } from './describe-transcripts.ts';

describeTranscripts('salt 3006.26');
