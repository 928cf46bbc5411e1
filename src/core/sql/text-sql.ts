/** PostgreSQL's parser makes a tree as deep as a chain of `||` is long. */
const LONGEST_CHAIN = 100;

/** Concatenates texts and non-null values in SQL: `||` takes a fifth to a third less time than `format`. */
export class TextSqlWriter {
  readonly #operands: string[] = [];
  #piece = '';

  text(text: string): void {
    this.#piece += text;
  }

  /** `bare`: the value needs no escaping and goes between quotes as it is. */
  value({ sql, bare }: { sql: string; bare?: true }): void {
    const quote = bare ? '"' : '';
    this.#piece += quote;
    if (this.#piece !== '') this.#endPiece();
    this.#operands.push(`(${sql})`);
    this.#piece = quote;
  }

  sql(): string {
    if (this.#piece !== '' || this.#operands.length === 0) this.#endPiece();
    const chains: string[] = [];
    for (let at = 0; at < this.#operands.length; at += LONGEST_CHAIN) {
      // The first is cast to text, so that all later values become text.
      const [first, ...others] = this.#operands.slice(at, at + LONGEST_CHAIN);
      chains.push([`${first}::text`, ...others].join(' || '));
    }
    return `(${chains.join(') || (')})`;
  }

  #endPiece(): void {
    this.#operands.push(`'${this.#piece.replaceAll("'", "''")}'`);
    this.#piece = '';
  }
}
