export { Answerer } from './answer.ts';
export { judgeAuth } from './clear/auth-verdict.ts';
export type { AuditRecord } from './audit-port.ts';
export { MasterUnavailableError } from './errors.ts';
export type { AuthAct, AuthFacts, AuthVerdict } from './clear/auth-verdict.ts';
export type {
  AesKeys,
  Answer,
  Autosign,
  Events,
  EventToAppend,
  Job,
  JobQueries,
  Pillars,
  KeyState,
  MasterKey,
  MasterOptsReply,
  MasterPorts,
  RefusedWork,
  MasterRules,
  MinionData,
  MinionKey,
  MinionKeys,
  Publications,
  Request,
  SessionKeys,
  StoredMinionData,
  StoredMinionKey,
  Syndics,
  UserKeys,
} from './ports.ts';
export type { FunctionCall, FunctionOutcome, MasterFunctions } from './function-ports.ts';
export type { AccessRules, Logins, Tokens, TokenRecord, Vouched } from './login-ports.ts';
export type { Mines } from './mine-ports.ts';
export type {
  Files,
  ServedFile,
  ServedLists,
  ServedPiece,
  Begun,
  Once,
  ServedPorts,
  ReceivedFiles,
  ServedRules,
  ExternalTops,
} from './served-ports.ts';
export type { AnswerAbout, ReturnToTrace } from './trace-ports.ts';
