import { isSystemError, textNowIfThere } from './files.ts';

/**
 * True if a process runs, for files that name one. Another program may have the number by now. A
 * process that ended counts as ended before its parent has asked for its exit code.
 */
export function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid < 1) return false;
  // In this order: a process that ends between the two checks is missed by the second.
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
