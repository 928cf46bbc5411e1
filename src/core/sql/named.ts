/** A text with values by number, and the names of these. */
export interface Numbered {
  text: string;
  names: readonly string[];
}

/** Numbers the values that a text names: `$company` becomes `$1`, wherever it stands. */
export function numbered(named: string): Numbered {
  const names: string[] = [];
  const text = named.replaceAll(/\$([a-z]\w*)/g, (_, name: string) => {
    const at = names.indexOf(name);
    return `$${at < 0 ? names.push(name) : at + 1}`;
  });
  return { text, names };
}
