export { Answerer } from './answer.ts';
export type { AuditRecord } from './ports/audit-port.ts';
export { MasterUnavailableError } from './errors.ts';
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
  SessionKeys,
  StoredMinionData,
  StoredMinionKey,
  Syndics,
  UserKeys,
} from './ports/ports.ts';
export type { FunctionCall, FunctionOutcome, MasterFunctions } from './ports/function-ports.ts';
export type { AccessRules, Logins, Tokens, TokenRecord } from './ports/login-ports.ts';
export type { Mines } from './ports/mine-ports.ts';
export type { Begun, Once, ServedPorts, ExternalTops } from './ports/served-ports.ts';
export type { AnswerAbout, ReturnToTrace } from './ports/trace-ports.ts';
