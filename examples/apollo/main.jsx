import { ApolloClient, ApolloLink, CombinedGraphQLErrors, gql } from '@apollo/client';
import { GraphQLWsLink } from '@apollo/client/link/subscriptions';
import { ApolloProvider, useMutation, useQuery, useSubscription } from '@apollo/client/react';
import UploadHttpLink from 'apollo-upload-client/UploadHttpLink.mjs';
import { createClient } from 'graphql-ws';
import { useState } from 'react';
import { createRoot } from 'react-dom/client';
import { authorization, messageOf, reasonOf, sentenceOf, unusable } from '../messages.js';
import { newCache } from './cache.ts';

const client = new ApolloClient({
  cache: newCache(),
  link: ApolloLink.split(
    ({ operationType }) => operationType === 'subscription',
    new GraphQLWsLink(createClient({ url: '/graphql', connectionParams: () => ({ authorization }) })),
    new UploadHttpLink({ uri: '/graphql', headers: { authorization } }),
  ),
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
  return <p role="alert">{CombinedGraphQLErrors.is(error) ? messageOf(error.errors) : 'The gateway is out of reach.'}</p>;
}

function Vehicles({ id }) {
  const [filter, setFilter] = useState(null);
  const { data, previousData, error, fetchMore } = useQuery(VEHICLES, { variables: { id, filter } });
  // The cache shows each new status, since it finds the vehicle by id.
  useSubscription(CHANGES, { variables: { id } });
  const shown = data ?? previousData;
  if (!shown) return <Problem error={error} />;
  const { edges, pageInfo } = shown.fleet.vehicles;
  return (
    <>
      <label>
        <input type="checkbox" onChange={({ target }) => setFilter(target.checked ? unusable : null)} /> Only what cannot be used
      </label>
      <ul>
        {edges.map(({ node }) => (
          <li key={node.id}>
            {node.vin}: {node.eligibility.status} {node.eligibility.reason && reasonOf(node.eligibility.reason)}
          </li>
        ))}
      </ul>
      {pageInfo.hasNextPage && (
        <button type="button" onClick={() => fetchMore({ variables: { after: pageInfo.endCursor } })}>More</button>
      )}
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
  const [upload, { data, error }] = useMutation(UPLOAD, { refetchQueries: [VEHICLES], onError: () => {} });
  const progress = useSubscription(PROGRESS, { variables: { importId }, skip: !importId }).data?.importProgress;
  const send = ({ target }) => {
    const id = crypto.randomUUID();
    setImportId(id);
    upload({ variables: { input: { fleetId, importId: id, file: target.files[0] } } });
  };
  return (
    <>
      <label>Upload vehicles <input type="file" onChange={send} /></label>
      {progress && <p role="status">{progress.state}: {progress.received} rows</p>}
      {data && <Summary {...data.importVehicles} />}
      <Problem error={error} />
    </>
  );
}

function Activity({ id }) {
  const { data, refetch } = useQuery(ACTIVITY, { variables: { id } });
  useSubscription(EVENTS, { variables: { id }, onData: () => refetch() });
  return data?.fleet.timeline.nodes.map((event) => <p key={event.id}>{sentenceOf(event)}</p>);
}

function App() {
  const { data, error } = useQuery(FLEETS);
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

createRoot(document.getElementById('main')).render(<ApolloProvider client={client}><App /></ApolloProvider>);
