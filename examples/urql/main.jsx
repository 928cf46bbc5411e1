import { useState } from 'react';
import { createRoot } from 'react-dom/client';
import { Client, fetchExchange, gql, Provider, useMutation, useQuery, useSubscription } from 'urql';
import schema from '../../schema.graphql';
import { authorization, messageOf, reasonOf, sentenceOf, unusable } from '../messages.js';
import { newCache } from './cache.ts';

const client = new Client({
  url: '/graphql',
  preferGetMethod: false,
  // Subscriptions use server-sent events, with the headers of all requests.
  fetchSubscriptions: true,
  fetchOptions: { headers: { authorization } },
  exchanges: [newCache(schema), fetchExchange],
});

const FLEETS = gql`query Fleets { fleets(first: 1) { nodes { id name } } }`;

const VEHICLES = gql`query Vehicles($id: ID!, $after: String, $filter: VehicleFilter) {
  fleet(id: $id) {
    id
    vehicles(first: 10, after: $after, filter: $filter) {
      edges { cursor node { id vin eligibility { status reason { code message } } } }
      pageInfo { hasNextPage endCursor }
    }
  }
}`;

// The subscription selects the fields that the page shows, since caches update only selected fields.
const CHANGES = gql`subscription Changes($id: ID) {
  eligibilityChanged(fleetId: $id) { vehicle { id eligibility { status reason { code message } } } }
}`;

const ACTIVITY = gql`query Activity($id: ID!) {
  fleet(id: $id) {
    id
    timeline(last: 5) {
      nodes {
        id
        type
        vehicleCount
        data {
          ... on FleetCreatedData { name }
          ... on EligibilityChangedData { toStatus }
          ... on ImportCompletedData { created rejected }
        }
      }
    }
  }
}`;

const EVENTS = gql`subscription Events($id: ID) { events(filter: { fleetId: $id }) { id } }`;

const UPLOAD = gql`mutation Upload($input: ImportVehiclesInput!) {
  importVehicles(input: $input) {
    summary { created existing rejected }
    import { id rejected(first: 5) { edges { node { row value message } } } }
  }
}`;

const PROGRESS = gql`subscription Progress($importId: ID!) {
  importProgress(importId: $importId) { id state received }
}`;

function Problem({ error }) {
  if (!error) return null;
  return <p role="alert">{error.networkError ? 'The gateway is out of reach.' : messageOf(error.graphQLErrors)}</p>;
}

function Vehicles({ id }) {
  const [{ after, filter }, setPage] = useState({ after: null, filter: null });
  const [{ data, error }] = useQuery({ query: VEHICLES, variables: { id, after, filter } });
  // The cache shows each new status, since it finds the vehicle by id.
  useSubscription({ query: CHANGES, variables: { id } });
  if (!data?.fleet) return <Problem error={error} />;
  const { edges, pageInfo } = data.fleet.vehicles;
  const choose = ({ target }) => setPage({ after: null, filter: target.checked ? unusable : null });
  return (
    <>
      <label><input type="checkbox" onChange={choose} /> Only what cannot be used</label>
      <ul>
        {edges.map(({ node }) => (
          <li key={node.id}>
            {node.vin}: {node.eligibility.status} {node.eligibility.reason && reasonOf(node.eligibility.reason)}
          </li>
        ))}
      </ul>
      {pageInfo.hasNextPage && <button type="button" onClick={() => setPage({ after: pageInfo.endCursor, filter })}>More</button>}
    </>
  );
}

function Summary({ summary, import: { rejected } }) {
  return (
    <>
      <p>{summary.created} added, {summary.rejected} rejected</p>
      {rejected.edges.map(({ node }) => <p key={node.row}>Row {node.row}, {node.value}: {node.message}</p>)}
    </>
  );
}

function Upload({ fleetId }) {
  // The client chooses the import's id, so that it can follow the progress from the first byte.
  const [importId, setImportId] = useState(null);
  const [{ data, error }, upload] = useMutation(UPLOAD);
  const [{ data: progress }] = useSubscription({ query: PROGRESS, variables: { importId }, pause: !importId });
  const send = ({ target }) => {
    const id = crypto.randomUUID();
    setImportId(id);
    upload({ input: { fleetId, importId: id, file: target.files[0] } });
  };
  return (
    <>
      <label>Upload vehicles <input type="file" onChange={send} /></label>
      {progress && <p role="status">{progress.importProgress.state}: {progress.importProgress.received} rows</p>}
      {data?.importVehicles && <Summary {...data.importVehicles} />}
      <Problem error={error} />
    </>
  );
}

function Activity({ id }) {
  const [{ data }, ask] = useQuery({ query: ACTIVITY, variables: { id } });
  useSubscription({ query: EVENTS, variables: { id } }, (_, event) => ask({ requestPolicy: 'network-only' }) ?? event);
  return data?.fleet?.timeline.nodes.map((event) => <p key={event.id}>{sentenceOf(event)}</p>);
}

function App() {
  const [{ data, error }] = useQuery({ query: FLEETS });
  const fleet = data?.fleets.nodes[0];
  if (!fleet) return data ? <p>There is no fleet yet.</p> : <Problem error={error} />;
  return (
    <>
      <h1>{fleet.name}</h1>
      <Upload fleetId={fleet.id} />
      <Vehicles id={fleet.id} />
      <h2>Activity</h2>
      <Activity id={fleet.id} />
    </>
  );
}

createRoot(document.getElementById('main')).render(<Provider value={client}><App /></Provider>);
