/** Conditions under which a configuration can not be used. */
export type ConfigErrorCode = 'CONFIG_PARSE' | 'CONFIG_VALUE' | 'CONFIG_READ';

/**
 * A configuration that can not be used. The message is what a person should read: for broken YAML
 * it is Salt's own `Error parsing configuration file: <path> - <detail>`.
 */
export class ConfigError extends Error {
  readonly code: ConfigErrorCode;
  readonly file: string | undefined;
  readonly line: number | undefined;

  constructor(
    code: ConfigErrorCode,
    message: string,
    where: { file?: string; line?: number; cause?: unknown } = {},
  ) {
    super(message, where.cause === undefined ? undefined : { cause: where.cause });
    this.name = 'ConfigError';
    this.code = code;
    this.file = where.file;
    this.line = where.line;
  }
}

/** Something an operator should know of, that does not keep the configuration from being read. */
export interface ConfigWarning {
  /**
   * `unknown`: no such option; `unused`: without effect here, or with less than it asks for;
   * `refused`: the same, and a master must not start with it; `harmless`: without effect, and
   * nothing is lost; `missing`: no directory; `odd`: of another type, and taken.
   */
  readonly kind: 'unknown' | 'unused' | 'refused' | 'harmless' | 'missing' | 'odd';
  readonly text: string;
  readonly file: string;
  /** 1-based, 0 where no line is meant. */
  readonly line: number;
  /** The option that it is about. */
  readonly option?: string;
  /** Of kind `refused`: the names by which `brine.accept_ignored` accepts it. */
  readonly acceptedAs?: readonly string[];
  /** True where commands such as `brine salt` read the option. */
  readonly ofCommands?: boolean;
}
