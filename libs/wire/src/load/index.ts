export type { AuthAccept, AuthAnswer, AuthRequest, AuthVerdict } from './auth.ts';
export {
  buildAuth,
  buildAuthAccept,
  buildAuthVerdict,
  parseAuth,
  parseAuthAnswer,
} from './auth.ts';
export { buildServeFile, parseFilePiece, parseFileReceive, parseServeFile } from './file.ts';
export { hasFailed } from './has-failed.ts';
export { withoutCredentials } from './kept-load.ts';
export { metadataOf } from './metadata.ts';
export { parseMineEntry } from './mine.ts';
export type { MinionEventLoad } from './minion-event.ts';
export { buildMinionEvent, buildMinionEvents, parseMinionEvent } from './minion-event.ts';
export {
  buildPillar,
  buildPrivateData,
  buildPrivateReply,
  buildSignedPrivate,
  parsePrivateData,
  parsePrivateReply,
  parseSignedPrivate,
} from './pillar.ts';
export type { PublishedJob, PublishRequest } from './publish.ts';
export {
  buildErrorReply,
  buildNewJob,
  buildPublish,
  buildPublishedJob,
  buildPublishReply,
  COMMAND_NAME,
  parsePublish,
  parsePublishedJob,
} from './publish.ts';
export { buildReturn } from './return.ts';
export {
  buildRunEntry,
  endsRun,
  hasRunEntry,
  hasSecretArguments,
  hasSecretReturn,
  SECRET_RETURN,
} from './run.ts';
export type { SyndicJob } from './syndic-return.ts';
export { buildSyndicReturn, parseSyndicReturn } from './syndic-return.ts';
