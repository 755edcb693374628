import { describeTranscripts } from './describe-transcripts.ts';

describeTranscripts('brine');
