import { isSystemError, textNowIfThere } from './files.ts';

/**
 * Whether a process runs, for files that name one. The number may be another program's by now, and
 * a process that ended counts as ended before its parent has asked for its exit code.
 */
export function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid < 1) return false;
  // In this order: one that is gone between the two looks is seen to be gone by the second.
  if (isZombie(pid)) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It lives, but belongs to another user.
    return isSystemError(error, 'EPERM');
  }
}

/** Field 3 of proc(5) comes after the name, which may contain spaces and brackets. */
function isZombie(pid: number): boolean {
  try {
    return /^\d+ \(.*\) Z/s.test(textNowIfThere(`/proc/${pid}/stat`) ?? '');
  } catch {
    // It ended meanwhile (ESRCH), or /proc is closed to this user.
    return false;
  }
}
