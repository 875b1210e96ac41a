// Figures as people read them, each with its unit. A figure that is not known is a dash.

export const UNKNOWN = '–';

const known = (value, text) => (value === null || value === undefined || Number.isNaN(value) ? UNKNOWN : text(value));
const number = digits => new Intl.NumberFormat('en', { maximumFractionDigits: digits });
const WHOLE = number(0);
const significant = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });
const SUFFIXES = [
  [1e12, 'T'],
  [1e9, 'G'],
  [1e6, 'M'],
  [1e4, 'k', 1e3],
];

/** 12,345 */
export const count = value => known(value, WHOLE.format);

/** 12.3k, 4.56M: where five digits would be too many. */
export const short = value =>
  known(value, () => {
    const found = SUFFIXES.find(([from]) => Math.abs(value) >= from);
    return found ? `${significant.format(value / (found[2] ?? found[0]))}${found[1]}` : significant.format(value);
  });

/** 12.3/s */
export const rate = value => known(value, () => `${short(value)}/s`);

/** 83.1 %, of a share from 0 to 1 */
export const percent = value =>
  known(value, () => `${number(value < 0.1 && value > 0 ? 1 : 0).format(100 * value)} %`);

/** 0.4 ms, 83 ms, 1.24 s, 3 min 5 s, 2 h 10 min, 3 d 4 h */
export const millis = value =>
  known(value, () => {
    if (value < 1000) return `${number(value < 10 ? 1 : 0).format(value)} ms`;
    const seconds = value / 1000;
    if (seconds < 60) return `${significant.format(seconds)} s`;
    const steps = [
      [86_400, 'd', 3600, 'h'],
      [3600, 'h', 60, 'min'],
      [60, 'min', 1, 's'],
    ];
    const [unit, name, lower, lowerName] = steps.find(([from]) => seconds >= from);
    return `${Math.floor(seconds / unit)} ${name} ${Math.floor((seconds % unit) / lower)} ${lowerName}`;
  });

/** A cost in milliseconds, or a score: three digits that count. */
export const score = value => known(value, significant.format);

/** 14:03:09, of a Date or an ISO 8601 text */
export const clock = time => known(time, () => new Date(time).toLocaleTimeString('en-GB', { hour12: false }));

/** 22 Nov, 14:03:09 */
export const moment = time =>
  known(
    time,
    () => `${new Date(time).toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })}, ${clock(time)}`,
  );

/** How long ago: 12 s ago */
export const ago = time => known(time, () => `${millis(Math.max(0, Date.now() - Date.parse(time)))} ago`);

/** The first digits of a hash. */
export const hash = value => known(value, () => String(value).slice(0, 10));

/** 3 workers, 1 worker */
export const plural = (amount, noun) => `${count(amount)} ${noun}${amount === 1 ? '' : 's'}`;
