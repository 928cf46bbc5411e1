/** Where progress is shown: process.stderr. */
interface Screen {
  isTTY?: boolean;
  columns?: number;
  write(text: string): unknown;
}

/** Counts of rows, as far as they are known. */
interface Rows {
  received: number;
  created: number;
  existing: number;
  rejected: number;
}

const BAR = 12;
const number = new Intl.NumberFormat('en');
const megabytes = new Intl.NumberFormat('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 });

/** How far an upload is: one line that changes on a terminal, a line now and then elsewhere. */
export class Progress {
  readonly #screen: Screen;
  readonly #total: number;
  #startedAt = performance.now();
  #shownAt = performance.now();
  #sent = 0;
  #lines = 0;
  #rows: Rows = { received: 0, created: 0, existing: 0, rejected: 0 };

  constructor(screen: Screen, totalBytes: number) {
    this.#screen = screen;
    this.#total = totalBytes;
  }

  /** So many bytes have gone out, and line ends in them. */
  sent(bytes: number, lines: number): void {
    this.#sent = Math.min(bytes, this.#total);
    this.#lines = lines;
    this.#show();
  }

  rows(rows: Rows): void {
    this.#rows = rows;
    this.#show();
  }

  /** Begins anew after a note. */
  restart(note: string): void {
    this.note(note);
    this.#startedAt = performance.now();
    this.#sent = 0;
    this.#lines = 0;
    this.rows({ received: 0, created: 0, existing: 0, rejected: 0 });
  }

  /** A line that stays. */
  note(text: string): void {
    this.#screen.write(this.#screen.isTTY ? `\r\x1b[2K${text}\n` : `${text}\n`);
  }

  /** Takes the changing line away. */
  end(): void {
    if (this.#screen.isTTY) this.#screen.write('\r\x1b[2K');
  }

  #show(): void {
    const { isTTY, columns } = this.#screen;
    const now = performance.now();
    if (now - this.#shownAt < (isTTY ? 100 : 5_000)) return;
    this.#shownAt = now;
    if (isTTY) this.#screen.write(`\r\x1b[2K${`${this.#bar()} ${this.#text(now)}`.slice(0, (columns || 80) - 1)}`);
    else this.#screen.write(`${this.#text(now)}\n`);
  }

  /**
   * How much of the file is done, from 0 to 1. Bytes may wait in buffers on their way: where rows are heard of, they
   * count, among as many as the lines sent so far let one expect.
   */
  #done(): number {
    const rows = (this.#lines * this.#total) / (this.#sent || 1);
    return this.#rows.received > 0 ? Math.min(this.#rows.received / (rows || 1), 1) : this.#sent / (this.#total || 1);
  }

  #bar(): string {
    const done = Math.floor(BAR * this.#done());
    return `[${'#'.repeat(done)}${'-'.repeat(BAR - done)}]`;
  }

  #text(now: number): string {
    const seconds = (now - this.#startedAt) / 1000;
    const { received, created, existing, rejected } = this.#rows;
    const done = this.#done();
    return [
      `${megabytes.format(this.#sent / 1e6)}/${megabytes.format(this.#total / 1e6)} MB`,
      done > 0.999 ? 'storing' : done > 0 && `${timeOf((seconds * (1 - done)) / done)} left`,
      `${number.format(received)} rows`,
      created > 0 && `${number.format(created)} created`,
      existing > 0 && `${number.format(existing)} existing`,
      rejected > 0 && `${number.format(rejected)} rejected`,
      `${number.format(Math.round(received / (seconds || 1)))} rows/s`,
    ]
      .filter(Boolean)
      .join('  ');
  }
}

const timeOf = (seconds: number) => {
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
};
