import { type Problem, type ProblemCode, PROBLEMS } from '@brine/api';
import { BusError } from '@brine/bus';
import { NodegroupError } from '@brine/client';
import { type HttpReply, type HttpRequest, unfitOf } from '@brine/http';
import { errorText } from '@brine/tasks';
import { WireError } from '@brine/wire';
import { NetapiError } from '../errors.ts';
import { PROBLEM_TYPE } from './schemas.ts';

/** A request of `/v1` that is refused. */
export class RefusedRequest extends Error {
  readonly code: ProblemCode;
  /** Seconds after which the same request may succeed. */
  readonly retryAfter: number | undefined;

  /** More fields of the problem. */
  readonly facts: Pick<Problem, 'count' | 'digest'>;

  constructor(code: ProblemCode, text = '', options: RefusalOptions = {}) {
    super(text, options);
    this.name = 'RefusedRequest';
    this.code = code;
    this.retryAfter = options.retryAfter;
    this.facts = options.facts ?? {};
  }
}

interface RefusalOptions extends ErrorOptions {
  readonly retryAfter?: number;
  readonly facts?: RefusedRequest['facts'];
}

const RETRY_AFTER_S = 5;
const NO_RIGHT: ReadonlySet<string> = new Set(['AuthorizationError']);

/** The refusal that an error is; undefined for a fault of ours. */
export function refusalOf(error: unknown): RefusedRequest | undefined {
  if (error instanceof RefusedRequest) return error;
  if (error instanceof NetapiError) return ofMaster(error);
  if (error instanceof BusError) {
    return new RefusedRequest('no-master', '', { cause: error, retryAfter: RETRY_AFTER_S });
  }
  if (error instanceof NodegroupError) {
    return new RefusedRequest('bad-target', error.message, { cause: error });
  }
  if (error instanceof WireError) {
    return new RefusedRequest('bad-request', error.message, { cause: error });
  }
  const unfit = unfitOf(error);
  if (unfit !== undefined) return new RefusedRequest('bad-request', unfit, { cause: error });
  return ofServer(error);
}

/** A refusal of a worker, whose statuses are those of a stock salt-api. */
function ofMaster(error: NetapiError): RefusedRequest {
  const { status, message, retryAfter = RETRY_AFTER_S, refusal = '' } = error;
  if (status === 503) {
    return new RefusedRequest('no-master', message, { cause: error, retryAfter });
  }
  if (status === 403) return new RefusedRequest('other-origin', message, { cause: error });
  if (status !== 401) return new RefusedRequest('bad-request', message, { cause: error });
  const code = NO_RIGHT.has(refusal) ? 'forbidden' : 'not-logged-in';
  return new RefusedRequest(code, message, { cause: error });
}

/** Faults that the web server finds before a route is reached, by their statuses. */
const OF_STATUS: ReadonlyMap<number, ProblemCode> = new Map([
  [400, 'bad-request'],
  [404, 'not-found'],
  [413, 'too-large'],
  [415, 'not-json'],
]);

function ofServer(error: unknown): RefusedRequest | undefined {
  if (!(error instanceof Error) || !('statusCode' in error)) return undefined;
  const code = OF_STATUS.get(Number(error.statusCode));
  return code === undefined
    ? undefined
    : new RefusedRequest(code, errorText(error), { cause: error });
}

/** Answers with a problem (RFC 9457). */
export function sendProblem(
  request: HttpRequest,
  reply: HttpReply,
  { code, message, retryAfter, facts }: RefusedRequest,
  docs: string,
): HttpReply {
  const { status, title, retryable } = PROBLEMS[code];
  const [instance = ''] = request.url.split('?');
  const problem: Problem = {
    type: `${docs}#${code}`,
    title,
    status,
    ...(message === '' ? {} : { detail: message }),
    instance,
    code,
    retryable,
    ...facts,
  };
  if (retryAfter !== undefined) void reply.header('Retry-After', String(retryAfter));
  if (status === 401) void reply.header('WWW-Authenticate', 'Bearer');
  return reply
    .code(status)
    .type(PROBLEM_TYPE)
    .serializer((value: unknown) => JSON.stringify(value))
    .send(problem);
}
