import { z } from 'zod';
import {
  type Answer,
  type Ask,
  type AskFor,
  accessRevoked,
  chunksOf,
  decided,
  forLooks,
  isBefore,
  isLookedAt,
  isOlder,
  isOwnEnd,
  LOOKS,
  Narrowing,
  readOk,
  sendAll,
  stands,
  unanswered,
  unreadable,
} from './activation.ts';
import type { Reply } from './exchange.ts';
import { BLACKLISTED, NO_PERMISSION, namesVin, problem, SERVICE_UNKNOWN, VEHICLE_UNKNOWN } from './mercedes-problem.ts';
import { reasons } from './mercedes-reasons.ts';
import {
  type Activator,
  type Asker,
  type NoAnswer,
  type ProgramWish,
  ProviderError,
  type WishAnswer,
} from './provider.ts';

/** Operations of one request of `changeVehicleServiceStatus`, and vehicles of one of `assignVehicle`. */
const MOST_OPERATIONS = 10_000;
const MOST_SERVICES = 100;
const LOOKED_AT_ONCE = 16;
/** VINs that its document knows; nothing can be asked about others. */
const KNOWN_VIN = /^[A-HJ-NPR-Z0-9]{13}\d{4}$/;

/** The last time that a date can have, in ms since 1970. */
const LAST_MS = 8.64e15;

export const vehicleServices = z.object({
  vin: z.string(),
  services: z.array(
    z.object({
      serviceId: z.string(),
      status: z.string(),
      orderTime: z.number().min(0).max(LAST_MS).nullish().catch(null),
    }),
  ),
});
const STATUSES = new Set(['ACTIVE', 'ACTIVATION_PENDING', 'INACTIVE', 'ACTIVATION_FAILED', 'NOT_AVAILABLE']);
const licence = z.object({ status: z.string() });

type Note = (wish: ProgramWish, answer: WishAnswer) => void;

type Service = { status: string; orderTime?: number | null | undefined };

/** Services of Mercedes-Benz Connect Your Fleet, by the numbers that its catalogue gives them. */
export function mercedesServices(
  askFor: AskFor,
  url: string,
  packs: Activator['packs'],
  clock: () => number = Date.now,
): Omit<Activator, 'list'> {
  const narrowing = new Narrowing(clock);

  /** A new wish is ordered; otherwise a look says what is to be ordered. */
  async function activate(wishes: readonly ProgramWish[], asker: Asker): Promise<WishAnswer[]> {
    /** Without the right to ask, no further vehicle is asked about. */
    let barred: NoAnswer | null = null;
    const askBy =
      (by: Asker): Ask =>
      async (request) => {
        const answer = barred ?? (await askFor(request, by));
        if (answer.outcome === 'REPLY' && answer.status === 403 && !isOfItems(answer))
          barred = new ProviderError('CREDENTIALS', { raw: answer }).answer;
        return barred ?? answer;
      };
    const answers = new Map<ProgramWish, WishAnswer>();
    const note: Note = (wish, answer) => answers.set(wish, answer);
    const noteOrder: Note = (wish, answer) => answers.set(wish, { ...answer, ordered: true });
    const byVin = (some: readonly ProgramWish[]) => Map.groupBy(some, ({ vin }) => vin);
    const open = () => wishes.filter((wish) => !answers.has(wish));
    for (const wish of wishes)
      if (!KNOWN_VIN.test(wish.vin))
        note(wish, wish.wanted ? stands('FAILED', null, reasons.vinRefused) : stands('ENDED', null));
    const looked = new Map<string, boolean>();
    const turns = byVin(open().filter(isLookedAt)).entries();
    const ask = askBy(forLooks(asker));
    const lookAt = async (vins: Iterable<[string, readonly ProgramWish[]]>) => {
      for (const [vin, own] of vins) {
        const isThere = await look(ask, vin, own, note);
        if (isThere !== null) looked.set(vin, isThere);
      }
    };
    // The first one alone shows whether anything may be asked.
    await lookAt(turns.take(1));
    await Promise.all(Array.from({ length: LOOKED_AT_ONCE }, () => lookAt(turns)));
    const strangers = [...byVin(open())].filter(([vin, own]) => !looked.get(vin) && own.some(({ wanted }) => wanted));
    await enrol(askBy(asker), new Map(strangers), noteOrder);
    await order(askBy(asker), byVin(open()), noteOrder);
    return wishes.map((wish) => ({
      ...(answers.get(wish) ?? unreadable(null)),
      looked: isLookedAt(wish) && looked.has(wish.vin),
    }));
  }

  /** Notes programs that stand as they are wanted, or that nothing can change. Gives whether the account has the vehicle; null: unknown. */
  async function look(ask: Ask, vin: string, asked: readonly ProgramWish[], note: Note): Promise<boolean | null> {
    const answer = await ask({ method: 'GET', url: `${url}/v2/accounts/vehicles/${vin}/services` });
    const isUnknown = answer.outcome === 'REPLY' && problem.parse(answer.body).type === VEHICLE_UNKNOWN;
    const read = readOk(vehicleServices, answer);
    const found = read?.vin === vin ? read : undefined;
    for (const wish of asked) {
      const service = found?.services.find(({ serviceId }) => serviceId === wish.program);
      if (wish.repeated && isOlder(wish, service?.orderTime ?? 0)) continue;
      const state = wish.wanted ? ((await wantedState(ask, wish, service)) ?? decided(wish)) : unwantedState(service);
      if (!found && !isUnknown) note(wish, refusal(answer, wish, 'LOOK'));
      // A status that its document does not have says neither that it is on nor that it has ended.
      else if (service && !STATUSES.has(service.status)) note(wish, unreadable(service));
      else if (state) note(wish, state);
    }
    return found || isUnknown ? !isUnknown : null;
  }

  async function wantedState(ask: Ask, wish: ProgramWish, service?: Service): Promise<WishAnswer | null> {
    const { vin, program, state } = wish;
    const at = service?.orderTime ?? null;
    switch (service?.status) {
      case 'ACTIVE':
        return stands('ACTIVE', service);
      case 'ACTIVATION_PENDING':
        return { ...stands('PENDING', service), orderedAt: at };
      case 'INACTIVE':
        // Nobody says when it ended: it was active at the last look, unless no answer followed from that.
        return state === 'ACTIVE' && !isOwnEnd(wish, (wish.reason ? null : wish.lookedAt) ?? wish.since, clock())
          ? stands('REJECTED', service, accessRevoked())
          : null;
      case 'NOT_AVAILABLE':
        return isBefore(wish, at, clock()) ? null : stands('REJECTED', service, reasons.noService);
      case 'ACTIVATION_FAILED': {
        if (isBefore(wish, at, clock())) return null;
        const status = `${url}/v1/accounts/vehicles/${vin}/services/${program}/license-status`;
        const answer = await ask({ method: 'GET', url: status });
        const found = readOk(licence, answer);
        if (answer.outcome === 'NO_ANSWER' || !found) return failure(answer, true, 'LOOK');
        return found.status === 'EXPIRED'
          ? stands('FAILED', answer.body, reasons.licenceExpired)
          : stands('REJECTED', service, reasons.rejected);
      }
      default:
        return null;
    }
  }

  /** Adds vehicles to the account: all of a request or none. */
  async function enrol(ask: Ask, ofVin: ReadonlyMap<string, readonly ProgramWish[]>, note: Note): Promise<void> {
    await sendAll([...ofVin.keys()], {
      most: MOST_OPERATIONS,
      narrowing,
      send: (vins) => ask({ method: 'POST', url: `${url}/v1/accounts/vehicles`, body: vins.map((vin) => ({ vin })) }),
      blames: blamesBy((vin: string, names) => names.vins.includes(vin)),
      note(vins, answer) {
        if (answer.outcome === 'REPLY' && answer.status === 201) return;
        for (const wish of vins.flatMap((vin) => ofVin.get(vin) ?? [])) note(wish, refusal(answer, wish));
      },
    });
  }

  async function order(ask: Ask, open: ReadonlyMap<string, readonly ProgramWish[]>, note: Note): Promise<void> {
    // Two companies may want a service of one vehicle.
    const orders = [...open].flatMap(([vin, own]) =>
      [...Map.groupBy(own, ({ program }) => program)].map(([serviceId, wishes]) => ({ vin, serviceId, wishes })),
    );
    type Order = (typeof orders)[number];
    const desired = ({ serviceId, wishes }: Order) => ({
      serviceId,
      desiredStatus: wishes.some(({ wanted }) => wanted) ? 'ACTIVE' : 'INACTIVE',
    });
    await sendAll(orders, {
      most: MOST_OPERATIONS,
      narrowing,
      send(some) {
        const body = [...Map.groupBy(some, ({ vin }) => vin)].flatMap(([vin, own]) =>
          chunksOf(own.map(desired), MOST_SERVICES).map((services) => ({ vin, services })),
        );
        return ask({ method: 'POST', url: `${url}/v2/accounts/vehicles/services`, body });
      },
      blames: blamesBy(
        ({ vin, serviceId }: Order, names) => names.vins.includes(vin) || names.services.includes(serviceId),
      ),
      note(sent, answer) {
        const isTaken = answer.outcome === 'REPLY' && answer.status === 202;
        for (const wish of sent.flatMap(({ wishes }) => wishes))
          note(wish, isTaken ? stands(wish.wanted ? 'PENDING' : 'ENDING', answer.body) : refusal(answer, wish));
      },
    });
  }

  return { service: 'ORDERS', brands: new Set(['mercedes-benz']), packs, lookDelays: LOOKS, activate };
}

/** An end is confirmed when the service is not active any more, nor about to be. */
function unwantedState(service?: Service): WishAnswer | null {
  const isOn = service?.status === 'ACTIVE' || service?.status === 'ACTIVATION_PENDING';
  return isOn ? null : stands('ENDED', service ?? null);
}

/** Refusals of a whole request that concern some of its items. */
const ofItems = [
  ...[BLACKLISTED, VEHICLE_UNKNOWN, SERVICE_UNKNOWN, '/services/illegal-consent-type'],
  ...['/error/validation-error', NO_PERMISSION],
];
export const isOfItems = ({ body }: Reply): boolean => ofItems.includes(problem.parse(body).type);
const blamesBy =
  <T>(isNamed: (item: T, names: z.output<typeof problem>) => boolean) =>
  (refusal: Reply) =>
    isOfItems(refusal) ? (item: T) => isNamed(item, problem.parse(refusal.body)) : null;

/** The answer to a request that was not carried out. Where an end is refused, the next look says whether there is anything to end. */
function refusal(answer: Answer, { wanted }: ProgramWish, to: 'LOOK' | 'ORDER' = 'ORDER'): WishAnswer {
  const refused = failure(answer, wanted, to);
  const isFinal = refused.outcome === 'STANDS' && refused.state !== 'ENDED';
  return isFinal && !wanted ? stands('ENDING', refused.raw, refused.reason) : refused;
}

/**
 * The answer to a request that was not carried out. A refusal concerns the vehicle where it names the VIN. An end that the account
 * may not order is ordered again: its service is active, and costs money. What the catalogue does not have is not active, nor is
 * anything of a VIN that is refused. A look that the account may not make says nothing of the service.
 */
function failure(answer: Answer, wanted: boolean, to: 'LOOK' | 'ORDER'): WishAnswer {
  if (answer.outcome === 'NO_ANSWER' || answer.status === 200) return unanswered(answer);
  const { status, body } = answer;
  const { type, validationErrors } = problem.parse(body);
  if (status === 403 && type === BLACKLISTED) return stands('REJECTED', body, reasons.blacklisted);
  if (status === 400 && namesVin({ validationErrors }))
    return wanted || to === 'ORDER' ? stands('FAILED', body, reasons.vinRefused) : stands('ENDED', body);
  if (type === NO_PERMISSION && (!wanted || to === 'LOOK')) return unanswered(answer);
  if ((type === SERVICE_UNKNOWN || type === VEHICLE_UNKNOWN) && !wanted) return stands('ENDED', body);
  if ([NO_PERMISSION, SERVICE_UNKNOWN, '/services/illegal-consent-type'].includes(type))
    return stands('FAILED', body, reasons.notOffered);
  if (type === VEHICLE_UNKNOWN) return { outcome: 'NO_ANSWER', reason: reasons.notSettled, asked: true, raw: body };
  return unanswered(answer);
}
