/** Values by texts, of which those used last are kept up to a sum of their characters. */
export class Texts<Value> {
  readonly #most: number;
  readonly #values = new Map<string, Value>();
  #characters = 0;
  #latest: string | undefined;

  constructor(mostCharacters: number) {
    this.#most = mostCharacters;
  }

  get(text: string): Value | undefined {
    const value = this.#values.get(text);
    if (value === undefined || text === this.#latest) return value;
    this.#values.delete(text);
    this.#values.set(text, value);
    this.#latest = text;
    return value;
  }

  set(text: string, value: Value): void {
    this.#take(text);
    this.#values.set(text, value);
    this.#latest = text;
    this.#characters += text.length;
    for (const oldest of this.#values.keys()) {
      if (this.#characters <= this.#most) return;
      this.#take(oldest);
    }
  }

  #take(text: string): void {
    if (this.#values.delete(text)) this.#characters -= text.length;
  }
}
