/** Conditions under which a configuration can not be used. */
export type ConfigErrorCode = 'CONFIG_PARSE' | 'CONFIG_VALUE' | 'CONFIG_READ';

/**
 * A configuration that can not be used. The message is for the operator: for broken YAML it is
 * Salt's own `Error parsing configuration file: <path> - <detail>`.
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

/** A problem that the operator should know, although the configuration can be read. */
export interface ConfigWarning {
  /**
   * `unknown`: no such option; `unused`: without its full effect here; `refused`: the same, and a
   * master must not start with it; `harmless`: without effect, and nothing is lost; `missing`: no
   * directory; `odd`: accepted although of another type.
   */
  readonly kind: 'unknown' | 'unused' | 'refused' | 'harmless' | 'missing' | 'odd';
  readonly text: string;
  readonly file: string;
  /** 1-based; 0 without a line. */
  readonly line: number;
  /** The option that it is about. */
  readonly option?: string;
  /** For kind `refused`: the names by which `brine.accept_ignored` accepts it. */
  readonly acceptedAs?: readonly string[];
  /** True where commands such as `brine salt` read the option. */
  readonly ofCommands?: boolean;
}
