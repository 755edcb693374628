/** What a thread asks its worker for, beside what it asks Python: a file, and a runner's result. */
export const FILE = 'brine_file';
export const RUNNER = 'brine_runner';
