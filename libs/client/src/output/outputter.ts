import type { SaltValue } from '@brine/wire';

/** How states are shown (Salt: the master options of the same names). */
export interface StateDisplay {
  /** `state_output`: full, terse, mixed, changes, filter, each also with `_id`. */
  readonly output: string;
  /** `state_verbose`: false leaves out states that are fine and changed nothing. */
  readonly verbose: boolean;
  /** `state_output_diff`: only states with changes. */
  readonly diff: boolean;
  /** `state_output_profile`: start time and duration. */
  readonly profile: boolean;
  /** `state_output_pct`: the percentages of good and bad states. */
  readonly percent: boolean;
  /** `state_compress_ids`: states of one id and result as one. */
  readonly compressIds: boolean;
  /** `state_tabular`: one-line states in columns. */
  readonly tabular: boolean;
  /**
   * `state_output_exclude` and `state_output_terse`, for `filter`: results as texts, in a list or
   * with commas. With anything else, Salt shows the data nested.
   */
  readonly exclude: SaltValue;
  readonly terse: SaltValue;
}

/** Inputs of an outputter beside the data. */
export interface OutputContext {
  readonly color: boolean;
  /** `output_indent`; undefined: the outputter's default; negative: one line. */
  readonly indent?: number | 'pretty';
  /** The return's retcode: other than 0 colours nested in red. */
  readonly retcode: number;
  /** The column a nested display starts in. */
  readonly nestedIndent: number;
  readonly state: StateDisplay;
}

/**
 * Formats one display; undefined: nothing to print.
 * @throws UnfitDataError if this outputter can not show data of this shape
 */
export type Outputter = (data: SaltValue, context: OutputContext) => string | undefined;

/** Data that an outputter cannot show; the display falls back to nested, then to raw. */
export class UnfitDataError extends Error {
  /** @param cause the class of the error that Python raises here, for the log line. */
  constructor(python: 'KeyError' | 'AttributeError' | 'TypeError', text: string) {
    super(`${python}: ${text}`);
    this.name = 'UnfitDataError';
  }
}

/** How Salt shows states by default (Salt: salt/config/__init__.py). */
export const DEFAULT_STATE_DISPLAY: StateDisplay = {
  output: 'full',
  verbose: true,
  diff: false,
  profile: true,
  percent: false,
  compressIds: false,
  tabular: false,
  exclude: [],
  terse: [],
};
