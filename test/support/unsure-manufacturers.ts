import { DAY, HOUR, MINUTE } from './activations.ts';
import { setService } from './documented-known.ts';
import {
  type Behaviour,
  carriedOut,
  carriedOutUnanswered,
  json,
  type Received,
  silence,
  text,
  type UpstreamServer,
} from './upstream.ts';
import { DAILY, type Fault, type Wishes } from './wishes.ts';

interface Order {
  program: string;
  isEnd: boolean;
}

/** What a request orders. */
function ordersIn({ endpoint, path, body }: Pick<Received, 'endpoint' | 'path' | 'body'>): Order[] {
  switch (endpoint) {
    case 'clearances':
      return JSON.parse(body).vehicles.map(({ vin }: { vin: string }) => ({ program: `${vin} `, isEnd: false }));
    case 'clearance-end':
      return [{ program: `${path.split('/').at(-1)} `, isEnd: true }];
    case 'services':
      return JSON.parse(body).flatMap(({ vin, services }: { vin: string; services: Record<string, string>[] }) =>
        services.map((one) => ({ program: `${vin} ${one.serviceId}`, isEnd: one.desiredStatus === 'INACTIVE' })),
      );
    default:
      return [];
  }
}

const twice: Behaviour = async (response, received) => {
  await received.carryOut();
  await carriedOut(async () => {})(response, received);
};
/** Answers of another protocol, or of a server in between. */
const wrong: readonly Behaviour[] = [
  json(200, {}),
  json(200, [{ vin: 'WBA00000000000000', status: 'unheard of' }]),
  json(202, { vehicles: [] }),
  json(400, { title: 'Bad request' }),
  json(401, {}),
  json(403, {}),
  json(422, { errors: [] }),
  text(404, '<h1>Not found</h1>'),
  text(200, '<h1>Welcome</h1>'),
];
const missing: readonly Behaviour[] = [
  carriedOutUnanswered,
  json(503, {}),
  json(429, {}, { 'retry-after': '0' }),
  json(429, {}, { 'retry-after': '600' }),
  json(429, {}),
  text(500, 'no JSON'),
];

const SOON = [2000, 30_000, 3 * MINUTE, 20 * MINUTE];
/** A vehicle's creation is refused so often at most: five times in a row is a fault that stands. */
const REFUSED_IN_A_ROW = 2;

interface Options {
  upstream: UpstreamServer;
  wishes: Wishes;
  clock(): number;
  passTime(ms: number): void;
  /** Random numbers that follow from the seed, the step and these texts, in whatever order requests come. */
  chanceOf(...texts: string[]): () => number;
}

/** Manufacturers that answer late, twice, wrongly or never, carry out what they did not answer, refuse, and end things by themselves. */
export function unsureManufacturers({ upstream, wishes, clock, passTime, chanceOf }: Options) {
  const late: { at: number; orders: Order[]; carryOut: () => Promise<unknown> }[] = [];
  const ends: { program: string; at: number; needers: ReadonlySet<string> }[] = [];
  const wrongOrders: Fault[] = [];
  const refusals = new Map<string, number>();
  let isStormy = false;

  function note({ program, isEnd }: Order): void {
    const one = wishes.watch(program);
    wishes.note(one.vin, `${isEnd ? 'the end' : 'the beginning'} of ${program} is ordered`);
    if (isEnd) {
      one.orderedEnd = clock();
      ends.push({ program, at: clock(), needers: wishes.needersOf(program) });
      return;
    }
    // Where faults kept it from being asked, another company's question is open.
    const isAnswered = one.refused > one.touched && wishes.isCalmSince(one.touched);
    if (one.barred && (isAnswered || one.barredAt > one.touched))
      wrongOrders.push(wishes.faultOf(program, 'is ordered again, and was decided against'));
  }

  /** Carries out later what it does not answer. */
  const carryOutLater =
    (orders: Order[], ms: number): Behaviour =>
    (response, { carryOut }) => {
      late.push({ at: clock() + ms, orders, carryOut });
      for (const { program } of orders) wishes.note(program.slice(0, 17), `no answer; carried out in ${ms / 1000} s`);
      response.destroy();
    };

  const refuse =
    (orders: Order[]): Behaviour =>
    (response, received) => {
      for (const { program } of orders) {
        refusals.set(program, (refusals.get(program) ?? 0) + 1);
        wishes.disturb(program, 75 * MINUTE);
        // Its question stays open, whatever another company is told meanwhile.
        wishes.watch(program).touched = clock();
      }
      const error = { status: 'error', description: 'temporarily refused' };
      return json(200, { vehicles: orders.map(({ program }) => ({ vin: program.slice(0, 17), ...error })) })(
        response,
        received,
      );
    };

  /** Longer than a claim lasts. */
  const lateAnswer: Behaviour = async (response, received) => {
    passTime(5 * MINUTE);
    await carryOut();
    return carriedOut(async () => {})(response, received);
  };

  upstream.behaves = (received) => {
    const { endpoint, path, body } = received;
    const orders = ordersIn(received);
    for (const one of orders) note(one);
    const chance = chanceOf(endpoint, path, body);
    const oneOf = <T>(all: readonly T[]): T => all[Math.floor(chance() * all.length)] as T;
    const isRefused = orders.every(({ program }) => (refusals.get(program) ?? 0) < REFUSED_IN_A_ROW);
    if (endpoint === 'clearances' && isRefused && chance() < 0.2) return refuse(orders);
    if (!isStormy || chance() > (endpoint === 'token' ? 0.05 : 0.4)) {
      if (endpoint === 'clearances') for (const { program } of orders) refusals.delete(program);
      return null;
    }
    wishes.fault();
    if (chance() < 0.0005) return silence;
    // The documents say nothing of creations that are carried out hours later; an end after an hour is the manufacturer's own.
    const mayWait = orders.every(({ isEnd }) => !isEnd);
    if (orders.length > 0 && chance() < 0.5) return carryOutLater(orders, oneOf(mayWait ? [...SOON, 3 * HOUR] : SOON));
    return oneOf([twice, lateAnswer, oneOf(wrong), oneOf(missing), oneOf(missing)]);
  };

  /** By when it is found that a manufacturer did late what it had been asked. */
  function foundWithin({ program, isEnd }: Order): number {
    if (isEnd) return 100 * MINUTE;
    const since = clock() - wishes.watch(program).orderedEnd;
    if (since < 5 * MINUTE) return 20 * MINUTE;
    return since < HOUR ? 80 * MINUTE : DAILY;
  }

  /** Carries out what was not answered, and is due by now. */
  async function carryOut(): Promise<void> {
    const isDue = ({ at }: { at: number }) => at <= clock();
    for (let one = late.find(isDue); one; one = late.find(isDue)) {
      late.splice(late.indexOf(one), 1);
      await one.carryOut();
      for (const order of one.orders) {
        wishes.note(order.program.slice(0, 17), `${order.isEnd ? 'end' : 'beginning'} is carried out late`);
        wishes.disturb(order.program, foundWithin(order));
        // The manufacturer decides about it anew.
        if (!order.isEnd) wishes.watch(order.program).touched = clock();
      }
    }
  }

  return {
    /** Orders that nobody should have given. */
    wrongOrders,
    get isStormy() {
      return isStormy;
    },
    set isStormy(value: boolean) {
      isStormy = value;
    },
    /** The ends that were ordered since the last call, with the contracts whose packs needed the program then. */
    takeEnds: () => ends.splice(0),
    nextChange: () => Math.min(Number.POSITIVE_INFINITY, ...late.map(({ at }) => at)),
    carryOut,
    /** The driver or the manufacturer ends a program. */
    revoke(program: string): void {
      const [vin = '', id] = program.split(' ');
      const one = wishes.watch(program);
      // Soon after an end that the gateway may have ordered, it may be the gateway's own.
      const isKnown = wishes.isKnownActive(program) && one.lastIdle < clock() - 2 * HOUR;
      const clearance = upstream.clearanceOf(vin);
      const service = upstream.serviceOf(vin, id ?? '');
      if (clearance?.status === 'approved') {
        const timestamp = new Date(clock()).toISOString().slice(0, 19);
        clearance.changelog.push({ timestamp, status: 'revoked', reason: 'Consent withdrawn by the driver' });
        Object.assign(clearance, { status: 'revoked', next: null });
      } else if (service?.status === 'ACTIVE' && service.next === null) setService(service, 'INACTIVE', clock());
      else return;
      Object.assign(one, { barred: true, barredAt: isKnown ? clock() : 0, refused: 0 });
      wishes.note(vin, `${program} is revoked`);
      wishes.disturb(program, DAILY);
    },
    /** Mercedes-Benz takes a vehicle out of the account. */
    forget(vin: string): void {
      if (!upstream.account.delete(vin)) return;
      wishes.note(vin, 'it is taken out of the account');
      for (const key of [...upstream.services.keys()].filter((one) => one.startsWith(vin))) {
        upstream.services.delete(key);
        // Nobody can say any more what was revoked.
        wishes.watch(key).barredAt = 0;
        wishes.disturb(key, DAILY);
      }
    },
  };
}

/** Minutes, or for Volkswagen more than the day until a pending clearance can be cancelled. */
export const decisionMs = (vin: string, chance: () => number): number =>
  Math.floor(chance() * 4) * (vin.startsWith('WVW') ? 10 * HOUR : 20 * MINUTE) + (chance() < 0.02 ? DAY : 0);
