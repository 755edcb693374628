export type { Again, JobMessage, Published } from './publication.ts';
export { PublicationReader } from './publication-reader.ts';
export type { PublicationTimes } from './publication-times.ts';
export { readPublicationTimes } from './publication-times.ts';
export type { AppendedJob } from './publication-writer.ts';
export { PublicationWriter } from './publication-writer.ts';
export type { Sent } from './send-notice.ts';
export { hearSent, tellSent } from './send-notice.ts';
export { waitWritten } from './write-acks.ts';
