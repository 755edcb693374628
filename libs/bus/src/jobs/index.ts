export type { JobFilesPatience, JobFilesState } from './job-files.ts';
export { awaitJobFiles, serveJobFiles } from './job-files.ts';
export type { Again, JobMessage, Published } from './publication.ts';
export type { PublicationTimes } from './publication-reader.ts';
export { PublicationReader, readPublicationTimes } from './publication-reader.ts';
export type { AppendedJob } from './publication-writer.ts';
export { PublicationWriter, waitWritten } from './publication-writer.ts';
export type { Sent } from './send-notice.ts';
export { announceSent, onSent } from './send-notice.ts';
