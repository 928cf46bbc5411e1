import graphql from '@graphql-eslint/eslint-plugin';

/** The rules of schema.graphql; everything else is Biome's. */
export default [
  { ignores: ['**', '!schema.graphql'] },
  {
    files: ['schema.graphql'],
    languageOptions: { parser: graphql.parser, parserOptions: { graphQLConfig: { schema: './schema.graphql' } } },
    plugins: { '@graphql-eslint': graphql },
    rules: {
      ...graphql.configs['flat/schema-recommended'].rules,
      ...graphql.configs['flat/schema-relay'].rules,
      '@graphql-eslint/require-description': [
        'error',
        { types: true, FieldDefinition: true, InputValueDefinition: true, EnumValueDefinition: true, rootField: true },
      ],
      '@graphql-eslint/relay-edge-types': [
        'error',
        {
          withEdgeSuffix: true,
          // There is no Node interface: each kind has its own field to be looked up by id.
          shouldImplementNode: false,
          // Lists whose length the caller's own input bounds (vehicles just added) are plain lists.
          listTypeCanWrapOnlyEdgeType: false,
        },
      ],
      '@graphql-eslint/strict-id-in-types': [
        'error',
        {
          exceptions: {
            // Parts of something that has an id, or known by another key (a VIN, a place in a list).
            types: [
              'ActivityCount',
              'AddSummary',
              'ContractActivation',
              'ContractChange',
              'ContractFieldChange',
              'ContractReasonCount',
              'ContractSummary',
              'ContractWarning',
              'DeletedVehicle',
              'DeliveryRequest',
              'DuplicateRow',
              'Eligibility',
              'EligibilityChange',
              'EligibilityReason',
              'EligibilitySummary',
              'EventVehicle',
              'FleetChange',
              'Pack',
              'PageInfo',
              'Provider',
              'ProviderBrand',
              'ProviderContracts',
              'ProviderServiceState',
              'RejectedContract',
              'RejectedRow',
              'RejectedVin',
              'VehiclesNotFound',
            ],
            suffixes: ['Connection', 'Data', 'Edge', 'Payload'],
          },
        },
      ],
    },
  },
];
