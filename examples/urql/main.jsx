import { cacheExchange } from '@urql/exchange-graphcache';
import { relayPagination } from '@urql/exchange-graphcache/extras';
import { useState } from 'react';
import { createRoot } from 'react-dom/client';
import { Client, fetchExchange, gql, Provider, useMutation, useQuery, useSubscription } from 'urql';
import { authorization, messageOf } from '../messages.js';

const client = new Client({
  url: '/graphql',
  preferGetMethod: false,
  // By server-sent events, with the same headers as everything else.
  fetchSubscriptions: true,
  fetchOptions: { headers: { authorization } },
  exchanges: [
    cacheExchange({
      // Parts of something else, which have no id.
      keys: { Eligibility: () => null, EligibilityChange: () => null, AddSummary: () => null, ImportVehiclesPayload: () => null },
      // Pages of a list are put behind each other.
      resolvers: { Fleet: { vehicles: relayPagination() } },
      // The fleet has vehicles that no cache knows.
      updates: { Mutation: { importVehicles: (_, { input }, cache) => cache.invalidate({ __typename: 'Fleet', id: input.fleetId }) } },
    }),
    fetchExchange,
  ],
});

const FLEETS = gql`query Fleets { fleets(first: 1) { nodes { id name } } }`;

const VEHICLES = gql`query Vehicles($id: ID!, $after: String) {
  fleet(id: $id) {
    id
    vehicles(first: 10, after: $after) {
      edges { cursor node { id vin eligibility { status } } }
      pageInfo { hasNextPage endCursor }
    }
  }
}`;

const CHANGES = gql`subscription Changes($id: ID) {
  eligibilityChanged(fleetId: $id) { vehicle { id eligibility { status } } }
}`;

const UPLOAD = gql`mutation Upload($input: ImportVehiclesInput!) {
  importVehicles(input: $input) { summary { created existing rejected } }
}`;

const PROGRESS = gql`subscription Progress($importId: ID!) {
  importProgress(importId: $importId) { id state received }
}`;

function Problem({ error }) {
  if (!error) return null;
  return <p role="alert">{error.networkError ? 'The gateway is out of reach.' : messageOf(error.graphQLErrors)}</p>;
}

function Vehicles({ id }) {
  const [after, setAfter] = useState(null);
  const [{ data, error }] = useQuery({ query: VEHICLES, variables: { id, after } });
  // The cache shows each new status: it goes by the vehicle's id.
  useSubscription({ query: CHANGES, variables: { id } });
  if (!data?.fleet) return <Problem error={error} />;
  const { edges, pageInfo } = data.fleet.vehicles;
  return (
    <>
      <ul>
        {edges.map(({ node }) => (
          <li key={node.id}>{node.vin}: {node.eligibility.status}</li>
        ))}
      </ul>
      {pageInfo.hasNextPage && <button type="button" onClick={() => setAfter(pageInfo.endCursor)}>More</button>}
    </>
  );
}

function Upload({ fleetId }) {
  // The id is chosen here, so that the progress can be followed from the first byte.
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
      {data?.importVehicles && <p>{data.importVehicles.summary.created} added, {data.importVehicles.summary.rejected} rejected</p>}
      <Problem error={error} />
    </>
  );
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
    </>
  );
}

createRoot(document.getElementById('main')).render(<Provider value={client}><App /></Provider>);
