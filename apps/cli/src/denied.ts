/** What to do where a file is closed to this process. */
export function deniedAdvice(): string {
  return process.getuid?.() === 0
    ? 'root works in a directory of another user as that user: give the file to it (chown)'
    : "run this as root, or as the master's user";
}
