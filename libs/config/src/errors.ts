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

/** Something an operator should know of, that does not keep the configuration from being used. */
export interface ConfigWarning {
  /** `unknown`: no such option; `unused`: Salt's, without effect here; `missing`: no directory. */
  readonly kind: 'unknown' | 'unused' | 'missing' | 'adjusted';
  readonly text: string;
  readonly file: string;
  /** 1-based, 0 where no line is meant. */
  readonly line: number;
}
