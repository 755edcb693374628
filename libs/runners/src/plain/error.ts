import { RefusedError } from '@brine/client';
import { mapOf, type SaltValue } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import { InvalidArgumentsError } from '../arguments.ts';
import type { BoundArguments, RunnerFunction, WheelFunction } from '../function.ts';

/** The errors of Salt (salt/exceptions.py). */
const SALT_ERRORS: ReadonlySet<string> = new Set(
  (
    'SaltException SaltClientError SaltMasterError SaltNoMinionsFound SaltSyndicMasterError ' +
    'SaltMasterUnresolvableError MasterExit AuthenticationError InvalidKeyError ' +
    'CommandNotFoundError CommandExecutionError LoaderError PublishError MinionError ' +
    'FileserverConfigError FileLockError GitLockError GitRemoteError SaltInvocationError ' +
    'PkgParseError SaltRenderError SaltClientTimeout SaltCacheError TimeoutError ' +
    'SaltReqTimeoutError TimedProcTimeoutError EauthAuthenticationError ' +
    'TokenAuthenticationError TokenExpiredError SaltDeserializationError AuthorizationError ' +
    'SaltValidationError UnsupportedAlgorithm SaltDaemonNotRunning SaltRunnerError ' +
    'SaltWheelError SaltConfigurationError SaltSystemExit SaltCloudException ' +
    'SaltCloudSystemExit SaltCloudConfigError SaltCloudNotFound SaltCloudExecutionTimeout ' +
    'SaltCloudExecutionFailure SaltCloudPasswordError TemplateError ArgumentValueError ' +
    'CheckError InvalidConfigError InvalidEntityError LoggingRuntimeError CodePageError'
  ).split(' '),
);

/** The errors of Python. */
const PYTHON_ERRORS: ReadonlySet<string> = new Set(
  (
    'BaseException Exception ArithmeticError AssertionError AttributeError BlockingIOError ' +
    'BrokenPipeError BufferError ChildProcessError ConnectionAbortedError ConnectionError ' +
    'ConnectionRefusedError ConnectionResetError EOFError EnvironmentError FileExistsError ' +
    'FileNotFoundError FloatingPointError IOError ImportError IndentationError IndexError ' +
    'InterruptedError IsADirectoryError KeyError KeyboardInterrupt LookupError MemoryError ' +
    'ModuleNotFoundError NameError NotADirectoryError NotImplementedError OSError ' +
    'OverflowError PermissionError ProcessLookupError RecursionError ReferenceError ' +
    'RuntimeError StopIteration SyntaxError SystemError SystemExit TabError UnboundLocalError ' +
    'ValueError ZeroDivisionError'
  ).split(' '),
);

/** An error with the name that Python gives it. */
class NamedError extends Error {
  constructor(name: string, message: string) {
    super(message === '' ? name : `${name}: ${message}`);
    this.name = 'NamedError';
  }
}

const PARAMETERS: RunnerFunction['parameters'] = [
  ['name', null],
  ['message', ''],
];

const DOC =
  'Fails with an error of this name and message, to try out what an error does; without a name ' +
  'it returns {}. An unknown name is a SaltException.';

/** Salt: salt/utils/error.py raise_error. */
function fail({ named }: BoundArguments): SaltValue {
  const given = named.get('name') ?? null;
  if (given === null) return mapOf({});
  const name = given === '' ? 'Exception' : pyStr(given);
  const message = pyStr(named.get('message') ?? '');
  // Salt's runners and wheels have special texts for these two.
  if (name === 'TypeError') throw new InvalidArgumentsError(message);
  if (name === 'NotImplemented') throw new RefusedError(name, message);
  if (SALT_ERRORS.has(name)) throw new NamedError(`salt.exceptions.${name}`, message);
  if (PYTHON_ERRORS.has(name)) throw new NamedError(name, message);
  throw new NamedError('salt.exceptions.SaltException', message);
}

/** `error.error` of the runners. */
export const ERROR_RUNNER: readonly RunnerFunction[] = [
  {
    name: 'error.error',
    parameters: PARAMETERS,
    doc: DOC,
    run: async (given) => ({ value: fail(given) }),
  },
];

/** `error.error` of the wheels. */
export const ERROR_WHEEL: readonly WheelFunction[] = [
  { name: 'error.error', parameters: PARAMETERS, doc: DOC, run: (given) => fail(given) },
];
