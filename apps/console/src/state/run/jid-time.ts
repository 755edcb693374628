const JID = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d{6})$/;

/** When a job began, by its id, which is a time of UTC; null for another text. */
export function timeOfJid(jid: string): string | null {
  const [, year, month, day, hour, minute, second, part] = JID.exec(jid) ?? [];
  if (year === undefined) return null;
  const time = `${year}-${month}-${day}T${hour}:${minute}:${second}.${part}Z`;
  return Number.isNaN(Date.parse(time)) ? null : time;
}
