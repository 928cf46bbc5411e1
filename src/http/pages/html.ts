import { hash } from 'node:crypto';

const entities: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": '#39' };

/** A template whose values are escaped, but for those that `html` has made; lists are joined. */
export function html(parts: TemplateStringsArray, ...values: unknown[]): Html {
  return new Html(parts.map((part, at) => (at === 0 ? part : `${written(values[at - 1])}${part}`)).join(''));
}

export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

function written(value: unknown): string {
  if (value instanceof Html) return value.text;
  if (Array.isArray(value)) return value.map(written).join('');
  return value == null ? '' : String(value).replaceAll(/[&<>"']/g, (character) => `&${entities[character]};`);
}

/** The name of an inline style or script in a Content-Security-Policy. */
export const hashOf = (inline: string): string => `'sha256-${hash('sha256', inline, 'base64')}'`;
