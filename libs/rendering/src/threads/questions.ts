/** The questions of a thread to its worker, beside those for Python. */

/** A file of the file server. */
export const FILE = 'brine_file';
/** The result of a runner. */
export const RUNNER = 'brine_runner';
/** The directory with the files of a git pillar. */
export const CHECKOUT = 'brine_checkout';
