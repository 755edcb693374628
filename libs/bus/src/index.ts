export type { BusOptions } from './connection/bus-options.ts';
export { Bus, connectBus } from './connection/connect.ts';
export { ConnectionWatch } from './connection/connection-watch.ts';
export { asError, BusError } from './connection/errors.ts';
export { isRecord } from './connection/js-api.ts';
export { PauseWatch } from './connection/pause-watch.ts';
export { isAtLeast, NATS_FLOOR, versionIn } from './connection/server-version.ts';
export { readServers } from './connection/servers.ts';
export { Bucket } from './kv/bucket.ts';
export type { BucketChange, BucketPlace } from './kv/bucket-follower.ts';
export { BucketFollower } from './kv/bucket-follower.ts';
export type { BucketEntry } from './kv/bucket-watch.ts';
export { BucketWatch } from './kv/bucket-watch.ts';
export { changeValue } from './kv/change-value.ts';
export { readStray } from './stray-reader.ts';
export type { Appended } from './streams/append.ts';
export { handleEach } from './streams/asides.ts';
export type { StreamLimits } from './streams/ensure-streams.ts';
export { ensureStreams, waitForStreams } from './streams/ensure-streams.ts';
export type { StreamReaderLag } from './streams/reader-lags.ts';
export { readerLags } from './streams/reader-lags.ts';
export { changeSubjects } from './streams/reader-subjects.ts';
export type { Stray } from './streams/stray.ts';
export type { StreamUsage } from './streams/trim-streams.ts';
export { streamUsage, trimStreams } from './streams/trim-streams.ts';
export type { BucketKey } from './subjects/escape.ts';
export { escapeKey, splitKey, unescapeKey } from './subjects/escape.ts';
export type {
  BucketName,
  ReactionKind,
  RequestClass,
  ServiceName,
  StreamName,
} from './subjects/names.ts';
export {
  BUCKETS,
  isToken,
  REPLY_INBOX,
  REQUEST_CLASSES,
  SERVER_NAME,
  SERVICE_NAMES,
  STREAMS,
  SUBJECT_ROOT,
  subjects,
} from './subjects/names.ts';
