import { counted, html, t } from './html.js';
import { Page } from './page.js';
import { Empty, Failure, link, Waiting } from './parts.js';
import { useQuery } from './query.js';
import { route } from './router.js';
import { Search } from './search.js';
import { Table } from './table.js';

/** The gateway finds at most this many. */
const MOST = 50;

const searchQuery = `query Search($text: String!, $first: Int!) {
  search(text: $text, first: $first) {
    __typename
    ... on Fleet { id name vehicleCount }
    ... on Vehicle { id vin fleet { name } }
    ... on Contract { id name vin }
  }
}`;

const kinds = {
  Fleet: {
    what: t('Fleet'),
    part: 'fleets',
    name: ({ name }) => name,
    about: ({ vehicleCount }) => counted(vehicleCount, 'vehicle'),
  },
  Vehicle: {
    what: t('Vehicle'),
    part: 'vehicles',
    name: ({ vin }) => vin,
    about: ({ fleet }) => t('in {name}', fleet),
  },
  Contract: {
    what: t('Contract'),
    part: 'contracts',
    name: ({ name }) => name,
    about: (contract) => t('of {vin}', contract),
  },
};
const kindOf = ({ __typename: type }) => kinds[type];

const columns = [
  { name: t('Found'), kind: 'main', cell: (row) => link([kindOf(row).part, row.id], kindOf(row).name(row)) },
  { name: t('About'), kind: 'note', cell: (row) => kindOf(row).about(row) },
  { name: t('What'), kind: 'tag', cell: (row) => html`<span class="badge">${kindOf(row).what}</span>` },
];
const fields = [{ name: 'text', label: t('A part of a name, or a VIN, its start or end') }];

/** Fleets, vehicles and contracts by what people know of them. */
export function SearchPage() {
  const { parts, query } = route.value;
  return html`<${Page} title="Search" about="Fleets and contracts by their names, vehicles by their VINs.">
    <${Search} fields=${fields} parts=${parts} query=${query} />
    ${query.text && html`<${Results} text=${query.text} />`}
  <//>`;
}

function Results({ text }) {
  const { data, error, loading, reload } = useQuery(searchQuery, { text, first: MOST }, () => false);
  if (error) return html`<${Failure} error=${error} retry=${reload} />`;
  if (!data) return html`<${Waiting} rows=${4} />`;
  if (data.search.length === 0) return html`<${Empty} title="Nothing is called so" />`;
  return html`<${Table} label="Found" columns=${columns} rows=${data.search} dim=${loading} />`;
}
