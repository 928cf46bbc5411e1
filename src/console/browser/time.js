import { signal } from '@preact/signals';
import { html, locale, t } from './html.js';

const now = signal(Date.now());
setInterval(() => {
  now.value = Date.now();
}, 20_000);

const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'short' });
const whole = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' });
const day = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' });
const utcDay = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' });
const steps = /** @type {[any, number][]} */ ([
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]);

/** A moment, as far away as it is; the exact one is its title. */
export function Time({ at }) {
  return html`<time dateTime=${at} title=${whole.format(new Date(at))}>${spoken(at)}</time>`;
}

/** A day; with `utc`, one of those that the gateway counts. */
export const Day = ({ at, utc }) => html`<time dateTime=${at}>${(utc ? utcDay : day).format(new Date(at))}</time>`;

function spoken(at) {
  // `now` may be some seconds old; a recent moment must not appear to be in the future.
  const seconds = (Date.parse(at) - Math.max(now.value, Date.now())) / 1000;
  const [unit, size = 1] = steps.find(([, least]) => Math.abs(seconds) >= least) ?? [];
  if (!unit) return seconds > 5 ? t('in a moment') : t('just now');
  return Math.abs(seconds) > 30 * 86_400 ? day.format(new Date(at)) : relative.format(Math.trunc(seconds / size), unit);
}

/** A moment as fields for a day and a time take it: that of this place. */
export const localTime = (at) => new Date(at - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
