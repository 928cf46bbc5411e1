/** PostgreSQL's parser makes a tree as deep as a chain of `||` is long. */
const MOST_VALUES = 50;

/**
 * Writes an SQL expression that concatenates fixed pieces and values, none of which may be null. `||` takes a fifth to a
 * third less time than `format`, which parses its template for each row.
 */
export class TextSql {
  readonly #chains: string[] = [];
  #chain = '';
  #values = 0;
  #piece = '';

  text(text: string): void {
    this.#piece += text;
  }

  /** `bare`: the value needs no escaping and goes between quotes as it is. */
  value({ sql, bare }: { sql: string; bare?: true }): void {
    if (this.#values === MOST_VALUES) this.#end();
    if (bare) this.#piece += '"';
    this.#take();
    this.#chain += ` || (${sql})`;
    this.#values += 1;
    if (bare) this.#piece += '"';
  }

  sql(): string {
    if (this.#piece !== '' || this.#chain === '') this.#take();
    this.#end();
    return `(${this.#chains.join(' || ')})`;
  }

  /** Appends the piece to the chain. The first piece is cast to text, so that all later values become text. */
  #take(): void {
    const piece = `'${this.#piece.replaceAll("'", "''")}'`;
    if (this.#chain === '') this.#chain = `${piece}::text`;
    else if (this.#piece !== '') this.#chain += ` || ${piece}`;
    this.#piece = '';
  }

  #end(): void {
    if (this.#chain !== '') this.#chains.push(this.#chains.length > 0 ? `(${this.#chain})` : this.#chain);
    this.#chain = '';
    this.#values = 0;
  }
}
