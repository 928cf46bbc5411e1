import type { ImportState } from './follow-import.ts';

/** Where progress is shown: process.stderr. */
interface Screen {
  isTTY?: boolean;
  columns?: number;
  write(text: string): unknown;
}

/** Counts of rows, as far as they are known. */
type Rows = Omit<ImportState, 'state'>;

const SHORTEST_BAR = 10;
const number = new Intl.NumberFormat('en');
const megabytes = new Intl.NumberFormat('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 });

const nothing: Rows = { received: 0, created: 0, existing: 0, rejected: 0 };

/** How far an upload is: a bar as wide as the terminal for each of its phases, or a line now and then elsewhere. */
export class Progress {
  readonly #screen: Screen;
  readonly #total: number;
  #startedAt = performance.now();
  #shownAt = performance.now();
  #sent = 0;
  #lines = 0;
  #rows = nothing;

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
    this.rows(nothing);
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
    const { done, words } = this.#phase(now);
    const text = words.filter(Boolean).join('  ');
    // The last column stays free: a terminal may go on to the next line behind it.
    const width = (columns || 80) - 1;
    const bar = Math.max(SHORTEST_BAR, width - text.length - 3);
    const filled = Math.floor(bar * done);
    if (!isTTY) this.#screen.write(`${text}\n`);
    else this.#screen.write(`\r\x1b[2K${`[${'#'.repeat(filled)}${'-'.repeat(bar - filled)}] ${text}`.slice(0, width)}`);
  }

  #phase(now: number): { done: number; words: (string | false)[] } {
    const { received } = this.#rows;
    // A header is no row.
    const read = this.#sent === this.#total && received >= this.#lines - 1;
    return read ? this.#storing() : this.#sending(now);
  }

  /**
   * Bytes may wait in buffers on their way: where rows are heard of, they count, among as many as the lines sent so far
   * let one expect.
   */
  #sending(now: number) {
    const { received, rejected } = this.#rows;
    const rows = (this.#lines * this.#total) / (this.#sent || 1);
    const sent = this.#sent < this.#total ? this.#sent / this.#total : 0;
    const done = received > 0 ? Math.min(received / (rows || 1), 1) : sent;
    const words = [
      this.#sent < this.#total
        ? `sending ${megabytes.format(this.#sent / 1e6)} of ${megabytes.format(this.#total / 1e6)} MB`
        : 'reading',
      leftOf(done, now - this.#startedAt),
      `${number.format(received)} rows read`,
      rejected > 0 && `${number.format(rejected)} rejected`,
    ];
    return { done, words };
  }

  #storing() {
    const { received, rejected } = this.#rows;
    const words = [
      `storing ${number.format(received - rejected)} rows`,
      rejected > 0 && `${number.format(rejected)} rejected`,
    ];
    return { done: 1, words };
  }
}

/** How long it takes yet, at the speed so far; nothing where that cannot be said, or is less than a second. */
function leftOf(done: number, ms: number): string | false {
  const seconds = done > 0 ? Math.round((ms / 1000) * (1 / done - 1)) : 0;
  return seconds > 0 && `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')} left`;
}
