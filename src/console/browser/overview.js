import { History } from './activity.js';
import { said } from './codes.js';
import { newFleet } from './finder.js';
import { count, counted, html, t } from './html.js';
import { Day, Later, Page, Pick, Summary, Time, Turn } from './parts.js';
import { useQuery } from './query.js';
import { hrefOf } from './router.js';
import { Table } from './table.js';
import { activationStates, attentionFilter, serviceNames, turns } from './words.js';

const DAY_MS = 86_400_000;
const DAYS = 30;
/** The gateway counts contracts up to this number. */
const MOST_COUNTED = 100_000;
/** Milliseconds between two reads of the company's totals, however many events arrive. */
const PAUSE_MS = 4_000;

const companyQuery = `query Overview($from: DateTime!) {
  company {
    fleetCount vehicleCount
    eligibilitySummary { eligible ineligible pending unsupported failed }
    contractSummary { PENDING: pending REJECTED: rejected FAILED: failed UNSUPPORTED: unsupported ENDING: ending ACTIVE: active byReason { state reason actor count } }
    activity(from: $from) { from type vehicleCount }
  }
  providers { name state since services { name state } brands { manufacturer { name } state since } }
  fleets(last: 1) { nodes { id name } }
}`;
const turnQuery = `query Turns($you: VehicleFilter!, $maker: VehicleFilter!, $operator: VehicleFilter!) {
  CUSTOMER: vehicles(filter: $you) { totalCount totalCountIsExact }
  MANUFACTURER: vehicles(filter: $maker) { totalCount totalCountIsExact }
  OPERATOR: vehicles(filter: $operator) { totalCount totalCountIsExact }
}`;
const [you, maker, operator] = ['CUSTOMER', 'MANUFACTURER', 'OPERATOR'].map((actor) => attentionFilter({ actor }));
const numberOf = (type) => (day) => day.counts.find((one) => one.type === type)?.vehicleCount ?? 0;
const series = [
  { name: t('Vehicles added'), of: numberOf('VEHICLE_ADDED') },
  { name: t('Eligibility changed'), of: numberOf('ELIGIBILITY_CHANGED') },
];

export function Overview() {
  const first = Math.floor(Date.now() / DAY_MS) - DAYS + 1;
  const from = new Date(first * DAY_MS).toISOString();
  const asked = useQuery(companyQuery, { from }, () => true, PAUSE_MS);
  const { company, providers = [], fleets } = asked.data ?? {};
  return html`<${Page} title="Overview" asked=${asked} about=${company && t('Eligible: {eligible} of {vehicles} in {fleets}.', { eligible: company.eligibilitySummary.eligible, vehicles: counted(company.vehicleCount, 'vehicle'), fleets: counted(company.fleetCount, 'fleet') })}
    actions=${html`<button type="button" class="primary" onClick=${newFleet}>New fleet</button>`}>
    ${providers.flatMap(silent).map((one) => html`<${Silent} key=${one.manufacturer.name} ...${one} />`)}
    ${company?.vehicleCount === 0 ? html`<${Later} load=${() => import('./fleets.js')} of=${(all) => all.Beginning} fleet=${fleets.nodes[0]} />` : html`<${Numbers} company=${company} first=${first} />`}
    ${company?.fleetCount > 0 && html`<${Today} />`}
  <//>`;
}

/** A paused provider, one of which a service fails, or its paused manufacturers. */
function silent({ name, state, since, services = [], brands }) {
  const failing = services.flatMap((one) => (one.state === 'FAILING' ? serviceNames[one.name] : []));
  const itself = { manufacturer: { name: [name, ...failing].join(', ') }, state, since };
  return (state === 'OK' ? brands : [itself]).filter((one) => ['HELD_BACK', 'FAILING'].includes(one.state));
}

const Silent = ({ manufacturer, since }) => html`<p class="warning">
  <span><b>${manufacturer.name}</b> stopped answering <${Time} at=${since} />. The gateway keeps trying at longer intervals.</span>
  <a href="#/manufacturers">Manufacturers</a>
</p>`;

function Numbers({ company, first }) {
  const counts = Map.groupBy(company?.activity ?? [], ({ from }) => Date.parse(from));
  const days = Array.from({ length: DAYS }, (_, at) => {
    const start = (first + at) * DAY_MS;
    return { id: new Date(start).toISOString(), counts: counts.get(start) ?? [] };
  });
  return html`<${Summary} summary=${company?.eligibilitySummary} hrefFor=${(status) => hrefOf(['vehicles'], { status })} />
    ${company?.contractSummary && html`<${Told} summary=${company.contractSummary} />`}
    <div class="panels">
      <section class="summary" aria-labelledby="trend">
        <h2 id="trend">The last ${DAYS} days</h2>
        ${counts.size === 1 && html`<p class="hint">There is activity on one day only, so there is no trend yet.</p>`}
        <${Bars} label=${t('Vehicles per day, last {days} days', { days: DAYS })} days=${days} series=${series} />
      </section>
      <section class="summary" aria-labelledby="turns">
        <h2 id="turns">Vehicles without data: who can act</h2>
        <${Turns} />
        <p class="hint">“Up to you” includes drivers, who may have to turn on connected services or register with the manufacturer.</p>
      </section>
    </div>`;
}

function Turns() {
  const { data } = useQuery(turnQuery, { you, maker, operator }, () => true, PAUSE_MS);
  const pick = ([actor, name]) => {
    const { totalCount, totalCountIsExact } = data?.[actor] ?? {};
    return html`<${Pick} key=${actor} href=${hrefOf(['attention'], { actor })} value=${totalCount} exact=${totalCountIsExact}>${name}<//>`;
  };
  return html`<ul class="picks">${Object.entries(turns)
    .filter(([actor]) => actor !== 'DRIVER')
    .map(pick)}</ul>`;
}

function Told({ summary: { byReason = [], ...counts } }) {
  const shown = Object.entries(counts);
  if (!shown.some(([, value]) => value)) return null;
  return html`<section class="summary" aria-labelledby="told">
    <h2 id="told">Contracts by their activation at manufacturers</h2>
    <ul class="picks">${shown.map(([activation, value]) => html`<${Pick} key=${activation} href=${hrefOf(['contracts'], { activation })} value=${value} exact=${value < MOST_COUNTED}>${activationStates[activation]}<//>`)}</ul>
    ${byReason.length > 0 && html`<h2>Waiting contracts: who can act</h2><ul class="picks">${byReason.map(waiting)}</ul>`}
  </section>`;
}

const waiting = ({ state, reason, actor, count: value }) => {
  const href = hrefOf(['contracts'], { activation: state, reason });
  return html`<${Pick} key=${`${state} ${reason} ${actor}`} href=${href} value=${value} exact=${value < MOST_COUNTED}>
    ${said({ code: reason, message: activationStates[state] })} <${Turn} actor=${actor} />
  <//>`;
};

function Today() {
  const from = new Date().setHours(0, 0, 0, 0);
  const nothing = html`<h2>Today</h2><p class="dim">No activity yet.</p>`;
  return html`<section aria-label="Today">
    <${History} variables=${{ first: 8 }} from=${from} empty=${nothing} />
    <p><a href="#/activity">All activity</a></p>
  </section>`;
}

const HEIGHT = 100;
/** The share of a day's width that its bars take. */
const TAKEN = 0.8;

/** Bars by day, and the same numbers as a table for screen readers. `series` have a `name` and `of(day)`. */
export function Bars({ label, days, series }) {
  const most = Math.max(1, ...days.flatMap((day) => series.map(({ of }) => of(day))));
  const columns = [
    { name: t('Day'), kind: 'main', cell: ({ id }) => html`<${Day} utc at=${id} />` },
    ...series.map(({ name, of }) => ({ name, kind: 'named', cell: (day) => count(of(day)) })),
  ];
  return html`<figure class="bars">
    <ul class="legend">
      ${series.map(({ name }, at) => html`<li key=${name}><i class=${`dot series${at}`} />${name} <b>${count(days.reduce((sum, day) => sum + series[at].of(day), 0))}</b></li>`)}
    </ul>
    <p class="dim">${count(most)}</p>
    <svg viewBox=${`0 0 ${days.length} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label=${label}>
      ${days.map((day, at) => html`<${Group} key=${day.id} at=${at} values=${series.map(({ of }) => of(day))} most=${most} />`)}
    </svg>
    <p class="row apart dim"><${Day} utc at=${days[0].id} /><${Day} utc at=${days.at(-1).id} /></p>
    <details><summary>As a table</summary>
      <div class="scroll" tabindex="0" role="region" aria-label=${label}>
        <${Table} label=${label} columns=${columns} rows=${days.toReversed()} />
      </div>
    </details>
  </figure>`;
}

function Group({ at, values, most }) {
  const width = TAKEN / values.length;
  return values.map((value, which) => {
    const height = (value / most) * HEIGHT;
    const x = at + (1 - TAKEN) / 2 + which * width;
    return html`<rect class=${`series${which}`} x=${x} y=${HEIGHT - height} width=${width} height=${height} />`;
  });
}
