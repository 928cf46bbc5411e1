import { html, t } from './html.js';
import { codes, filled } from './languages/language.js';

/** The VIN that a rejected value was probably meant to be, if there is one. */
export const meantBy = ({ code, message }) =>
  code.startsWith('VIN_INVALID') ? message.match(/\b[A-HJ-NPR-Z\d]{17}\b/)?.[0] : undefined;

/** A sentence for a code of the gateway, or for the code and a field, with its values; the gateway's English if there is none. */
export function said({ code, message, value = '' }, field = '', suggests = true) {
  if (!code) return message;
  const characters = [...value.normalize('NFKC').replaceAll(/[\s\p{Pd}\p{C}]/gu, '')];
  const special = codes[`${code} ${field || characters.length}`];
  const [sentence, after] = (special ?? codes[code] ?? '{message}').split('{message}');
  const strange = new Set(characters.filter((one) => !/[A-HJ-NPR-Z\d]/i.test(one)));
  const own = filled(sentence, { length: characters.length, characters: [...strange].join(' ') });
  const meant = suggests && meantBy({ code, message });
  if (meant) return `${own} ${t('Did you mean {vin}?', { vin: meant })}`;
  return after === undefined ? own : html`${own}<span lang="en">${message}</span>`;
}

/** What an error says: its first field's sentence, its own, or the text that the page gave it. */
export function explain({ code, message, errors: [first] = [], details }) {
  if (first) return said(first, first.path.split('.').at(-1));
  return details?.code || codes[code] ? said({ code, message }) : message;
}
