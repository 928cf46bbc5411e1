import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Node, parse } from 'acorn';
import { onTestFinished, vi } from 'vitest';

/** The folder of the console's browser modules. */
export const folder = join(import.meta.dirname, '../../src/console/browser');

/** Stubs the browser globals that the console's language modules read. */
export function stubPage(browser: readonly string[] = ['en'], chosen: string | null = null): void {
  vi.stubGlobal('localStorage', { getItem: () => chosen });
  vi.stubGlobal('navigator', { languages: browser });
  vi.stubGlobal('document', { documentElement: {} });
  vi.stubGlobal('fetch', async (address: URL) => new Response(readFileSync(address)));
  onTestFinished(() => void vi.unstubAllGlobals());
}

type Any = Node & Record<string, unknown>;

interface Said {
  said: Set<string>;
  /** Names of counted things. */
  things: Set<string>;
  /** Calls of `t` whose argument is no literal. */
  dynamic: string[];
  /** All other string literals. */
  strings: string[];
}

/** Collects the sentences of the console's modules: templates, and arguments of `t`. */
export async function sentencesOf(): Promise<Said> {
  const { translated } = await import(`${folder}/languages/template.js`);
  const found = {
    said: new Set<string>(),
    things: new Set<string>(),
    dynamic: [] as string[],
    strings: [] as string[],
  };
  const note = (sentence: string) => {
    found.said.add(sentence);
    return sentence;
  };
  const texts = (node: Any, file: string): void => {
    if (node.type === 'Literal') found.said.add(String(node.value));
    else if (node.type === 'ConditionalExpression') {
      texts(node.consequent as Any, file);
      texts(node.alternate as Any, file);
    } else found.dynamic.push(`${file}: ${node.type}`);
  };
  const visit = (node: Any, file: string): void => {
    if (node.type === 'TaggedTemplateExpression' && (node.tag as Any).name === 'html') {
      const { quasis } = node.quasi as unknown as { quasis: { value: { cooked: string } }[] };
      translated(
        quasis.map(({ value }) => value.cooked),
        note,
      );
      for (const value of (node.quasi as unknown as { expressions: Any[] }).expressions) visit(value, file);
      return;
    }
    if (node.type === 'CallExpression') {
      const { name } = node.callee as Any;
      const [first, second] = node.arguments as Any[];
      if (name === 't' && first) {
        texts(first, file);
        for (const other of (node.arguments as Any[]).slice(1)) visit(other, file);
        return;
      }
      if (name === 'counted' && second?.type === 'Literal') found.things.add(String(second.value));
    }
    if (node.type === 'Literal' && typeof node.value === 'string') found.strings.push(node.value);
    if (node.type === 'TemplateElement') found.strings.push((node.value as { raw: string }).raw);
    if (node.type === 'ImportDeclaration') return;
    for (const child of Object.values(node).flat()) {
      if (typeof child === 'object' && child !== null && 'type' in child) visit(child as Any, file);
    }
  };
  for (const file of globSync('*.js', { cwd: folder })) {
    const text = readFileSync(join(folder, file), 'utf8');
    visit(parse(text, { ecmaVersion: 'latest', sourceType: 'module' }) as unknown as Any, file);
    for (const [, thing = ''] of text.matchAll(/\b(?:what="|count: ')(\w+)["']/g)) found.things.add(thing);
  }
  return found;
}
