/** As C's asctime in local time: `Fri Nov 20 17:10:37 2026`. */
export function asctime(date: Date): string {
  const [day = '', month = '', number = '', year = ''] = date.toDateString().split(' ');
  const clock = date.toTimeString().slice(0, 8);
  return `${day} ${month} ${number.replace(/^0/, ' ')} ${clock} ${year}`;
}
