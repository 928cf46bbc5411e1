import { ApolloClient, ApolloLink, CombinedGraphQLErrors, gql, InMemoryCache } from '@apollo/client';
import { GraphQLWsLink } from '@apollo/client/link/subscriptions';
import { ApolloProvider, useMutation, useQuery, useSubscription } from '@apollo/client/react';
import { relayStylePagination } from '@apollo/client/utilities';
import UploadHttpLink from 'apollo-upload-client/UploadHttpLink.mjs';
import { createClient } from 'graphql-ws';
import { useState } from 'react';
import { createRoot } from 'react-dom/client';
import { authorization, messageOf } from '../messages.js';

const client = new ApolloClient({
  // Pages of a list are put behind each other.
  cache: new InMemoryCache({ typePolicies: { Fleet: { fields: { vehicles: relayStylePagination() } } } }),
  link: ApolloLink.split(
    ({ operationType }) => operationType === 'subscription',
    new GraphQLWsLink(createClient({ url: '/graphql', connectionParams: () => ({ authorization }) })),
    new UploadHttpLink({ uri: '/graphql', headers: { authorization } }),
  ),
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
  return <p role="alert">{CombinedGraphQLErrors.is(error) ? messageOf(error.errors) : 'The gateway is out of reach.'}</p>;
}

function Vehicles({ id }) {
  const { data, error, fetchMore } = useQuery(VEHICLES, { variables: { id } });
  // The cache shows each new status: it goes by the vehicle's id.
  useSubscription(CHANGES, { variables: { id } });
  if (!data) return <Problem error={error} />;
  const { edges, pageInfo } = data.fleet.vehicles;
  return (
    <>
      <ul>
        {edges.map(({ node }) => (
          <li key={node.id}>{node.vin}: {node.eligibility.status}</li>
        ))}
      </ul>
      {pageInfo.hasNextPage && (
        <button type="button" onClick={() => fetchMore({ variables: { after: pageInfo.endCursor } })}>More</button>
      )}
    </>
  );
}

function Upload({ fleetId }) {
  // The id is chosen here, so that the progress can be followed from the first byte.
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
      {data && <p>{data.importVehicles.summary.created} added, {data.importVehicles.summary.rejected} rejected</p>}
      <Problem error={error} />
    </>
  );
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
    </>
  );
}

createRoot(document.getElementById('main')).render(<ApolloProvider client={client}><App /></ApolloProvider>);
