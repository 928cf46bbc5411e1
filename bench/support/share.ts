import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const PERIOD_US = 20_000;

/** Limits processes together to a percentage of a core, by a control group (Linux, as root). */
export class CoreShare {
  readonly #group: string;

  constructor(name: string, percent: number) {
    const second = existsSync('/sys/fs/cgroup/cgroup.controllers');
    this.#group = join('/sys/fs/cgroup', second ? '' : 'cpu', `fleet-gateway-${process.pid}-${name}`);
    mkdirSync(this.#group);
    const quota = (PERIOD_US * percent) / 100;
    const limits = second
      ? { 'cpu.max': `${quota} ${PERIOD_US}` }
      : { 'cpu.cfs_period_us': PERIOD_US, 'cpu.cfs_quota_us': quota };
    for (const [file, limit] of Object.entries(limits)) writeFileSync(join(this.#group, file), String(limit));
  }

  /** Moves processes, with their later children, to the group. */
  add(...pids: readonly number[]): void {
    for (const pid of pids) writeFileSync(join(this.#group, 'cgroup.procs'), String(pid));
  }

  remove(): void {
    rmdirSync(this.#group);
  }
}
