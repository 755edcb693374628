/** Places of the documentation, by the first words of the checks that they are about. */
const RUNBOOKS: readonly (readonly [checks: string, place: string])[] = [
  ['services', 'outages.md#a-service-that-hangs'],
  ['disk', 'outages.md#streams-or-disk-full'],
  ['stream', 'outages.md#streams-or-disk-full'],
  ['postgres', 'outages.md#postgresql-away'],
  ['quarantine', 'outages.md#a-message-that-cannot-be-handled'],
  ['clock', 'outages.md#clocks'],
  ['certificates', 'certificates.md'],
  ['private-files', 'secure.md#borders-of-the-host'],
];

/** Where the documentation explains a finding of the doctor, from the top of the repository. */
export function runbookOf(check: string): string {
  const found = RUNBOOKS.find(([checks]) => check.startsWith(checks));
  return `docs/${found?.[1] ?? 'night.md#what-doctor-looks-at'}`;
}
