/** What a thread asks its worker for, beside what it asks Python. */

/** A file of the file server. */
export const FILE = 'brine_file';
/** The result of a runner. */
export const RUNNER = 'brine_runner';
/** The directory with the files of a git pillar. */
export const CHECKOUT = 'brine_checkout';
