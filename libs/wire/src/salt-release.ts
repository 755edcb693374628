/**
 * The release of Salt whose behaviour Brine has: the newest of the newest line. Scripts read it
 * from `--version`, from the grain `saltversion` and from `manage.versions`.
 */
export const SALT_RELEASE = '3008.5';
