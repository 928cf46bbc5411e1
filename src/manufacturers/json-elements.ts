import { ProviderError } from './provider.ts';

/** Characters of one element. */
const LARGEST = 1024 * 1024;

const CODES = { quote: 34, comma: 44, backslash: 92, opens: [91, 123], closes: [93, 125] };

/** The elements of a JSON array, as its text comes: however many there are, one is in memory. Throws ProviderError for anything else. */
export async function* elementsOf(parts: AsyncIterable<Uint8Array>): AsyncGenerator<unknown> {
  const decoder = new TextDecoder();
  let [depth, isText, isEscaped, element] = [0, false, false, ''];
  let found: number | null = null;
  for await (const part of parts) {
    const text = decoder.decode(part, { stream: true });
    let from = 0;
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (isText) {
        if (isEscaped) isEscaped = false;
        else if (code === CODES.backslash) isEscaped = true;
        else if (code === CODES.quote) isText = false;
        continue;
      }
      if (code === CODES.quote) isText = true;
      else if (CODES.opens.includes(code)) depth += 1;
      else if (CODES.closes.includes(code)) depth -= 1;
      const isStart = found === null && depth === 1;
      if (isStart) {
        if (code !== CODES.opens[0]) throw new ProviderError('BAD_ANSWER');
        [found, from, element] = [0, at + 1, ''];
      } else if (depth === 0 ? CODES.closes.includes(code) : depth === 1 && code === CODES.comma) {
        const whole = element + text.slice(from, at);
        [from, element] = [at + 1, ''];
        const isEmpty = depth === 0 && found === 0 && whole.trim() === '';
        if (!isEmpty) yield parsed(whole);
        found = (found ?? 0) + 1;
      }
    }
    element += text.slice(from);
    if (element.length > LARGEST) throw new ProviderError('BAD_ANSWER');
  }
  if (found === null || depth !== 0 || element.trim() !== '') throw new ProviderError('BAD_ANSWER');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ProviderError('BAD_ANSWER');
  }
}
