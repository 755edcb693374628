export { Answerer } from './answer.ts';
export { judgeAuth } from './clear/auth-verdict.ts';
export type { AuditRecord } from './ports/audit-port.ts';
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
} from './ports/ports.ts';
export type { FunctionCall, FunctionOutcome, MasterFunctions } from './ports/function-ports.ts';
export type { AccessRules, Logins, Tokens, TokenRecord, Vouched } from './ports/login-ports.ts';
export type { Mines } from './ports/mine-ports.ts';
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
} from './ports/served-ports.ts';
export type { AnswerAbout, ReturnToTrace } from './ports/trace-ports.ts';
